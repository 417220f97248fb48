/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use.h - the images of the nested engine: what uses each, and what it would
 * free
 *
 * An image is used if a blueprint or an instance starts from it, if a sandbox or
 * another container has it, or if a used one is built on it. It is built on
 * another if its layers begin with all layers of that one.
 */
#ifndef CONTROL_ACD_IMAGE_USE_H
#define CONTROL_ACD_IMAGE_USE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/str.h"

#define IMAGES_MAX 512u
#define IMAGE_LAYERS_MAX 128u /* the engine's own limit */

struct image {
	char *id; /* "sha256:…" */
	struct strv tags; /* "ac/base:latest", sorted */
	struct strv layers; /* what each holds, by digest; lowest first */
	int64_t created; /* seconds since the epoch */
	uint64_t bytes; /* all its layers */
	uint64_t shared; /* those that another image has too */
	struct strv blueprints; /* that start from it now */
	struct strv instances; /* of these, and whose sandbox has it */
	bool running; /* a sandbox, or another container, has it */
	bool below; /* a used one is built on it */
	bool gone; /* removed, or to be removed */
};

struct images {
	struct image *v;
	size_t n;
};

/* Reads the engine's list of images (/images/json, with the shared size) into
 * an empty @is. The caller calls images_done(). Returns 0, -EPROTO for an
 * answer that is no such list, -E2BIG beyond IMAGES_MAX, or -ENOMEM. */
int images_read(struct images *is, const json_t *list);
/* Reads what the engine tells of one image (/images/ID/json). Returns 0,
 * -EPROTO or -ENOMEM. */
int image_read(struct image *i, const json_t *answer);
/* Notes which images have containers: reads the engine's list of all containers
 * (/containers/json). @instance and @holder are the labels of an instance's
 * container and of one that only holds an image, which counts for nothing.
 * Returns 0 or -ENOMEM. */
int images_read_containers(struct images *is, const json_t *list,
			   const char *instance, const char *holder);
void images_done(struct images *is); /* accepts zeroed */

/* Returns the image of this id, or NULL. */
struct image *images_find(const struct images *is, const char *id);
/* Returns the image from which a blueprint with `image: NAME` starts, or
 * NULL. */
struct image *images_named(const struct images *is, const char *name);
/* Sets "below" of all images; to be called when all else is known. */
void images_settle(struct images *is);
bool image_is_used(const struct image *i);
/* Returns how many bytes are free when the images that are marked as gone are;
 * perhaps less than that, never more. */
uint64_t images_freed(const struct images *is);
/* Returns the image as the API tells it; a new reference, NULL without
 * memory. */
json_t *image_json(const struct image *i);

#endif
