/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_calls.c - routes for the images of the nested engine
 *
 * Each call first gathers all images (image/gather.h), and then decides by what
 * is so now, not by what its client has seen.
 */
#include <stdio.h>
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/blueprint/build.h"
#include "control/acd/image/gather.h"
#include "control/shared/json.h"
#include "lib/log.h"
#include "lib/str.h"

#define CACHE_TIMEOUT_MS 600000u
/* {"private":{}}: build steps that no image has */
#define CACHE_PATH "/build/prune?all=1&filters=%7B%22private%22%3A%7B%7D%7D"

struct call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	struct images images;
	uint64_t freed, cache; /* bytes */
	char id[80]; /* "sha256:…"; of a removal */
	json_t *ids; /* of a prune: those that may go */
	size_t at; /* of a prune: the next one to look at */
	json_t *removed; /* of a prune */
	struct err err; /* the first failure; a prune goes on */
};

static const struct call *pruning; /* one at a time, or NULL */

static struct images_world world_of(const struct acd *acd)
{
	return (struct images_world){ .loop = acd->loop,
				      .engine = acd->engine,
				      .runtime = acd->runtime,
				      .store = acd->store };
}

static void call_free(struct call *c)
{
	if (pruning == c)
		pruning = NULL;
	images_done(&c->images);
	json_decref(c->ids);
	json_decref(c->removed);
	free(c);
}

static void call_end(struct call *c, json_t *takes_answer)
{
	if (c->req && c->err.code < 0)
		http_reply_error(c->req, &c->err,
				 c->err.code == -EBUSY ? "busy" : NULL);
	else if (c->req && takes_answer)
		http_reply_json(c->req, 200, json_incref(takes_answer));
	else if (c->req)
		http_reply_empty(c->req);
	json_decref(takes_answer);
	call_free(c);
}

static void call_on_abort(void *arg)
{
	struct call *c = arg;

	c->req = NULL;
}

/* Returns a new call about @req, or NULL after an answer. */
static struct call *call_new(struct acd *acd, struct http_req *req)
{
	struct err err = { 0 };
	struct call *c = NULL;
	const char *code = NULL;

	if (!acd->engine || acd->phase != ACD_READY) {
		err_set(&err, -EAGAIN, "ac-host is starting or stopping: %s",
			acd->progress);
		code = "starting";
	} else if (acd->pruning) {
		err_set(&err, -EBUSY, "everything is being removed");
		code = "busy";
	} else if (!(c = calloc(1, sizeof(*c)))) {
		err_nomem(&err);
	}
	if (!c) {
		http_reply_error(req, &err, code);
		return NULL;
	}
	*c = (struct call){ .acd = acd, .req = req };
	http_on_abort(req, call_on_abort, c);
	return c;
}

/* Gathers all images for @c and calls @fn. */
static void call_start(struct call *c, images_fn fn)
{
	const struct images_world w = world_of(c->acd);
	int rc = images_gather(&w, fn, c);

	if (rc < 0) {
		err_set(&c->err, rc, "list the images: %s", err_text(rc));
		call_end(c, NULL);
	}
}

/* Takes what was gathered. Returns false after an answer. */
static bool call_take(struct call *c, struct images *is, const struct err *err)
{
	if (err) {
		c->err = *err;
		call_end(c, NULL);
		return false;
	}
	c->images = *is;
	*is = (struct images){ 0 };
	return true;
}

/* Calls @fn with the size of the build steps that no image has. */
static void ask_cache(struct call *c,
		      void (*fn)(void *arg, uint64_t image_bytes,
				 uint64_t cache_bytes, const struct err *err))
{
	struct runtime *rt = c->acd->runtime;
	int rc = rt->ops->df ? rt->ops->df(rt, fn, c) : -ENOTSUP;

	if (rc < 0) {
		err_set(&c->err, rc, "ask the runtime: %s", err_text(rc));
		fn(c, 0, 0, &c->err);
	}
}

/* ---- the list ---- */

static void list_on_df(void *arg, uint64_t image_bytes, uint64_t cache_bytes,
		       const struct err *err)
{
	struct call *c = arg;
	json_t *list = json_array();

	(void)image_bytes;
	if (err)
		c->err = *err;
	for (size_t k = 0; k < c->images.n; k++) {
		struct image *i = &c->images.v[k];

		i->gone = !image_is_used(i);
		json_array_append_new(list, image_json(i));
	}
	call_end(c, json_pack("{s:o, s:I, s:I}", "images", list, "unused_bytes",
			      (json_int_t)images_freed(&c->images),
			      "cache_bytes", (json_int_t)cache_bytes));
}

static void list_on_images(void *arg, struct images *is, const struct err *err)
{
	struct call *c = arg;

	if (call_take(c, is, err))
		ask_cache(c, list_on_df);
}

void api_image_list(void *ctx, struct http_req *req)
{
	struct call *c = call_new(ctx, req);

	if (c)
		call_start(c, list_on_images);
}

/* ---- one ---- */

/* The next run of its blueprints builds it again. */
static void forget_built(struct acd *acd, const struct image *i)
{
	for (size_t k = 0; k < i->tags.n; k++) {
		const char *tag = i->tags.v[k];
		SCOPED_STR name = NULL;

		if (!str_starts(tag, "ac/") || !str_ends(tag, ":latest"))
			continue;
		name = str_printf("%.*s",
				  (int)(strlen(tag) - strlen("ac/:latest")),
				  tag + strlen("ac/"));
		build_forget(acd->builds, name); /* NULL: all */
	}
}

