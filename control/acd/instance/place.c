/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - what a run needs before it starts: image, directories, mounts
 */
#include "control/acd/instance/instance_impl.h"

#include <stdlib.h>
#include <time.h>

#include "control/acd/instance/project_use.h"
#include "control/acd/instance/volume_use.h"
#include "control/acd/storage/mounts.h"
#include "control/shared/json.h"
#include "lib/file.h"

#define MOUNTS_WERE_MAX 64u

/* Fails with INSTANCE_NO_MOUNTS if the client has to send one. */
static int mounts_check(const struct instance *in, struct err *err)
{
	for (size_t i = 0; i < in->bp.n_mounts; i++) {
		const struct blueprint_mount *m = &in->bp.mounts[i];

		if (!m->volume && !mounts_has_extra(in->rec.name, m->to))
			return err_set(err, INSTANCE_NO_MOUNTS,
				       "%s, which blueprint '%s' shows at %s, "
				       "was not passed on to ac-host",
				       m->from, in->rec.blueprint, m->to);
	}
	return 0;
}

/* Refuses what the client can mend, before anything is changed. */
int instance_check(struct instance *in, struct err *err)
{
	int rc = instance_load_blueprint(in, err);

	if (rc == 0)
		rc = project_use_may(in->is->store, &in->rec, err);
	if (rc < 0)
		return rc;
	if (!build_is_ready(in->is->builds, in->image))
		return err_set(err, INSTANCE_NO_IMAGE,
			       "the image '%s' has not been built yet; "
			       "'ac build %s' builds it",
			       in->image, in->rec.blueprint);
	if (in->rec.workspace && !mounts_has_external(in->rec.name))
		return err_set(err, INSTANCE_NO_WORKSPACE,
			       "the workspace %s was not passed on to ac-host",
			       in->rec.workspace);
	rc = volume_use_check(in, err);
	if (rc == 0)
		rc = mounts_check(in, err);
	return rc < 0 ? rc : instance_disk_check(in, err);
}

/* Makes one directory, 0700, owned by the user. What has its name must be a
 * directory. */
static int dir_make(const struct instance *in, const char *sub, struct err *err)
{
	SCOPED_STR path = instance_path(in, sub);
	int rc;

	if (!path)
		return err_nomem(err);
	rc = file_mkdir_for(path, in->rec.host_uid, in->rec.host_gid);
	if (rc < 0)
		return err_set(err, rc, "cannot make the directory %s: %s",
			       path, err_text(rc));
	return 0;
}

int instance_place_begin(struct instance *in, struct err *err)
{
	return dir_make(in, "", err);
}

static int dirs_make(const struct instance *in, struct err *err)
{
	int rc = dir_make(in, "home", err);

	if (rc == 0)
		rc = dir_make(in, "log", err);
	if (rc == 0 && !in->rec.workspace)
		rc = dir_make(in, "workspace", err);
	if (rc == 0 && in->rec.workspace && in->rec.workspace_copy)
		rc = dir_make(in, "layer", err);
	return rc;
}

/* Returns true if a directory of this run is that of @was, and live again. */
static bool is_live_again(const struct blueprint *bp,
			  const struct mounts_extra *v, const json_t *was)
{
	json_int_t dev = json_integer_value(json_object_get(was, "dev"));
	json_int_t ino = json_integer_value(json_object_get(was, "ino"));

	for (size_t i = 0; i < bp->n_mounts; i++) {
		if (bp->mounts[i].live && !bp->mounts[i].volume &&
		    (json_int_t)v[i].dev == dev && (json_int_t)v[i].ino == ino)
			return true;
	}
	return false;
}

/* Adds to @all the directories that were live in an earlier run and are not now:
 * what an agent has written there stays, links above all. The oldest beyond
 * MOUNTS_WERE_MAX are forgotten. */
