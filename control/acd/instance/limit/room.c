/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.c - how much room the file system of $AC_HOME has left
 *
 * Theory of operation: no file system says which sandbox fills it, but the
 * kernel counts for each process what it has written. Where the runtime knows
 * which process writes for a sandbox, acd looks at that one, else at the first
 * of the sandbox's processes. It looks only while room is low, and compares
 * what they wrote since the last look.
 */
#include "control/acd/instance/limit/room.h"

#include <sys/statvfs.h>

#include "control/acd/runtime/cgroup.h"
#include "control/acd/instance/instance_impl.h"
#include "lib/log.h"
#include "lib/str.h"

#define MIB (UINT64_C(1) << 20)
#define LOW_MAX (1024 * MIB)
#define FULL_MAX (128 * MIB)
#define FILES_MIN 256u
#define LOOK_MS 1000u
#define LOOK_CLOSE_MS 100u /* when it may be full before a second is over */
#define LOOK_FIRST_MS 20u /* behind the first of these, which only counts */
#define CLOSE 4u /* times what is low */
#define WROTE_MIN MIB /* between two looks; less fills no disk */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

enum room_state room_judge(uint64_t left, uint64_t total, uint64_t files_left)
{
	if (left < least(total / 40, FULL_MAX) || files_left < FILES_MIN)
		return ROOM_FULL;
	if (left < least(total / 10, LOW_MAX) || files_left < 4 * FILES_MIN)
		return ROOM_LOW;
	return ROOM_FINE;
}

bool room_must_stop(uint64_t left, uint64_t total, uint64_t wrote)
{
	uint64_t full = least(total / 40, FULL_MAX);

	return left < full || (left - full) / 2 < wrote;
}

uint64_t room_wrote(enum room_state st, const struct cgroup_writers *before,
		    const struct cgroup_writers *now)
{
	uint64_t wrote = 0, all = 0;
	bool known = false;

	for (size_t i = 0; i < now->n; i++) {
		const struct cgroup_writer *w = &now->of[i];

		all += w->bytes;
		for (size_t k = 0; k < before->n; k++) {
			const struct cgroup_writer *b = &before->of[k];

			/* Fewer bytes than before: another process. */
			if (b->pid != w->pid || b->bytes > w->bytes)
				continue;
			known = true;
			wrote += w->bytes - b->bytes;
		}
	}
	return !known && st == ROOM_FULL ? all : wrote;
}

bool room_must_pause(const struct room *r, bool counted, uint64_t wrote)
{
	if (r->state == ROOM_FULL)
		return true;
	return counted && r->state != ROOM_FINE &&
	       room_must_stop(r->left, r->total, wrote);
}

const char *room_state_name(enum room_state st)
{
	static const char *const names[] = { "fine", "low", "full" };

	return names[st];
}

const struct room *instances_room(const struct instances *is)
{
	return &is->room;
}

int instances_room_check(const struct instances *is, struct err *err)
{
	char left[32];

	if (is->room.state != ROOM_FULL)
		return 0;
	str_format_size(left, sizeof(left), is->room.left);
	return err_set(err, -ENOSPC,
		       "the disk of $AC_HOME is full (%s left): `ac space` "
		       "shows what takes room, `ac rm` and `ac clean` free it",
		       left);
}

static void on_paused(void *arg, const struct err *err)
{
	/* The next look tries again. */
	(void)arg;
	(void)err;
}

/* Pauses the writer. The log is on the full disk as well, so that this cannot
 * be done is written once, until there is room again; a pause that is under way
 * (-EBUSY) is no failure. */
static void writer_pause(struct room *r, struct instance *in)
{
	const char *text =
		r->state == ROOM_FULL ?
			"paused: the disk of $AC_HOME is full, and it wrote "
			"most; make room, then `ac resume`" :
			"paused: the disk of $AC_HOME would be full at once, "
			"and it wrote most; make room, then `ac resume`";
	struct err err = { 0 };

	if (instance_pause(in, true, on_paused, NULL, &err) < 0) {
		if (!r->refused && err.code != -EBUSY)
			log_warn("%s: cannot be paused while the disk is "
				 "full: %s",
				 in->rec.name, err.msg);
		r->refused = r->refused || err.code != -EBUSY;
		return;
	}
	instance_set_reason(in, "%s", text);
	instance_breach(in, "disk", "%s", text);
	if (in->main)
		run_notice(in->main, LOG_LVL_WARN, text);
}

/* Returns the instance that wrote most since the last look, and how much; NULL
 * if none wrote more than WROTE_MIN. */
static struct instance *writer_find(struct instances *is, uint64_t *ret_wrote)
{
	struct runtime *rt = is->rt;
	struct instance *in, *most = NULL;
	uint64_t best = WROTE_MIN;

	TAILQ_FOREACH (in, &is->all, link) {
		struct cgroup_writers before = in->written;
		const char *id = in->rec.container_id;
		pid_t writer;
		uint64_t n;

		if (in->rec.state != INSTANCE_RUNNING || !id)
			continue;
		writer = rt->ops->writer ? rt->ops->writer(rt, id) : 0;
		cgroup_written(id, writer, &in->written);
		n = room_wrote(is->room.state, &before, &in->written);
		if (n <= best)
			continue;
		best = n;
		most = in;
	}
	*ret_wrote = best;
	return most;
}

static void room_tell(const struct instances *is, enum room_state before)
{
	const struct room *r = &is->room;
	char left[32];

	str_format_size(left, sizeof(left), r->left);
	if (r->state == ROOM_FULL)
		log_error("the disk of $AC_HOME is full: %s left", left);
	else if (r->state > before)
		log_warn("the disk of $AC_HOME is low: %s left", left);
	else if (r->state == ROOM_FINE)
		log_info("the disk of $AC_HOME has room again: %s", left);
}

static void look(void *arg)
{
	struct instances *is = arg;
	struct room *r = &is->room;
	enum room_state before = r->state;
	struct instance *writer = NULL;
	struct statvfs fs;
	bool counted = r->close;
	uint64_t wrote;

	r->close = false;
	loop_timer_set(is->room_timer, LOOK_MS);
	if (statvfs(is->dir, &fs) < 0)
		return;
	r->left = (uint64_t)fs.f_bavail * fs.f_frsize;
	r->total = (uint64_t)fs.f_blocks * fs.f_frsize;
	r->files_left = fs.f_files ? (uint64_t)fs.f_favail : UINT64_MAX;
	r->state = room_judge(r->left, r->total, r->files_left);
	if (r->state != before)
		room_tell(is, before);
	if (r->state == ROOM_FINE)
		r->refused = false;
	if (r->left >= CLOSE * least(r->total / 10, LOW_MAX) &&
	    r->state == ROOM_FINE)
		return;
	r->close = true;
	loop_timer_set(is->room_timer, counted ? LOOK_CLOSE_MS : LOOK_FIRST_MS);
	writer = writer_find(is, &wrote);
	if (writer && room_must_pause(r, counted, wrote))
		writer_pause(r, writer);
}

int instances_room_begin(struct instances *is, struct err *err)
{
	is->room_timer = loop_timer_new(is->loop, look, is);
	if (!is->room_timer)
		return err_nomem(err);
	look(is);
	return 0;
}
