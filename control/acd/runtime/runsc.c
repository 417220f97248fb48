/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc.c - sandboxes over runsc alone, beside those of the engine
 *
 * Theory of operation. Of a start by the engine two thirds are the engine's.
 * Here acd does what it would do, and no more: the layers of the image are
 * mounted already (runsc_layers.h), a child makes cgroup, network namespace
 * and bundle and becomes runsc (runsc_job.h), the guest link is its stdin.
 *
 * What this runtime is not for goes to the docker runtime, whose containers
 * are told apart by their ids: GPUs, isolation crun, and instances that ask
 * for it. Images are the engine's in any case.
 *
 * The sandboxes end with acd, PID 1: what an earlier life left on disk is
 * swept at the start, and nothing is ever found again.
 */
#include "control/runtime.h"

#include <string.h>

#include "control/acd/runtime/host.h"
#include "control/acd/runtime/runsc_impl.h"
#include "control/acd/storage/treejob.h"
#include "lib/file.h"
#include "lib/log.h"

/* ---- what is there ---- */

struct listing {
	struct runsc *rs;
	runtime_each_fn each;
	runtime_done_fn fn;
	void *arg;
};

static void on_each(void *arg, const char *id, const char *name, bool running)
{
	const struct listing *l = arg;

	l->each(l->arg, id, name, running);
}

static void on_listed(void *arg, const struct err *err)
{
	struct listing *l = arg;
	const struct box *b;

	/* All others belong to an instance that runs, or soon will. */
	LIST_FOREACH (b, &l->rs->boxes, link) {
		if (b->state == BOX_LEFT)
			l->each(l->arg, b->id, b->name, b->pid != 0);
	}
	l->fn(l->arg, err);
	free(l);
}

static int op_list(struct runtime *rt, runtime_each_fn each, runtime_done_fn fn,
		   void *arg)
{
	struct runsc *rs = runsc_of(rt);
	struct listing *l = malloc(sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	*l = (struct listing){ .rs = rs, .each = each, .fn = fn, .arg = arg };
	r = rs->docker->ops->list(rs->docker, on_each, on_listed, l);
	if (r < 0)
		free(l);
	return r;
}

/* ---- images ---- */

static int op_has_gpus(struct runtime *rt, const char *gpus, struct err *err)
{
	struct runtime *docker = runsc_of(rt)->docker;

	return docker->ops->has_gpus(docker, gpus, err);
}

static int op_has_image(struct runtime *rt, const char *image,
			runtime_done_fn fn, void *arg)
{
	struct runtime *docker = runsc_of(rt)->docker;

	return docker->ops->has_image(docker, image, fn, arg);
}

static int op_df(struct runtime *rt,
		 void (*fn)(void *arg, uint64_t image_bytes,
			    uint64_t cache_bytes, const struct err *err),
		 void *arg)
{
	struct runtime *docker = runsc_of(rt)->docker;

	return docker->ops->df(docker, fn, arg);
}

/* ---- life ---- */

static void op_free(struct runtime *rt)
{
	struct runsc *rs = runsc_of(rt);

	/* Its last callbacks find all the others still there. */
	engine_free(rs->engine);
	runsc_prune_cancel(rs);
	while (!LIST_EMPTY(&rs->boxes)) {
		struct box *b = LIST_FIRST(&rs->boxes);

		runsc_start_cancel(b);
		box_remove_cancel(b);
		box_free(b);
	}
	runsc_calls_cancel(rs);
	layers_free(rs->layers);
	links_free(rs->links);
	rs->docker->ops->free(rs->docker);
	free(rs);
}

static const struct runtime_ops runsc_ops = {
	.name = "runsc",
	.start = runsc_op_start,
	.stop = runsc_op_stop,
	.remove = runsc_op_remove,
	.stats = runsc_op_stats,
	.writer = runsc_op_writer,
	.end = runsc_op_end,
	.list = op_list,
	.update = runsc_op_update,
	.freeze = runsc_op_freeze,
	.has_gpus = op_has_gpus,
	.has_image = op_has_image,
	.df = op_df,
	.prune = runsc_op_prune,
	.free = op_free,
};

static void on_swept(void *arg, const struct err *err)
{
	(void)arg;
	if (err)
		log_warn("remove what sandboxes wrote in an earlier life: %s",
			 err->msg);
}

/* It may be large: out of the way first, then removed beside all else. */
static void sweep_upper(struct runsc *rs)
{
	static const char *const old[] = { RUNSC_UPPER ".old", NULL };
	char aside[sizeof(RUNSC_UPPER) + 32];
	struct treejob *job;

	snprintf(aside, sizeof(aside), "%s/%llu", old[0],
		 (unsigned long long)clock_ns());
	if (file_mkdir_p(old[0], 0700) < 0)
		return; /* no engine has been here yet */
	rename(RUNSC_UPPER, aside);
	treejob_start(rs->loop, old, on_swept, NULL, &job, NULL);
}

static int sweep(struct runsc *rs, struct err *err)
{
	static const char *const dirs[] = { RUNSC_STATE, RUNSC_BUNDLES,
					    RUNSC_NETNS, RUNSC_IMAGES };
	int r = 0;

	sweep_upper(rs);
	netns_sweep(RUNSC_NETNS);
	cgroup_sweep();
	for (size_t i = 0; i < ARRAY_SIZE(dirs) && r == 0; i++) {
		r = file_mkdir_p(dirs[i], 0700);
		if (r < 0)
			err_set(err, r, "make %s: %s", dirs[i], err_text(r));
	}
	return r;
}

struct runtime *runtime_runsc_new(struct loop *loop, struct children *children,
				  struct engine *engine, struct runtime *docker,
				  struct err *err)
{
	struct runsc *rs = calloc(1, sizeof(*rs));
	int r = -ENOMEM;

	if (rs) {
		rs->rt.ops = &runsc_ops;
		rs->loop = loop;
		rs->children = children;
		rs->engine = engine;
		rs->docker = docker;
		LIST_INIT(&rs->boxes);
		LIST_INIT(&rs->calls);
		rs->links = links_new(loop, NULL, err);
		rs->layers = layers_new(loop, engine, RUNSC_IMAGES);
		r = rs->links && rs->layers ? cgroup_init(CGROUP_ROOT, err) :
					      err_nomem(err);
	}
	if (r == 0)
		r = sweep(rs, err);
	if (r == 0)
		return &rs->rt;
	if (rs) {
		op_free(&rs->rt);
		return NULL;
	}
	err_nomem(err);
	engine_free(engine);
	docker->ops->free(docker);
	return NULL;
}
