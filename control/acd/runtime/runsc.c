/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc.c - sandboxes by runsc alone, beside those of the engine
 *
 * Theory of operation: two thirds of a start by the engine are the engine's own
 * work. Here acd does only what is needed: the image's layers are mounted
 * already (runsc_layers.h), a child makes cgroup, network namespace and bundle
 * and becomes runsc (runsc_job.h), and the guest link is its stdin.
 *
 * The docker runtime does the rest: GPUs, isolation crun, and instances that
 * ask for it. Its containers are told apart by their ids. Images are always the
 * engine's.
 *
 * The sandboxes end with acd, PID 1. So none is taken over from an earlier acd,
 * and what that left on disk is removed at the start.
 */
#include "control/runtime.h"

#include <string.h>

#include "control/acd/runtime/prepare.h"
#include "control/acd/runtime/runsc_impl.h"
#include "control/acd/storage/treejob.h"
#include "lib/file.h"
#include "lib/log.h"

/* ---- list ---- */

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

	/* Others belong to an instance that runs or starts. */
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
	int rc;

	if (!l)
		return -ENOMEM;
	*l = (struct listing){ .rs = rs, .each = each, .fn = fn, .arg = arg };
	rc = rs->docker->ops->list(rs->docker, on_each, on_listed, l);
	if (rc < 0)
		free(l);
	return rc;
}

/* ---- images ---- */

static int op_has_gpus(struct runtime *rt, const char *gpus, struct err *err)
{
	struct runtime *docker = runsc_of(rt)->docker;

	return docker->ops->has_gpus(docker, gpus, err);
}

static int op_has_image(struct runtime *rt, const char *image,
			runtime_image_fn fn, void *arg)
{
	struct runtime *docker = runsc_of(rt)->docker;

	return docker->ops->has_image(docker, image, fn, arg);
}

static bool op_hibernates(struct runtime *rt, const char *id)
{
	(void)rt;
	return runsc_is_ours(id);
}

static void op_image_each(struct runtime *rt, const char *id,
			  void (*each)(void *arg, const char *name), void *arg)
{
	const struct box *b;

	LIST_FOREACH (b, &runsc_of(rt)->boxes, link) {
		if (b->image && strcmp(layers_id(b->image), id) == 0)
			each(arg, b->name);
	}
}

static int op_image_release(struct runtime *rt, const char *id)
{
	return layers_release(runsc_of(rt)->layers, id);
}

struct opening {
	void (*fn)(void *arg, const char *dir, void *hold,
		   const struct err *err);
	void *arg;
};

static void on_opened(void *arg, struct layers_image *img,
		      const struct err *err)
{
	struct opening *o = arg;

	o->fn(o->arg, img ? layers_path(img) : NULL, img, err);
	free(o);
}

static int op_image_open(struct runtime *rt, const char *image,
			 void (*fn)(void *arg, const char *dir, void *hold,
				    const struct err *err),
			 void *arg)
{
	struct opening *o = malloc(sizeof(*o));
	int rc;

	if (!o)
		return -ENOMEM;
	*o = (struct opening){ .fn = fn, .arg = arg };
	rc = layers_get(runsc_of(rt)->layers, image, on_opened, o);
	if (rc < 0)
		free(o);
	return rc;
}

static void op_image_close(struct runtime *rt, void *hold)
{
	(void)rt;
	layers_put(hold);
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

	/* Its last callbacks use the other objects. */
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
	.hibernates = op_hibernates,
	.hibernate = runsc_op_hibernate,
	.wake = runsc_op_wake,
	.moved = runsc_op_moved,
	.memory_write = runsc_op_memory_write,
	.memory_resume = runsc_op_memory_resume,
	.memory_keep = runsc_op_memory_keep,
	.hibernate_break = runsc_op_break,
	.has_gpus = op_has_gpus,
	.has_image = op_has_image,
	.image_each = op_image_each,
	.image_release = op_image_release,
	.image_open = op_image_open,
	.image_close = op_image_close,
	.df = op_df,
	.prune = runsc_op_prune,
	.free = op_free,
};

static void on_swept(void *arg, const struct err *err)
{
	(void)arg;
	if (err)
		log_warn("remove files of sandboxes of an earlier acd: %s",
			 err->msg);
}

/* The files may be many: renamed at once, removed in the background. */
static void sweep_upper(struct runsc *rs)
{
	static const char *const old[] = { RUNSC_UPPER ".old", NULL };
	char aside[sizeof(RUNSC_UPPER) + 32];
	struct treejob *job;

	snprintf(aside, sizeof(aside), "%s/%llu", old[0],
		 (unsigned long long)clock_ns());
	if (file_mkdir_p(old[0], 0700) < 0)
		return; /* no engine ran here before */
	rename(RUNSC_UPPER, aside);
	treejob_start(rs->loop, old, on_swept, NULL, &job, NULL);
}

static int sweep(struct runsc *rs, struct err *err)
{
	static const char *const dirs[] = { RUNSC_STATE, RUNSC_BUNDLES,
					    RUNSC_NETNS, RUNSC_IMAGES };
	int rc = 0;

	sweep_upper(rs);
	netns_sweep(RUNSC_NETNS);
	cgroup_sweep();
	for (size_t i = 0; i < ARRAY_SIZE(dirs) && rc == 0; i++) {
		rc = file_mkdir_p(dirs[i], 0700);
		if (rc < 0)
			err_set(err, rc, "make %s: %s", dirs[i], err_text(rc));
	}
	return rc;
}

struct runtime *runtime_runsc_new(struct loop *loop, struct children *children,
				  struct engine *engine, struct runtime *docker,
				  struct err *err)
{
	struct runsc *rs = calloc(1, sizeof(*rs));
	int rc = -ENOMEM;

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
		rc = rs->links && rs->layers ? cgroup_init(CGROUP_ROOT, err) :
					       err_nomem(err);
	}
	if (rc == 0)
		rc = sweep(rs, err);
	if (rc == 0)
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
