/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_limit.c - an instance's disk limit, before and during a run
 *
 * Making it hold may copy every file, so a child does it before anything is
 * mounted (disk.h); the instance is "starting" meanwhile. A run without a
 * limit, and none left from earlier, starts no child.
 *
 * A limit that is wished for is no part of the record before it holds: if it
 * cannot be kept, or the start is stopped meanwhile, the one from before does,
 * and the next run begins with that.
 *
 * A sandbox that hits its limit gets ENOSPC or EDQUOT and goes on; nobody
 * tells acd. It looks every few seconds, and says so once a run.
 */
#include "control/acd/instance/instance_impl.h"

#include "control/acd/storage/disk.h"
#include "lib/log.h"

#define LOOK_MS 2000u
/* What is left of a full one: a file system keeps a little for itself. */
#define LEFT_PARTS 64u
#define LEFT_MAX (UINT64_C(4) << 20)
#define LEFT_FILES 16u

struct place {
	char *dir;
	char at[PATH_MAX];
};

uint64_t instance_disk_wanted(const struct instance *in)
{
	return in->disk_wished ? in->disk_wish : in->rec.disk;
}

void instance_disk_wish(struct instance *in, uint64_t bytes)
{
	in->disk_wish = bytes;
	in->disk_wished = bytes != in->rec.disk;
}

void instance_disk_holds(struct instance *in)
{
	in->rec.disk = instance_disk_wanted(in);
	in->disk_wished = false;
	/* The run before may have had one. */
	if (in->rec.disk == 0 && in->disk_timer)
		loop_timer_clear(in->disk_timer);
}

static int place_of(const struct instance *in, struct place *p)
{
	p->dir = instance_path(in, "");
	mounts_disk_path(in->rec.name, p->at);
	return p->dir ? 0 : -ENOMEM;
}

static struct disk_spec spec_of(const struct instance *in,
				const struct place *p)
{
	return (struct disk_spec){ .dir = p->dir,
				   .at = p->at,
				   .bytes = instance_disk_wanted(in),
				   .uid = in->rec.host_uid,
				   .gid = in->rec.host_gid };
}

static bool is_full(const struct disk_use *use)
{
	uint64_t left = use->limit / LEFT_PARTS;

	if (left > LEFT_MAX)
		left = LEFT_MAX;
	return use->limit > 0 && use->used + left >= use->limit;
}

static bool has_many(const struct disk_use *use)
{
	return use->files_limit > LEFT_FILES &&
	       use->files + LEFT_FILES >= use->files_limit;
}

/* One event and one line for the user, once a run. */
static void tell(struct instance *in, const struct disk_use *use)
{
	char text[160], size[32];

	if (is_full(use)) {
		str_format_size(size, sizeof(size), use->limit);
		snprintf(text, sizeof(text), "workspace and home are full: %s",
			 size);
	} else {
		snprintf(text, sizeof(text),
			 "workspace and home hold as many files as they may: "
			 "%llu",
			 (unsigned long long)use->files_limit);
	}
	instance_breach(in, "disk", "%s", text);
	if (in->main) {
		SCOPED_STR line = str_printf("disk limit reached: %s; 'ac df' "
					     "tells how full",
					     text);

		if (line)
			run_notice(in->main, LOG_LVL_WARN, line);
	}
}

static void look(void *arg)
{
	struct instance *in = arg;
	struct disk_use use = { 0 };
	struct place p;

	if (!instance_is_live(in) || place_of(in, &p) < 0)
		return;
	disk_look(p.dir, p.at, &use);
	free(p.dir);
	if (is_full(&use) || has_many(&use))
		tell(in, &use);
	else
		loop_timer_set(in->disk_timer, LOOK_MS);
}

static int watch(struct instance *in, struct err *err)
{
	if (in->rec.disk == 0)
		return 0;
	if (!in->disk_timer)
		in->disk_timer = loop_timer_new(in->is->loop, look, in);
	if (!in->disk_timer)
		return err_nomem(err);
	loop_timer_set(in->disk_timer, LOOK_MS);
	return 0;
}