static void remove_on_done(void *arg, const struct err *err)
{
	struct call *c = arg;

	if (err)
		c->err = *err;
	call_end(c, NULL);
}

static void refuse_running(struct call *c, const struct image *i)
{
	if (i->instances.n)
		err_set(&c->err, -EBUSY,
			"a sandbox has this image: stop what runs first (of "
			"its instances: %s%s)",
			i->instances.v[0], i->instances.n > 1 ? ", …" : "");
	else
		err_set(&c->err, -EBUSY, "a container has this image");
}

static void remove_on_images(void *arg, struct images *is,
			     const struct err *err)
{
	struct call *c = arg;
	const struct images_world w = world_of(c->acd);
	const struct image *i;
	int rc = 0;

	if (!call_take(c, is, err))
		return;
	i = images_find(&c->images, c->id);
	if (!i) {
		err_set(&c->err, -ENOENT, "there is no image %.19s", c->id);
	} else if (i->running) {
		refuse_running(c, i);
	} else {
		forget_built(c->acd, i);
		rc = image_remove(&w, i, remove_on_done, c);
		if (rc == 0)
			return;
		err_set(&c->err, rc, "remove the image: %s", err_text(rc));
	}
	call_end(c, NULL);
}

int api_image_id(struct http_req *req, char *out, size_t size)
{
	const char *id = http_param(req, "id");
	struct err err = { 0 };

	if (strlen(id) == 64 && !id[strspn(id, "0123456789abcdef")]) {
		snprintf(out, size, "sha256:%.64s", id);
		return 0;
	}
	err_set(&err, -EINVAL, "'id' has 64 hexadecimal digits");
	http_reply_error(req, &err, NULL);
	return -EINVAL;
}

void api_image_remove(void *ctx, struct http_req *req)
{
	char id[80];
	struct call *c;

	if (api_image_id(req, id, sizeof(id)) < 0)
		return;
	c = call_new(ctx, req);
	if (!c)
		return;
	memcpy(c->id, id, sizeof(c->id));
	call_start(c, remove_on_images);
}

/* ---- all that nothing uses ---- */

static void prune_end(struct call *c)
{
	json_t *answer = NULL;

	if (c->err.code == 0)
		answer = json_pack("{s:O, s:I}", "images", c->removed,
				   "freed_bytes",
				   (json_int_t)(c->freed + c->cache));
	call_end(c, answer);
}

static void prune_on_cache(void *arg, int status, json_t *body,
			   const struct err *err)
{
	struct call *c = arg;

	(void)status;
	(void)body;
	if (err && c->err.code == 0)
		c->err = *err;
	prune_end(c);
}

static void prune_on_df(void *arg, uint64_t image_bytes, uint64_t cache_bytes,
			const struct err *err)
{
	struct call *c = arg;
	int rc;

	(void)image_bytes;
	if (err && c->err.code == 0)
		c->err = *err;
	c->freed = images_freed(&c->images);
	/* What was steps of the removed images is counted with these. */
	c->cache = cache_bytes > c->freed ? cache_bytes - c->freed : 0;
	rc = engine_call(c->acd->engine, "POST", CACHE_PATH, CACHE_TIMEOUT_MS,
			 prune_on_cache, c);
	if (rc < 0) {
		err_set(&c->err, rc, "remove build steps: %s", err_text(rc));
		prune_end(c);
	}
}

static bool is_agreed(const struct call *c, const struct image *i)
{
	const json_t *id;
	size_t n;

	json_array_foreach (c->ids, n, id) {
		const char *text = json_string_value(id);

		if (text && strcmp(text, i->id + strlen("sha256:")) == 0)
			return !image_is_used(i);
	}
	return false;
}

static void prune_next(struct call *c);

static void prune_on_removed(void *arg, const struct err *err)
{
	struct call *c = arg;
	struct image *i = &c->images.v[c->at - 1];

	if (err && c->err.code == 0)
		c->err = *err;
	else if (!err && json_array_append_new(c->removed, image_json(i)) == 0)
		i->gone = true;
	prune_next(c);
}

static void prune_next(struct call *c)
{
	const struct images_world w = world_of(c->acd);

	while (c->at < c->images.n) {
		const struct image *i = &c->images.v[c->at++];
		int rc;

		if (!is_agreed(c, i))
			continue;
		rc = image_remove(&w, i, prune_on_removed, c);
		if (rc == 0)
			return;
		if (c->err.code == 0)
			err_set(&c->err, rc, "remove image %.19s: %s", i->id,
				err_text(rc));
	}
	ask_cache(c, prune_on_df);
}

static void prune_on_images(void *arg, struct images *is, const struct err *err)
{
	struct call *c = arg;

	if (call_take(c, is, err))
		prune_next(c);
}

void api_image_prune(void *ctx, struct http_req *req)
{
	json_t *ids = json_object_get(http_body(req), "ids");
	struct call *c;
	struct err err = { 0 };

	if (!json_is_array(ids))
		jsonx_refuse(&err, "ids", "'ids' is a list");
	else if (pruning)
		err_set(&err, -EBUSY, "another prune is under way");
	if (err.code < 0) {
		http_reply_error(req, &err, err.code == -EBUSY ? "busy" : NULL);
		return;
	}
	c = call_new(ctx, req);
	if (!c)
		return;
	c->ids = json_incref(ids);
	c->removed = json_array();
	pruning = c;
	call_start(c, prune_on_images);
}
