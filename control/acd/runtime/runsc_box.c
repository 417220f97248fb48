/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_box.c - one sandbox of the runsc runtime: names and removal
 *
 *	starting ──▶ running ──▶ ended ──▶ removing ──▶ (gone)
 *	    │        │     ▲ │             ▲   │
 *	    └────────│─────│─┴─────────────┤   └─ left, if that failed: tried
 *	             ▼     │               │      again later
 *	          saving  waking ──────────┤   running ⇄ held
 *	             └▶ asleep ────────────┘   (runsc_sleep.c, runsc_hold.c)
 */
#include "control/acd/runtime/runsc_impl.h"

#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "lib/log.h"
#include "lib/str.h"

#define AGAIN_FIRST_MS 1000u
#define AGAIN_MOST_MS 60000u

bool runsc_is_ours(const char *id)
{
	return str_starts(id, RUNSC_ID_PREFIX);
}

struct box *box_find(struct runsc *rs, const char *id)
{
	struct box *b;

	LIST_FOREACH (b, &rs->boxes, link) {
		if (strcmp(b->id, id) == 0)
			return b;
	}
	return NULL;
}

struct box *box_to_save(struct runsc *rs, const char *id, struct err *err)
{
	struct box *b = box_find(rs, id);

	if (!b || b->state != BOX_RUNNING || !b->pid) {
		err_set(err, -ENOENT, "it has ended");
		return NULL;
	}
	if (b->maker) {
		err_set(err, -EBUSY,
			"its start is not quite over: try again in a moment");
		return NULL;
	}
	return b;
}

struct box *box_new(struct runsc *rs, const char *name)
{
	struct box *b = calloc(1, sizeof(*b));
	uint64_t number;

	if (!b)
		return NULL;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
		free(b);
		return NULL;
	}
	b->rs = rs;
	b->link_fd = b->theirs[0] = b->theirs[1] = -1;
	snprintf(b->name, sizeof(b->name), "%s", name);
	snprintf(b->id, sizeof(b->id), RUNSC_ID_PREFIX "%016llx",
		 (unsigned long long)number);
	snprintf(b->paths.netns, sizeof(b->paths.netns), RUNSC_NETNS "/%s",
		 b->id);
	snprintf(b->paths.bundle, sizeof(b->paths.bundle), RUNSC_BUNDLES "/%s",
		 b->id);
	snprintf(b->paths.upper, sizeof(b->paths.upper), RUNSC_UPPER "/%s",
		 b->id);
	LIST_INSERT_HEAD(&rs->boxes, b, link);
	return b;
}

void box_free(struct box *b)
{
	struct runsc *rs = b->rs;

	LIST_REMOVE(b, link);
	sleep_free(b);
	hold_free(b);
	box_hang_up(b);
	if (b->maker)
		children_forget(rs->children, b->maker);
	if (b->pid)
		children_forget(rs->children, b->pid);
	loop_timer_free(b->again);
	runsc_job_forget(b->job);
	links_forget(rs->links, b->id);
	if (b->image)
		layers_put(b->image);
	free(b->moved_from);
	free(b->moved_to);
	free(b);
}

void box_hang_up(struct box *b)
{
	/* A child of acd's may have a copy. */
	if (b->theirs[0] >= 0)
		shutdown(b->theirs[0], SHUT_RDWR);
	fd_closep(&b->theirs[0]);
	fd_closep(&b->theirs[1]);
}

void box_ended(struct box *b, int exit_code)
{
	b->pid = 0;
	b->exit_code = exit_code;
	if (b->state == BOX_SAVING) {
		sleep_ended(b);
		return;
	}
	if (b->state == BOX_RUNNING || b->state == BOX_HELD)
		b->state = BOX_ENDED;
	box_hang_up(b);
	runsc_calls_wake(b->rs, b->id);
}

static void on_again(void *arg)
{
	struct box *b = arg;
	struct err err = { 0 };

	if (b->state == BOX_LEFT && box_remove(b, NULL, NULL, &err) < 0)
		box_left(b);
}

void box_left(struct box *b)
{
	b->state = BOX_LEFT;
	if (!b->again)
		b->again = loop_timer_new(b->rs->loop, on_again, b);
	if (!b->again) {
		log_warn("sandbox %s of '%s' stays: no memory", b->id, b->name);
		return;
	}
	b->again_ms = b->again_ms ? 2 * b->again_ms : AGAIN_FIRST_MS;
	if (b->again_ms > AGAIN_MOST_MS)
		b->again_ms = AGAIN_MOST_MS;
	loop_timer_set(b->again, b->again_ms);
}

static void on_undone(void *arg, const struct err *err)
{
	struct box *b = arg;
	runtime_done_fn fn = b->removed_fn;
	void *fn_arg = b->removed_arg;

	b->job = NULL;
	b->removed_fn = NULL;
	if (err)
		box_left(b);
	else
		box_free(b);
	if (fn)
		fn(fn_arg, err);
}

int box_remove(struct box *b, runtime_done_fn fn, void *arg, struct err *err)
{
	struct runsc *rs = b->rs;
	int rc;

	if (b->state == BOX_REMOVING && !b->removed_fn && fn) {
		b->removed_fn = fn;
		b->removed_arg = arg;
		return 0;
	}
	if (b->state == BOX_REMOVING)
		return err_set(err, -EBUSY,
			       "this sandbox is being removed already");
	sleep_free(b);
	hold_free(b);
	box_hang_up(b);
	rc = runsc_job_undo(rs->loop, b->id, &b->paths, &b->veth, RUNSC_STATE,
			    on_undone, b, &b->job, err);
	if (rc < 0)
		return rc;
	b->state = BOX_REMOVING;
	b->removed_fn = fn;
	b->removed_arg = arg;
	return 0;
}

void box_remove_cancel(struct box *b)
{
	const struct err err = { .code = -ECANCELED, .msg = "acd ends" };
	runtime_done_fn fn = b->removed_fn;

	b->removed_fn = NULL;
	if (fn)
		fn(b->removed_arg, &err);
}