/* The limit from before stays; @err becomes @ret, with what to do. */
static void refused(struct instance *in, const struct err *err, struct err *ret)
{
	const char *name = in->rec.name;
	char had[32] = "none";

	*ret = *err;
	if (in->rec.disk > 0)
		str_format_size(had, sizeof(had), in->rec.disk);
	if (in->disk_wished)
		err_wrap(ret,
			 "'%s' keeps the disk limit it had (%s), and `ac run "
			 "%s` starts it with that",
			 name, had, name);
	else if (in->rec.disk > 0)
		err_wrap(ret,
			 "the disk limit stays with '%s' until `--disk 0` "
			 "takes it back",
			 name);
	in->disk_wished = false;
}

/* Written down at once: what comes next may fail, and it holds now. */
static int held(struct instance *in, struct err *err)
{
	bool changed = in->disk_wished;

	instance_disk_holds(in);
	return changed ? instance_save(in, err) : 0;
}

static void settled(void *arg, const struct err *err)
{
	struct instance *in = arg;
	struct err why = { 0 };
	int r = 0;

	in->disk_job = NULL;
	in->waits = WAIT_NONE;
	if (err) {
		refused(in, err, &why);
		r = why.code;
	} else {
		r = held(in, &why);
	}
	if (r < 0 && !in->end_wanted)
		in->why = why;
	if (r < 0 || in->end_wanted || watch(in, &in->why) < 0 ||
	    instance_start_held(in, &in->why) < 0)
		instance_start_failed(in);
}

/* A directory of the user's is on a file system of the user's: no limit of
 * ours can be set there without leaving marks on every file of it. */
int instance_disk_check(struct instance *in, struct err *err)
{
	struct err why = { 0 };

	if (instance_disk_wanted(in) == 0 || !in->rec.workspace ||
	    in->rec.workspace_ro)
		return 0;
	err_set(&why, -ENOTSUP,
		"a disk limit cannot be kept for %s, a directory of yours: let "
		"it be read-only (--workspace %s:ro), or leave out --workspace "
		"and copy files with 'ac cp', or have no limit",
		in->rec.workspace, in->rec.workspace);
	refused(in, &why, &why);
	return err_set(err, why.code, "%s", why.msg);
}

bool instance_disk_is_settled(const struct instance *in)
{
	struct disk_spec spec;
	struct place p;
	bool is = false;

	if (place_of(in, &p) == 0) {
		spec = spec_of(in, &p);
		is = disk_is_settled(&spec);
	}
	free(p.dir);
	return is;
}

int instance_disk_begin(struct instance *in, struct err *err)
{
	struct disk_spec spec;
	struct place p;
	int r;

	if (place_of(in, &p) < 0)
		return err_nomem(err);
	spec = spec_of(in, &p);
	r = treejob_run(in->is->loop, disk_settle, &spec, settled, in,
			&in->disk_job, err);
	if (r == 0)
		in->waits = WAIT_DISK;
	free(p.dir);
	return r;
}

void instance_disk_cancel(struct instance *in)
{
	treejob_cancel(in->disk_job);
}

bool instance_disk_is_file(const struct instance *in)
{
	SCOPED_STR dir = instance_path(in, "");

	return dir && disk_has_image(dir);
}

int instance_disk_remove(struct instance *in, bool all, treejob_fn fn,
			 struct err *err)
{
	struct disk_removal d = { .all = all };
	struct place p;
	int r;

	if (place_of(in, &p) < 0)
		return err_nomem(err);
	d.spec = spec_of(in, &p);
	r = treejob_run(in->is->loop, disk_remove, &d, fn, in, &in->tree, err);
	free(p.dir);
	return r;
}

void instance_disk_notice(struct instance *in)
{
	if (in->rec.disk > 0 && in->bp.root_rw)
		run_notice(
			in->main, LOG_LVL_INFO,
			"the disk limit counts workspace and home; what is "
			"written to the image's own files (filesystem: root: "
			"writable) is not counted");
}

json_t *instance_disk_json(const struct instance *in)
{
	struct disk_use use = { 0 };
	struct place p;

	if (place_of(in, &p) == 0)
		disk_look(p.dir, p.at, &use);
	free(p.dir);
	return disk_use_json(&use);
}

void instance_disk_free(struct instance *in)
{
	treejob_forget(in->disk_job);
	loop_timer_free(in->disk_timer);
}
