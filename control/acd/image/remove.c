/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove.c - removes one image of the nested engine
 *
 * Its tags go one by one, without force: the engine then refuses as long as a
 * container has it. The container by which acd itself has held it was removed a
 * moment before, so a conflict is tried again for a while.
 */
#include <stdlib.h>
#include <string.h>

#include "control/acd/image/gather.h"

#define CALL_TIMEOUT_MS 120000u /* of large images, on a slow disk */
#define RETRY_MS 200u
#define TRIES 15u

struct removal {
	struct images_world w;
	struct strv names; /* its tags; its id if it has none */
	size_t at;
	unsigned tries; /* of this name */
	struct loop_timer *timer;
	runtime_done_fn fn;
	void *arg;
};

static void removal_free(struct removal *r)
{
	loop_timer_free(r->timer);
	strv_done(&r->names);
	free(r);
}

static void removal_end(struct removal *r, const struct err *err)
{
	r->fn(r->arg, err);
	removal_free(r);
}

static int removal_try(struct removal *r);

static void removal_step(void *arg)
{
	struct removal *r = arg;
	struct err err = { 0 };
	int rc = r->at < r->names.n ? removal_try(r) : 1;

	if (rc < 0)
		err_set(&err, rc, "remove image '%s': %s", r->names.v[r->at],
			err_text(rc));
	if (rc != 0)
		removal_end(r, rc < 0 ? &err : NULL);
}

static void on_removed(void *arg, int status, json_t *body,
		       const struct err *err)
{
	struct removal *r = arg;
	struct err busy = { 0 };

	(void)body;
	if (status == 409 && ++r->tries < TRIES) {
		loop_timer_set(r->timer, RETRY_MS);
	} else if (status == 409) {
		err_set(&busy, -EBUSY, "%s", err->msg);
		removal_end(r, &busy);
	} else if (err && status != 404) {
		removal_end(r, err);
	} else {
		r->at++;
		r->tries = 0;
		removal_step(r);
	}
}

static int removal_try(struct removal *r)
{
	char name[ENGINE_NAME_MAX], path[ENGINE_NAME_MAX + 32];
	int rc = engine_escape(name, sizeof(name), r->names.v[r->at]);

	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "/images/%s", name);
	return engine_call(r->w.engine, "DELETE", path, CALL_TIMEOUT_MS,
			   on_removed, r);
}

int image_remove(const struct images_world *w, const struct image *i,
		 runtime_done_fn fn, void *arg)
{
	struct runtime *rt = w->runtime;
	struct removal *r;
	int rc = rt->ops->image_release ? rt->ops->image_release(rt, i->id) : 0;

	if (rc < 0)
		return rc;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	*r = (struct removal){ .w = *w, .fn = fn, .arg = arg };
	r->timer = loop_timer_new(w->loop, removal_step, r);
	rc = r->timer ? 0 : -ENOMEM;
	for (size_t k = 0; rc == 0 && k < i->tags.n; k++)
		rc = strv_push(&r->names, i->tags.v[k]);
	if (rc == 0 && r->names.n == 0)
		rc = strv_push(&r->names, i->id);
	if (rc == 0)
		rc = removal_try(r);
	if (rc < 0)
		removal_free(r);
	return rc;
}
