/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - starts and removes a sandbox, and asks how it ended
 */
#include "control/acd/instance/instance_impl.h"

#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/str.h"

/* ---- its start ---- */

static void sandbox_started(void *arg, int link_fd, const char *id,
			    const struct err *err)
{
	struct instance *in = arg;
	struct err failed = { 0 };

	if (err) {
		step_done(in, err);
		return;
	}
	in->link_fd = link_fd;
	in->rec.container_id = strdup(id);
	if (!in->rec.container_id)
		err_nomem(&failed);
	step_done(in, failed.code < 0 ? &failed : NULL);
}

/* The mounts of the user's directories and of volumes: paths of ac-host, of which
 * each has a buffer of its own. */
struct extra_paths {
	struct runtime_mount v[BLUEPRINT_MOUNTS_MAX];
	char from[BLUEPRINT_MOUNTS_MAX][PATH_MAX];
	char mnt[PATH_MAX];
};

static struct extra_paths *extra_paths_new(const struct instance *in)
{
	struct extra_paths *p = calloc(1, sizeof(*p));

	for (size_t i = 0; p && i < in->bp.n_mounts; i++) {
		const struct blueprint_mount *m = &in->bp.mounts[i];

		mounts_extra_path(in->rec.name, m->to, p->from[i]);
		p->v[i] = (struct runtime_mount){ p->from[i], m->to, !m->live };
	}
	if (p)
		mounts_mnt_path(in->rec.name, p->mnt);
	return p;
}

static int sandbox_start(struct instance *in, const char *image)
{
	struct runtime *rt = in->is->rt;
	SCOPED_STR memory = instance_memory_path(in);
	char skills[PATH_MAX];
	struct extra_paths *extra = in->bp.n_mounts > 0 ? extra_paths_new(in) :
							  NULL;
	const struct runtime_spec spec = {
		.name = in->rec.name,
		.image = image,
		.isolation = in->rec.isolation,
		.address = in->rec.address,
		.workspace = in->paths->workspace,
		.workspace_ro = in->rec.workspace && in->rec.workspace_ro,
		.home = in->paths->home,
		.skills = instance_skills(in, skills),
		.mnt = extra ? extra->mnt : NULL,
		.mounts = extra ? extra->v : NULL,
		.n_mounts = extra ? in->bp.n_mounts : 0,
		.cpu_milli = in->rec.cpu_milli,
		.memory = in->rec.memory,
		.pids = in->rec.pids,
		.gpus = in->rec.gpus,
		.from_memory = memory,
		.runtime = in->rec.runtime,
		.root_rw = in->bp.root_rw,
		.tmp_noexec = in->bp.tmp_noexec,
		.covered = in->bp.blocked_paths.n > 0,
	};
	int rc;

	rc = (extra || in->bp.n_mounts == 0) &&
			     (memory || !in->asked.options.memory) ?
		     rt->ops->start(rt, &spec, sandbox_started, in) :
		     -ENOMEM;
	free(extra);
	return rc;
}

int instance_sandbox_begin(struct instance *in, struct err *err)
{
	SCOPED_STR image = str_printf("ac/%s:latest", in->image);
	int rc;

	if (in->rec.container_id)
		return 0; /* the pool's */
	if (!image)
		return err_nomem(err);
	rc = sandbox_start(in, image);
	free(ptr_take(&in->paths));
	if (rc < 0)
		return err_set(err, rc, "cannot start a sandbox: %s",
			       err_text(rc));
	return STEP_WAITS;
}

/* ---- its removal ---- */

static void sandbox_removed(void *arg, const struct err *err)
{
	struct instance *in = arg;
	struct err failed;

	if (!err) {
		free(in->rec.container_id);
		in->rec.container_id = NULL;
		step_done(in, NULL);
		return;
	}
	failed = *err;
	err_wrap(&failed, "cannot remove the sandbox of '%s'", in->rec.name);
	step_done(in, &failed);
}

int instance_sandbox_undo(struct instance *in, struct err *err)
{
	struct instances *is = in->is;
	struct err refused = { 0 };
	int rc;

	fd_closep(&in->link_fd);
	in->link_fd = -1;
	if (!in->rec.container_id)
		return 0;
	rc = is->rt->ops->remove(is->rt, in->rec.container_id, sandbox_removed,
				 in);
	if (rc < 0) {
		/* From the loop: the caller is in the middle of a change. */
		err_set(&refused, rc, "%s", err_text(rc));
		rc = instances_later(is, sandbox_removed, in, &refused);
	}
	return rc < 0 ? err_nomem(err) : STEP_WAITS;
}

/* ---- how it ended ---- */

int instance_ask_end(struct instance *in, bool lost, runtime_end_fn fn)
{
	struct runtime *rt = in->is->rt;

	if (!in->rec.container_id || !rt->ops->end)
		return -ENOTSUP;
	return rt->ops->end(rt, in->rec.container_id, lost, fn, in);
}

const struct runtime_end *instance_end_known(const struct instance *in,
					     const struct runtime_end *end,
					     const struct err *err)
{
	if (!err)
		return end;
	log_warn("%s: how the sandbox ended is not known: %s", in->rec.name,
		 err->msg);
	return NULL;
}

void instance_add_last_words(struct instance *in, const struct runtime_end *end)
{
	char text[sizeof(in->why.msg)];

	if (end->oom)
		err_nomem(&in->why);
	else if (end->tasks)
		err_set(&in->why, -EAGAIN,
			"the machine refused more host tasks, of which the "
			"sandbox had as many as its limit of pids allows");
	else if (end->text[0] && in->why.code != -EPERM) {
		snprintf(text, sizeof(text), "%s", in->why.msg);
		err_set(&in->why, in->why.code, "%.200s: %s", text, end->text);
	}
}
