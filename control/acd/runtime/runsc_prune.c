/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_prune.c - removes all that is not part of an instance
 *
 * Sandboxes whose removal has failed are first: they hold the layers of their
 * images, and those hold the engine's containers, which the docker runtime
 * removes afterwards. What cannot be removed is named.
 */
#include "control/acd/runtime/runsc_impl.h"

#include <string.h>

struct runsc_prune {
	struct runsc *rs;
	struct loop_timer *begin; /* so that no callback comes too early */
	bool images;
	unsigned pending; /* removals, and 1 while they begin */
	struct err err; /* the first failure */
	runtime_done_fn fn;
	void *arg;
};

/* One removal. */
struct goner {
	struct runsc_prune *prune;
	char name[AC_NAME_MAX + 1];
};

static void prune_fail(struct runsc_prune *p, const char *name,
		       const struct err *why)
{
	if (p->err.code < 0)
		return;
	p->err = *why;
	err_wrap(&p->err, "the sandbox of '%s' stays", name);
}

/* Names the sandboxes that hold an image. */
static void layers_held(const struct runsc_prune *p, int code, struct err *err)
{
	const struct box *b;

	LIST_FOREACH (b, &p->rs->boxes, link) {
		if (b->image) {
			err_set(err, code, "the sandbox of '%s' has its image",
				b->name);
			return;
		}
	}
	err_set(err, code, "an image is being mounted for a start");
}

/* Ends the prune, or passes it to the docker runtime. */
static void prune_go_on(struct runsc_prune *p)
{
	struct runsc_prune now = *p;
	struct runtime *docker = p->rs->docker;
	int rc = 0;

	if (now.err.code == 0) {
		rc = layers_drop(now.rs->layers);
		if (rc < 0)
			layers_held(&now, rc, &now.err);
	}
	now.rs->prune = NULL;
	loop_timer_free(p->begin);
	free(p);
	if (now.err.code == 0) {
		rc = docker->ops->prune(docker, now.images, now.fn, now.arg);
		if (rc == 0)
			return;
		err_set(&now.err, rc, "prune: %s", err_text(rc));
	}
	now.fn(now.arg, &now.err);
}

static void on_removed(void *arg, const struct err *err)
{
	struct goner *g = arg;
	struct runsc_prune *p = g->prune;

	if (err)
		prune_fail(p, g->name, err);
	free(g);
	if (--p->pending == 0)
		prune_go_on(p);
}

static void one_remove(struct runsc_prune *p, struct box *b)
{
	struct goner *g = calloc(1, sizeof(*g));
	struct err err = { 0 };
	int rc = g ? 0 : err_nomem(&err);

	/* All running ones were stopped before. */
	if (rc == 0 && b->state < BOX_ENDED)
		rc = err_set(&err, -EBUSY, "it runs");
	if (rc == 0 && g) {
		g->prune = p;
		memcpy(g->name, b->name, sizeof(g->name));
		rc = box_remove(b, on_removed, g, &err);
	}
	if (rc == 0) {
		p->pending++;
		return;
	}
	prune_fail(p, b->name, &err);
	free(g);
}

static void on_begin(void *arg)
{
	struct runsc_prune *p = arg;
	struct box *b;

	/* Guards against an end while removals begin. */
	p->pending = 1;
	LIST_FOREACH (b, &p->rs->boxes, link) {
		one_remove(p, b);
	}
	if (--p->pending == 0)
		prune_go_on(p);
}

int runsc_op_prune(struct runtime *rt, bool images, runtime_done_fn fn,
		   void *arg)
{
	struct runsc *rs = runsc_of(rt);
	struct runsc_prune *p;

	if (rs->prune)
		return -EALREADY;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = (struct runsc_prune){
		.rs = rs, .images = images, .fn = fn, .arg = arg
	};
	p->begin = loop_timer_new(rs->loop, on_begin, p);
	if (!p->begin) {
		free(p);
		return -ENOMEM;
	}
	loop_timer_set(p->begin, 0);
	rs->prune = p;
	return 0;
}

void runsc_prune_cancel(struct runsc *rs)
{
	struct runsc_prune *p = rs->prune;

	if (!p)
		return;
	if (p->err.code == 0)
		err_set(&p->err, -ECANCELED, "acd ends");
	/* If not, the last canceled removal reports. */
	if (p->pending == 0)
		prune_go_on(p);
}
