/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.c - asks engine, runtime, store and blueprints about all images
 *
 * One question after another, as there are few images: the list, each image
 * (for its layers), the containers. What acd itself knows is added at the end,
 * in one piece, so that it is all of one moment.
 */
#include "control/acd/image/gather.h"

#include <stdlib.h>
#include <string.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/runtime/docker_spec.h"
#include "control/acd/runtime/runsc_layers.h"

#define CALL_TIMEOUT_MS 30000u
#define LIST_PATH "/images/json?shared-size=1"
#define CONTAINERS_PATH "/containers/json?all=1"

struct gather {
	struct images_world w;
	struct images images;
	size_t at; /* the image that is asked about */
	images_fn fn;
	void *arg;
};

static void gather_end(struct gather *g, const struct err *err)
{
	if (err)
		images_done(&g->images);
	g->fn(g->arg, &g->images, err);
	free(g);
}

/* Ends it if @rc is a failure. Returns true if it goes on. */
static bool gather_on(struct gather *g, int rc, const struct err *err)
{
	struct err e = { 0 };

	if (!err && rc < 0) {
		err_set(&e, rc, "list the images: %s", err_text(rc));
		err = &e;
	}
	if (err)
		gather_end(g, err);
	return !err;
}

/* ---- what acd knows ---- */

/* Notes that blueprint @name starts from its image. One that cannot be read
 * keeps the image of its own name. */
static int add_blueprint(struct images *is, const char *name)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	bool known = blueprint_load(name, &bp, &err) == 0;
	struct image *i = images_named(is, known ? bp.image : name);
	int rc = i ? strv_push(&i->blueprints, name) : 0;

	blueprint_done(&bp);
	return rc;
}

static struct image *image_of(const struct images *is, const char *blueprint)
{
	for (size_t k = 0; k < is->n; k++)
		if (strv_has(&is->v[k].blueprints, blueprint))
			return &is->v[k];
	return images_named(is, blueprint);
}

static int add_record(void *arg, const struct instance_record *r)
{
	struct image *i = image_of(arg, r->blueprint);

	if (!i || strv_has(&i->instances, r->name))
		return 0;
	return strv_push(&i->instances, r->name);
}

static void add_box(void *arg, const char *name)
{
	struct image *i = arg;

	/* One of the pool is no instance yet. Without memory the image is still
	 * kept. */
	i->running = true;
	if (name[0] != '_' && !strv_has(&i->instances, name) &&
	    strv_push(&i->instances, name) < 0)
		return;
}

static int add_ours(struct gather *g, struct err *err)
{
	struct runtime *rt = g->w.runtime;
	struct images *is = &g->images;
	struct strv names = { 0 };
	int rc = blueprint_names(&names, err);

	for (size_t k = 0; rc == 0 && k < names.n; k++)
		rc = add_blueprint(is, names.v[k]);
	strv_done(&names);
	for (size_t k = 0; k < is->n && rt->ops->image_each; k++)
		rt->ops->image_each(rt, is->v[k].id, add_box, &is->v[k]);
	if (rc == 0)
		rc = store_each(g->w.store, add_record, is, err);
	images_settle(is);
	return rc;
}

/* ---- what the engine knows ---- */

static void on_containers(void *arg, int status, json_t *body,
			  const struct err *err)
{
	struct gather *g = arg;
	struct err e = { 0 };
	int rc = 0;

	(void)status;
	if (!err)
		rc = images_read_containers(&g->images, body, DOCKER_LABEL,
					    LAYERS_LABEL);
	if (!err && rc == 0) {
		rc = add_ours(g, &e);
		if (rc < 0 && e.code < 0)
			err = &e;
	}
	if (gather_on(g, rc, err))
		gather_end(g, NULL);
}

static void next_image(struct gather *g);

static void on_image(void *arg, int status, json_t *body, const struct err *err)
{
	struct gather *g = arg;
	struct image *i = &g->images.v[g->at];
	int rc = 0;

	/* 404: removed in the meantime. Without layers nothing is built on it,
	 * and its removal is one of something that is gone. */
	if (status == 404)
		err = NULL;
	else if (!err)
		rc = image_read(i, body);
	if (!gather_on(g, rc, err))
		return;
	g->at++;
	next_image(g);
}

static void next_image(struct gather *g)
{
	char id[ENGINE_NAME_MAX], path[ENGINE_NAME_MAX + 32];
	int rc;

	if (g->at == g->images.n) {
		gather_on(g,
			  engine_call(g->w.engine, "GET", CONTAINERS_PATH,
				      CALL_TIMEOUT_MS, on_containers, g),
			  NULL);
		return;
	}
	rc = engine_escape(id, sizeof(id), g->images.v[g->at].id);
	if (rc == 0) {
		snprintf(path, sizeof(path), "/images/%s/json", id);
		rc = engine_call(g->w.engine, "GET", path, CALL_TIMEOUT_MS,
				 on_image, g);
	}
	gather_on(g, rc, NULL);
}

static void on_list(void *arg, int status, json_t *body, const struct err *err)
{
	struct gather *g = arg;

	(void)status;
	if (gather_on(g, err ? 0 : images_read(&g->images, body), err))
		next_image(g);
}

int images_gather(const struct images_world *w, images_fn fn, void *arg)
{
	struct gather *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return -ENOMEM;
	*g = (struct gather){ .w = *w, .fn = fn, .arg = arg };
	rc = engine_call(w->engine, "GET", LIST_PATH, CALL_TIMEOUT_MS, on_list,
			 g);
	if (rc < 0)
		free(g);
	return rc;
}
