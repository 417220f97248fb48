/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_wish.c - what somebody wants to run, kept beyond the call
 */
#include <string.h>

#include "control/acd/instance/instance_impl.h"

void run_wish_done(struct run_wish *w)
{
	strv_done(&w->argv);
	strv_done(&w->env);
	free(w->cwd);
	*w = (struct run_wish){ 0 };
}

static int strv_copy(struct strv *dst, const char *const *src)
{
	int ret = 0;

	for (; src && *src && ret == 0; src++)
		ret = strv_push(dst, *src);
	return ret;
}

int run_wish_copy(struct run_wish *w, const struct run_request *rq)
{
	struct run_wish new = {
		.shell = rq->shell,
		.files = rq->files,
		.tty = rq->tty,
		.use_stdin = rq->use_stdin,
		.detached = rq->detached,
		.unnoticed = rq->unnoticed,
		.rows = rq->rows,
		.cols = rq->cols,
		.timeout_ms = rq->timeout_ms,
	};

	new.cwd = rq->cwd && * rq->cwd ? strdup(rq->cwd) : NULL;
	if ((rq->cwd && *rq->cwd && !new.cwd) ||
	    strv_copy(&new.argv, rq->argv) < 0 ||
	    strv_copy(&new.env, rq->env) < 0) {
		run_wish_done(&new);
		return -ENOMEM;
	}
	run_wish_done(w);
	*w = new;
	return 0;
}

const struct strv *run_argv(const struct instance *in, const struct run_wish *w)
{
	if (w->argv.n > 0)
		return &w->argv;
	return w->shell ? &in->bp.shell : &in->bp.command;
}

const char *run_cwd(const struct instance *in, const struct run_wish *w)
{
	if (w->cwd)
		return w->cwd;
	if (in->rec.workdir && *in->rec.workdir)
		return in->rec.workdir;
	return in->bp.workdir ? in->bp.workdir : "";
}
