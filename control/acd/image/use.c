/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use.c - the images of the nested engine: what uses each, and what it would
 * free
 *
 * The engine tells two sizes of an image: all its layers, and those that it
 * shares with any other image. Shared layers are the lowest ones always, since
 * a layer is only the same if all below it are. So both are sizes of a number
 * of the lowest layers, and the size of what a removed image keeps on the disk
 * for the others is one of those: of itself, or of an image with the same
 * layers up to there.
 */
#include "control/acd/image/use.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/shared/json.h"

/* All images begin with this one, and so does the next that is built. */
#define ROOT_NAME "rootfs"

static uint64_t size_at(const json_t *obj, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(obj, key));

	return v > 0 ? (uint64_t)v : 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- the engine's answers ---- */

static int read_tags(struct image *i, const json_t *list)
{
	const json_t *tag;
	size_t n;

	json_array_foreach (list, n, tag) {
		const char *text = json_string_value(tag);

		if (text && !strstr(text, "<none>") &&
		    strv_push(&i->tags, text) < 0)
			return -ENOMEM;
	}
	if (i->tags.n)
		qsort(i->tags.v, i->tags.n, sizeof(*i->tags.v), by_text);
	return 0;
}

static int read_one(struct image *i, const json_t *entry)
{
	const char *id = json_string_value(json_object_get(entry, "Id"));

	if (!id || !str_starts(id, "sha256:"))
		return -EPROTO;
	i->id = strdup(id);
	i->created = (int64_t)size_at(entry, "Created");
	i->bytes = size_at(entry, "Size");
	i->shared = size_at(entry, "SharedSize");
	if (i->shared > i->bytes)
		i->shared = i->bytes;
	return i->id ? read_tags(i, json_object_get(entry, "RepoTags")) :
		       -ENOMEM;
}

int images_read(struct images *is, const json_t *list)
{
	size_t n = json_array_size(list), k;
	int rc = 0;

	if (!json_is_array(list))
		return -EPROTO;
	if (n > IMAGES_MAX)
		return -E2BIG;
	is->v = calloc(n + 1, sizeof(*is->v));
	if (!is->v)
		return -ENOMEM;
	is->n = n;
	for (k = 0; rc == 0 && k < n; k++)
		rc = read_one(&is->v[k], json_array_get(list, k));
	return rc;
}