static int mounts_were(const struct instance *in, const struct mounts_extra *v,
		       json_t *all)
{
	SCOPED_JSON old = in->rec.mounts_json ?
				  json_loads(in->rec.mounts_json, 0, NULL) :
				  NULL;
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(old); i++) {
		json_t *was = json_array_get(old, i);
		const char *mode =
			json_string_value(json_object_get(was, "mode"));

		if (!mode || strcmp(mode, "ro") == 0 ||
		    is_live_again(&in->bp, v, was) || n++ >= MOUNTS_WERE_MAX)
			continue;
		if (json_object_set_new(was, "mode", json_string("was_live")) <
			    0 ||
		    json_array_append(all, was) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Records which directories this run is shown, and which were live before. */
static int mounts_record(struct instance *in, const struct mounts_extra *v,
			 struct err *err)
{
	const struct blueprint *bp = &in->bp;
	SCOPED_JSON all = json_array();
	char *text;

	for (size_t i = 0; i < bp->n_mounts; i++) {
		const struct blueprint_mount *m = &bp->mounts[i];

		if (!m->volume &&
		    json_array_append_new(
			    all, json_pack("{s:o, s:s, s:s, s:I, s:I}", "from",
					   jsonx_text(m->from), "to", m->to,
					   "mode", m->live ? "live" : "ro",
					   "dev", (json_int_t)v[i].dev, "ino",
					   (json_int_t)v[i].ino)) < 0)
			return err_nomem(err);
	}
	if (mounts_were(in, v, all) < 0)
		return err_nomem(err);
	if (json_array_size(all) == 0) {
		free(ptr_take(&in->rec.mounts_json));
		return 0;
	}
	text = all ? json_dumps(all, JSON_COMPACT) : NULL;
	if (!text)
		return err_nomem(err);
	free(in->rec.mounts_json);
	in->rec.mounts_json = text;
	return 0;
}

static int64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A layer means nothing over another directory: its deletions are those of the
 * one that it was begun over. @now: the time, before
 * the directory was mounted. */
static int layer_record(struct instance *in, const struct mounts_paths *p,
			int64_t now, struct err *err)
{
	struct instance_record *r = &in->rec;

	if (r->layer_since_ns == 0) {
		r->layer_since_ns = now;
		r->layer_dev = (int64_t)p->workspace_dev;
		r->layer_ino = (int64_t)p->workspace_ino;
		return 0;
	}
	if (r->layer_ino == (int64_t)p->workspace_ino &&
	    (r->layer_dev == (int64_t)p->workspace_dev ||
	     (p->workspace_born_ns != 0 &&
	      p->workspace_born_ns < r->layer_since_ns))) {
		/* A start of the machine may give another device number. */
		r->layer_dev = (int64_t)p->workspace_dev;
		return 0;
	}
	return err_set(
		err, -EEXIST,
		"what '%s' has changed belongs to another directory than "
		"%s (or to one that was there before): `ac diff %s` "
		"shows it, `ac discard %s` drops it",
		r->name, r->workspace, r->name, r->name);
}

static int mounts_make(struct instance *in, struct err *err)
{
	struct mounts_extra extras[BLUEPRINT_MOUNTS_MAX] = { 0 };
	const struct mounts_spec mounts = {
		.name = in->rec.name,
		.host_uid = in->rec.host_uid,
		.host_gid = in->rec.host_gid,
		.external = in->rec.workspace,
		.workspace_ro = in->rec.workspace_ro,
		.copy = in->rec.workspace_copy,
		.disk = instance_disk_is_file(in),
		.extras = extras,
		.n_extras = in->bp.n_mounts,
		.blocked = &in->bp.blocked_paths,
	};
	struct mounts_paths *ret = in->paths;
	int64_t now = wall_ns();
	int rc = dirs_make(in, err);

	for (size_t i = 0; i < in->bp.n_mounts; i++) {
		extras[i].to = in->bp.mounts[i].to;
		extras[i].volume = in->bp.mounts[i].volume;
		extras[i].ro = !in->bp.mounts[i].live;
	}
	if (rc == 0)
		rc = mounts_prepare(&mounts, ret, err);
	if (rc == 0)
		rc = mounts_record(in, extras, err);
	if (rc == 0 && in->rec.workspace && in->rec.workspace_copy)
		rc = layer_record(in, ret, now, err);
	/* A directory that was writable once keeps what was written, also if it
	 * is read-only now. */
	if (rc == 0 && ret->workspace_ino != 0 && !in->rec.workspace_ro &&
	    !in->rec.workspace_copy) {
		in->rec.workspace_dev = (int64_t)ret->workspace_dev;
		in->rec.workspace_ino = (int64_t)ret->workspace_ino;
	}
	return rc;
}

/* On success in->paths is set; on failure nothing is mounted. */
static int mounts_begin(struct instance *in, struct err *err)
{
	int rc;

	in->paths = calloc(1, sizeof(*in->paths));
	if (!in->paths)
		return err_nomem(err);
	rc = mounts_make(in, err);
	if (rc < 0)
		instance_mounts_undo(in, NULL);
	return rc;
}

int instance_mounts_begin(struct instance *in, struct err *err)
{
	int rc;

	/* The sandbox of the pool brought all but the log. */
	if (step_is_begun(in, STEP_POOL))
		return dir_make(in, "log", err);
	if (step_is_begun(in, STEP_DISK))
		return mounts_begin(in, err);
	rc = dirs_make(in, err);
	return rc < 0 ? rc : STEP_NOTHING;
}

int instance_mounts_held_begin(struct instance *in, struct err *err)
{
	int rc;

	if (in->paths || in->rec.container_id)
		return STEP_NOTHING;
	rc = mounts_begin(in, err);
	/* Begun by STEP_MOUNTS for a sandbox of the pool: undone once. */
	return rc == 0 && step_is_begun(in, STEP_MOUNTS) ? STEP_NOTHING : rc;
}

int instance_mounts_undo(struct instance *in, struct err *err)
{
	(void)err;
	free(ptr_take(&in->paths));
	mounts_release(in->rec.name);
	return 0;
}
