/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_list.c - lists and prunes the engine's containers and images, and
 * counts their disk use
 */
#include <string.h>

#include "control/acd/runtime/docker_impl.h"
#include "control/acd/runtime/docker_spec.h"

#define LIST_TIMEOUT_MS 30000u
#define DF_TIMEOUT_MS 120000u
#define PRUNE_TIMEOUT_MS 600000u
#define LIST_ALL_PATH "/containers/json?all=1"
/* {"label":["ac.instance"]} */
#define LIST_PATH                 \
	LIST_ALL_PATH "&filters=" \
		      "%7B%22label%22%3A%5B%22" DOCKER_LABEL "%22%5D%7D"
/* {"dangling":["false"]}: includes images with a name */
#define IMAGES_PATH              \
	"/images/prune?filters=" \
	"%7B%22dangling%22%3A%5B%22false%22%5D%7D"

struct list {
	runtime_each_fn each;
	runtime_done_fn fn;
	void *arg;
};

static void on_list(void *arg, int status, json_t *body, const struct err *err)
{
	struct list *l = arg;
	const json_t *entry;
	size_t i;

	(void)status;
	json_array_foreach (body, i, entry) {
		const json_t *labels = json_object_get(entry, "Labels");
		const char *id, *name, *state;

		id = json_string_value(json_object_get(entry, "Id"));
		state = json_string_value(json_object_get(entry, "State"));
		name = json_string_value(json_object_get(labels, DOCKER_LABEL));
		if (!err && id && state)
			l->each(l->arg, id, name,
				strcmp(state, "running") == 0 ||
					strcmp(state, "paused") == 0);
	}
	l->fn(l->arg, err);
	free(l);
}

/* @each gets a NULL name for a container that is not a sandbox of ours. */
static int list_call(struct docker *d, const char *path, runtime_each_fn each,
		     runtime_done_fn fn, void *arg)
{
	struct list *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	*l = (struct list){ .each = each, .fn = fn, .arg = arg };
	rc = engine_call(d->engine, "GET", path, LIST_TIMEOUT_MS, on_list, l);
	if (rc < 0)
		free(l);
	return rc;
}

int docker_op_list(struct runtime *rt, runtime_each_fn each, runtime_done_fn fn,
		   void *arg)
{
	return list_call(docker_of(rt), LIST_PATH, each, fn, arg);
}

struct image {
	runtime_image_fn fn;
	void *arg;
};

static void on_image(void *arg, int status, json_t *body, const struct err *err)
{
	struct image *image = arg;
	json_int_t size = json_integer_value(json_object_get(body, "Size"));

	(void)status;
	image->fn(image->arg, size > 0 ? (uint64_t)size : 0, err);
	free(image);
}

int docker_op_has_image(struct runtime *rt, const char *image,
			runtime_image_fn fn, void *arg)
{
	char name[ENGINE_NAME_MAX], path[ENGINE_NAME_MAX + 32];
	struct image *call = calloc(1, sizeof(*call));
	int rc = call ? engine_escape(name, sizeof(name), image) : -ENOMEM;

	if (rc == 0) {
		*call = (struct image){ .fn = fn, .arg = arg };
		snprintf(path, sizeof(path), "/images/%s/json", name);
		rc = engine_call(docker_of(rt)->engine, "GET", path,
				 LIST_TIMEOUT_MS, on_image, call);
	}
	if (rc < 0)
		free(call);
	return rc;
}

struct df {
	void (*fn)(void *arg, uint64_t image_bytes, uint64_t cache_bytes,
		   const struct err *err);
	void *arg;
};

static void on_df(void *arg, int status, json_t *body, const struct err *err)
{
	struct df *df = arg;
	const json_t *entry;
	uint64_t images, cache = 0;
	json_int_t layers;
	size_t i;

	(void)status;
	layers = json_integer_value(json_object_get(body, "LayersSize"));
	images = layers > 0 ? (uint64_t)layers : 0;
	json_array_foreach (json_object_get(body, "BuildCache"), i, entry) {
		json_int_t size =
			json_integer_value(json_object_get(entry, "Size"));

		/* Shared records are counted with the images. */
		if (size > 0 && !json_is_true(json_object_get(entry, "Shared")))
			cache += (uint64_t)size;
	}
	df->fn(df->arg, images, cache, err);
	free(df);
}

int docker_op_df(struct runtime *rt,
		 void (*fn)(void *arg, uint64_t image_bytes,
			    uint64_t cache_bytes, const struct err *err),
		 void *arg)
{
	struct df *df = calloc(1, sizeof(*df));
	int rc;

	if (!df)
		return -ENOMEM;
	*df = (struct df){ .fn = fn, .arg = arg };
	rc = engine_call(docker_of(rt)->engine, "GET",
			 "/system/df?type=image&type=build-cache",
			 DF_TIMEOUT_MS, on_df, df);
	if (rc < 0)
		free(df);
	return rc;
}

/*
 * A prune lists all containers (also those made by hand: the engine is only
 * ours), removes each, and then the build cache and the images. It ends at the
 * first error.
 */
struct prune {
	struct docker *d;
	bool images;
	json_t *ids; /* still to be removed */
	int step;
	runtime_done_fn fn;
	void *arg;
};

static void prune_next(void *arg, const struct err *err);

static void prune_end(struct prune *p, const struct err *err)
{
	p->fn(p->arg, err);
	json_decref(p->ids);
	free(p);
}

static void prune_each(void *arg, const char *id, const char *name,
		       bool running)
{
	struct prune *p = arg;

	(void)name;
	(void)running;
	json_array_append_new(p->ids, json_string(id));
}

static int prune_step(struct prune *p)
{
	size_t left = json_array_size(p->ids);
	int rc;

	if (left > 0) {
		const char *id =
			json_string_value(json_array_get(p->ids, left - 1));

		rc = docker_remove(p->d, id, prune_next, p);
		json_array_remove(p->ids, left - 1);
		return rc;
	}
	switch (p->step++) {
	case 0:
		return docker_do(p->d, "POST", "/build/prune?all=1",
				 PRUNE_TIMEOUT_MS, prune_next, p);
	case 1:
		if (p->images)
			return docker_do(p->d, "POST", IMAGES_PATH,
					 PRUNE_TIMEOUT_MS, prune_next, p);
		return 1;
	default:
		return 1;
	}
}

static void prune_next(void *arg, const struct err *err)
{
	struct prune *p = arg;
	struct err e = { 0 };
	int rc = err ? 1 : prune_step(p);

	if (rc < 0)
		err_set(&e, rc, "prune: %s", err_text(rc));
	if (rc != 0)
		prune_end(p, rc < 0 ? &e : err);
}

int docker_op_prune(struct runtime *rt, bool images, runtime_done_fn fn,
		    void *arg)
{
	struct prune *p = calloc(1, sizeof(*p));
	int rc = -ENOMEM;

	if (!p)
		return rc;
	*p = (struct prune){ .d = docker_of(rt),
			     .images = images,
			     .fn = fn,
			     .arg = arg,
			     .ids = json_array() };
	if (p->ids)
		rc = list_call(p->d, LIST_ALL_PATH, prune_each, prune_next, p);
	if (rc < 0) {
		json_decref(p->ids);
		free(p);
	}
	return rc;
}