int image_read(struct image *i, const json_t *answer)
{
	const json_t *layers =
		json_object_get(json_object_get(answer, "RootFS"), "Layers");
	const json_t *layer;
	size_t n;

	if (!json_is_object(answer) ||
	    json_array_size(layers) > IMAGE_LAYERS_MAX)
		return -EPROTO;
	json_array_foreach (layers, n, layer) {
		const char *digest = json_string_value(layer);

		if (!digest)
			return -EPROTO;
		if (strv_push(&i->layers, digest) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_once(struct strv *sv, const char *name)
{
	return strv_has(sv, name) ? 0 : strv_push(sv, name);
}

int images_read_containers(struct images *is, const json_t *list,
			   const char *instance, const char *holder)
{
	const json_t *entry;
	size_t n;

	json_array_foreach (list, n, entry) {
		const json_t *labels = json_object_get(entry, "Labels");
		struct image *i =
			images_find(is, jsonx_text_at(entry, "ImageID"));
		const char *name =
			json_string_value(json_object_get(labels, instance));

		if (!i || json_object_get(labels, holder))
			continue;
		i->running = true;
		if (name && add_once(&i->instances, name) < 0)
			return -ENOMEM;
	}
	return 0;
}

void images_done(struct images *is)
{
	for (size_t k = 0; k < is->n; k++) {
		struct image *i = &is->v[k];

		free(i->id);
		strv_done(&i->tags);
		strv_done(&i->layers);
		strv_done(&i->blueprints);
		strv_done(&i->instances);
	}
	free(is->v);
	*is = (struct images){ 0 };
}

/* ---- use ---- */

struct image *images_find(const struct images *is, const char *id)
{
	for (size_t k = 0; k < is->n; k++)
		if (strcmp(is->v[k].id, id) == 0)
			return &is->v[k];
	return NULL;
}

struct image *images_named(const struct images *is, const char *name)
{
	SCOPED_STR tag = str_printf("ac/%s:latest", name);

	for (size_t k = 0; tag && k < is->n; k++)
		if (strv_has(&is->v[k].tags, tag))
			return &is->v[k];
	return NULL;
}

/* Returns how many of the lowest layers two images share. */
static size_t common(const struct image *a, const struct image *b)
{
	size_t n = 0;

	while (n < a->layers.n && n < b->layers.n &&
	       strcmp(a->layers.v[n], b->layers.v[n]) == 0)
		n++;
	return n;
}

static bool has_user(const struct image *i)
{
	return i->running || i->blueprints.n > 0 || i->instances.n > 0;
}

void images_settle(struct images *is)
{
	struct image *root = images_named(is, ROOT_NAME);

	for (size_t k = 0; k < is->n; k++) {
		struct image *i = &is->v[k];

		for (size_t u = 0; u < is->n && i->layers.n > 0; u++)
			if (has_user(&is->v[u]) &&
			    is->v[u].layers.n > i->layers.n &&
			    common(i, &is->v[u]) == i->layers.n)
				i->below = true;
	}
	if (root)
		root->below = true;
}

bool image_is_used(const struct image *i)
{
	return has_user(i) || i->below;
}

/* ---- sizes ---- */

/* Returns how many of the lowest layers of image @k another image has too. */
static size_t shared_layers(const struct images *is, size_t k)
{
	size_t most = 0;

	for (size_t o = 0; o < is->n; o++) {
		size_t n = o == k ? 0 : common(&is->v[k], &is->v[o]);

		if (n > most)
			most = n;
	}
	return most;
}

/* Returns the size of the lowest @n layers of @i, or what it shares if nothing
 * tells that. @shared: how many layers each image shares. */
static uint64_t lowest_bytes(const struct images *is, const size_t *shared,
			     const struct image *i, size_t n)
{
	if (n == 0)
		return 0;
	for (size_t k = 0; k < is->n; k++) {
		const struct image *o = &is->v[k];

		if ((o->layers.n != n && shared[k] != n) || common(i, o) < n)
			continue;
		return o->layers.n == n ? o->bytes : o->shared;
	}
	return i->shared;
}

uint64_t images_freed(const struct images *is)
{
	size_t *shared = calloc(is->n + 1, sizeof(*shared));
	uint64_t bytes = 0;

	if (!shared)
		return 0;
	for (size_t k = 0; k < is->n; k++)
		shared[k] = shared_layers(is, k);
	for (size_t k = 0; k < is->n; k++) {
		const struct image *i = &is->v[k];
		size_t kept = 0;
		uint64_t left;

		if (!i->gone)
			continue;
		/* Kept by those that stay, or counted with an earlier one. */
		for (size_t o = 0; o < is->n; o++) {
			size_t n = o == k || (is->v[o].gone && o > k) ?
					   0 :
					   common(i, &is->v[o]);

			if (n > kept)
				kept = n;
		}
		left = lowest_bytes(is, shared, i, kept);
		bytes += i->bytes > left ? i->bytes - left : 0;
	}
	free(shared);
	return bytes;
}

json_t *image_json(const struct image *i)
{
	return json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:b, s:b}",
			 "id", i->id + strlen("sha256:"), "tags",
			 jsonx_from_strv(&i->tags), "created_at",
			 (json_int_t)i->created, "bytes", (json_int_t)i->bytes,
			 "own_bytes", (json_int_t)(i->bytes - i->shared),
			 "shared_bytes", (json_int_t)i->shared, "blueprints",
			 jsonx_from_strv(&i->blueprints), "instances",
			 jsonx_from_strv(&i->instances), "running", i->running,
			 "used", image_is_used(i));
}
