/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known.c - what acd knows of images without asking the engine
 *
 * Without memory it knows less: an image is then checked once more.
 */
#include "control/acd/blueprint/known.h"

#include <stdlib.h>
#include <string.h>

#include "control/acd/blueprint/stamp.h"
#include "lib/attr.h"
#include "lib/log.h"

void known_init(struct known *k, const char *blueprints, const char *presets)
{
	*k = (struct known){ .folders = { blueprints, presets } };
	LIST_INIT(&k->images);
}

void known_done(struct known *k)
{
	while (!LIST_EMPTY(&k->images)) {
		struct known_image *one = LIST_FIRST(&k->images);

		LIST_REMOVE(one, link);
		free(one->name);
		free(one);
	}
	strv_done(&k->ready);
	strv_done(&k->noted);
}

/* Drops @image; NULL: all. */
static void names_drop(struct strv *names, const char *image)
{
	struct strv kept = { 0 };

	for (size_t i = 0; image && i < names->n; i++) {
		if (strcmp(names->v[i], image) != 0 &&
		    strv_push(&kept, names->v[i]) < 0)
			break;
	}
	strv_done(names);
	*names = kept;
}

static struct known_image *find(const struct known *k, const char *image)
{
	struct known_image *one;

	LIST_FOREACH (one, &k->images, link) {
		if (strcmp(one->name, image) == 0)
			return one;
	}
	return NULL;
}

/* Returns NULL without memory. */
static struct known_image *get(struct known *k, const char *image)
{
	struct known_image *one = find(k, image);

	if (one)
		return one;
	one = calloc(1, sizeof(*one));
	if (one)
		one->name = strdup(image);
	if (!one || !one->name) {
		free(one);
		return NULL;
	}
	LIST_INSERT_HEAD(&k->images, one, link);
	return one;
}

uint64_t known_look(struct known *k)
{
	uint64_t now = 0;

	for (size_t i = 0; i < ARRAY_SIZE(k->folders); i++)
		now = stamp_folder(now, k->folders[i]);
	if (now != k->stamp) {
		/* They are still there. */
		for (size_t i = 0; i < k->ready.n; i++)
			known_note(k, k->ready.v[i], 0);
		names_drop(&k->ready, NULL);
	}
	k->stamp = now;
	return now;
}

bool known_is_ready(struct known *k, const char *image)
{
	known_look(k);
	return strv_has(&k->ready, image);
}

bool known_is_present(const struct known *k, const char *image)
{
	return strv_has(&k->ready, image) || strv_has(&k->noted, image);
}

unsigned known_count(const struct known *k, const char *image)
{
	const struct known_image *one = find(k, image);

	return one ? one->ensured : 0;
}

uint64_t known_size(const struct known *k, const char *image)
{
	const struct known_image *one = find(k, image);

	return one ? one->bytes : 0;
}

void known_ensured(struct known *k, const char *image, uint64_t stamp)
{
	struct known_image *one = get(k, image);

	known_forget(k, image);
	if (one) {
		one->ensured++;
		one->bytes = 0;
	} else {
		log_warn("out of memory: sandboxes of the old image %s stay",
			 image);
	}
	if (strv_push(known_look(k) == stamp ? &k->ready : &k->noted, image) <
	    0)
		log_warn("out of memory: image %s is checked again", image);
}

void known_note(struct known *k, const char *image, uint64_t bytes)
{
	struct known_image *one = bytes ? get(k, image) : NULL;

	if (one)
		one->bytes = bytes;
	if (!strv_has(&k->noted, image) && strv_push(&k->noted, image) < 0)
		log_debug("build: image %s is not noted: no memory", image);
}

void known_forget(struct known *k, const char *image)
{
	names_drop(&k->ready, image);
	names_drop(&k->noted, image);
}
