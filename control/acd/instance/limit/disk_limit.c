/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_limit.c - an instance's disk limit, before and during a run
 *
 * To put a limit into effect may mean to copy every file, so a child does it
 * before anything is mounted (disk.h); the instance is "starting" meanwhile.
 * Without a limit, and without one from earlier, no child is started.
 *
 * A new limit is not in the record before it is in effect. If it cannot be
 * kept, or the start is stopped meanwhile, the old one stays, and the next run
 * begins with that.
 *
 * A sandbox that reaches its limit gets ENOSPC or EDQUOT and goes on; the
 * kernel does not tell acd. So acd looks every few seconds and reports it once
 * a run.
 */
#include "control/acd/instance/instance_impl.h"

#include "control/acd/storage/disk.h"
#include "lib/log.h"

#define LOOK_MS 2000u
/* A file system with no more than this left counts as full: it keeps a little
 * for itself. */
#define LEFT_PARTS 64u
#define LEFT_MAX (UINT64_C(4) << 20)
#define LEFT_FILES 16u

struct place {
	char *dir;
	char at[PATH_MAX];
};

uint64_t instance_disk_wanted(const struct instance *in)
{
	return in->disk.is_wanted ? in->disk.wanted : in->rec.disk;
}

void instance_disk_want(struct instance *in, uint64_t bytes)
{
	in->disk.wanted = bytes;
	in->disk.is_wanted = bytes != in->rec.disk;
}

/* The new limit is in effect now. */
static void holds(struct instance *in)
{
	in->rec.disk = instance_disk_wanted(in);
	in->disk.is_wanted = false;
	/* The last run may have had a limit. */
	if (in->rec.disk == 0 && in->disk.timer)
		loop_timer_clear(in->disk.timer);
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
		loop_timer_set(in->disk.timer, LOOK_MS);
}

static int watch(struct instance *in, struct err *err)
{
	if (in->rec.disk == 0)
		return 0;
	if (!in->disk.timer)
		in->disk.timer = loop_timer_new(in->is->loop, look, in);
	if (!in->disk.timer)
		return err_nomem(err);
	loop_timer_set(in->disk.timer, LOOK_MS);
	return 0;
}

/* Sets @ret to @err and the limit that stays: the old one. An instance that is
 * not stored yet has none. */
static void refused(struct instance *in, const struct err *err, struct err *ret)
{
	const char *name = in->rec.name;
	char had[32] = "none";

	*ret = *err;
	if (in->rec.disk > 0)
		str_format_size(had, sizeof(had), in->rec.disk);
	if (in->rec.created_at == 0)
		return;
	if (in->disk.is_wanted)
		err_wrap(ret,
			 "'%s' keeps the disk limit it had (%s), and `ac run "
			 "%s` starts it with that",
			 name, had, name);
	else if (in->rec.disk > 0 && in->bp.disk == 0)
		err_wrap(ret,
			 "the disk limit stays with '%s' until `--disk 0` "
			 "takes it back",
			 name);
	in->disk.is_wanted = false;
}

/* Stored at once: the limit is in effect even if a later step fails. */
static int held(struct instance *in, struct err *err)
{
	bool changed = in->disk.is_wanted;

	holds(in);
	return changed ? instance_save(in, err) : 0;
}

static void settled(void *arg, const struct err *err)
{
	struct instance *in = arg;
	struct err why = { 0 };
	int rc = 0;

	in->disk.job = NULL;
	if (err) {
		refused(in, err, &why);
		rc = why.code;
	} else {
		rc = held(in, &why);
	}
	if (rc == 0 && !in->steps.end_wanted)
		rc = watch(in, &why);
	step_done(in, rc < 0 ? &why : NULL);
}

/* Says how the user gets rid of the limit: --disk 0 is what the blueprint
 * says. NULL without memory; the caller owns it. */
static char *no_limit_advice(const struct instance *in)
{
	const char *bp = in->rec.blueprint;

	if (in->bp.disk == 0)
		return strdup(", or have no limit (--disk 0)");
	return str_printf("; blueprint '%s' sets a limit: to have none, copy "
			  "it to $AC_HOME/blueprints/%s without 'limits: "
			  "disk' and run with --disk 0",
			  bp, bp);
}

/* A directory of the user's is on the user's file system: a limit there would
 * leave marks on every file of it. */
int instance_disk_check(struct instance *in, struct err *err)
{
	SCOPED_STR advice = NULL;
	struct err why = { 0 };

	if (instance_disk_wanted(in) > 0 && blueprint_mounts_live(&in->bp)) {
		err_set(&why, -ENOTSUP,
			"a disk limit cannot be kept for the live mounts of "
			"blueprint '%s': let them be ro, or have no limit",
			in->rec.blueprint);
		refused(in, &why, &why);
		return err_set(err, why.code, "%s", why.msg);
	}
	if (instance_disk_wanted(in) == 0 || !in->rec.workspace ||
	    in->rec.workspace_ro || in->rec.workspace_copy)
		return 0;
	advice = no_limit_advice(in);
	err_set(&why, -ENOTSUP,
		"a disk limit cannot be kept for %s, a directory of yours: let "
		"the agent work in a copy of it (--workspace %s:copy)%s",
		in->rec.workspace, in->rec.workspace, advice ? advice : "");
	refused(in, &why, &why);
	return err_set(err, why.code, "%s", why.msg);
}

static bool is_settled(const struct instance *in)
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
	(void)err;
	if (!is_settled(in))
		return STEP_NOTHING;
	holds(in);
	return 0;
}

int instance_disk_hold(struct instance *in, struct err *err)
{
	struct disk_spec spec;
	struct place p;
	int rc;

	if (step_is_begun(in, STEP_DISK))
		return STEP_NOTHING;
	if (place_of(in, &p) < 0)
		return err_nomem(err);
	spec = spec_of(in, &p);
	rc = treejob_run(in->is->loop, disk_settle, &spec, settled, in,
			 &in->disk.job, err);
	free(p.dir);
	return rc < 0 ? rc : STEP_WAITS;
}

void instance_disk_cancel(struct instance *in, enum run_cause cause,
			  uint64_t grace_ms)
{
	(void)cause;
	(void)grace_ms;
	treejob_cancel(in->disk.job);
}

bool instance_disk_is_file(const struct instance *in)
{
	SCOPED_STR dir = instance_path(in, "");

	return dir && disk_has_image(dir);
}

int instance_disk_remove(struct instance *in, treejob_fn fn, struct err *err)
{
	struct disk_removal d = { .all = in->clean == CLEAN_ALL,
				  .home = in->clean != CLEAN_NOT,
				  .layer = in->discard };
	SCOPED_STR snapshots = snapshot_path(in->is->dir, in->rec.name, NULL);
	struct place p;
	int rc;

	if (!snapshots || place_of(in, &p) < 0)
		return err_nomem(err);
	d.snapshots = snapshots;
	d.spec = spec_of(in, &p);
	rc = treejob_run(in->is->loop, disk_remove, &d, fn, in, &in->tree, err);
	free(p.dir);
	return rc;
}

static bool writes_volume(const struct blueprint *bp)
{
	for (size_t i = 0; i < bp->n_mounts; i++) {
		if (bp->mounts[i].volume && bp->mounts[i].live)
			return true;
	}
	return false;
}

void instance_disk_notice(struct instance *in)
{
	if (in->rec.disk > 0 && writes_volume(&in->bp))
		run_notice(in->main, LOG_LVL_INFO,
			   "the disk limit counts workspace and home; what is "
			   "written to a volume is not counted");
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
	treejob_forget(in->disk.job);
	loop_timer_free(in->disk.timer);
}
