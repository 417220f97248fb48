/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - what a run needs before it starts: image, directories, mounts
 */
#include "control/acd/instance/instance_impl.h"

#include <stdlib.h>

#include "control/acd/instance/project_use.h"
#include "control/acd/storage/mounts.h"
#include "lib/file.h"

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
	return instance_disk_check(in, err);
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
	static const char *const sub[] = { "home", "log", "workspace" };
	size_t i, n = ARRAY_SIZE(sub) - (in->rec.workspace ? 1 : 0);
	int rc = 0;

	for (i = 0; i < n && rc == 0; i++)
		rc = dir_make(in, sub[i], err);
	return rc;
}

static int mounts_make(struct instance *in, struct err *err)
{
	const struct mounts_spec mounts = {
		.name = in->rec.name,
		.host_uid = in->rec.host_uid,
		.host_gid = in->rec.host_gid,
		.external = in->rec.workspace,
		.workspace_ro = in->rec.workspace_ro,
		.disk = instance_disk_is_file(in),
		.blocked = &in->bp.blocked_paths,
	};
	struct mounts_paths *ret = in->paths;
	int rc = dirs_make(in, err);

	if (rc == 0)
		rc = mounts_prepare(&mounts, ret, err);
	/* A directory that was writable once keeps what was written, also if it
	 * is read-only now. */
	if (rc == 0 && ret->workspace_ino != 0 && !in->rec.workspace_ro) {
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
