/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known.h - what acd knows of images without asking the engine
 */
#ifndef CONTROL_ACD_BLUEPRINT_KNOWN_H
#define CONTROL_ACD_BLUEPRINT_KNOWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/str.h"

struct known_image {
	LIST_ENTRY(known_image) link;
	char *name;
	unsigned ensured; /* known_count() */
	uint64_t bytes; /* known_size() */
};

struct known {
	struct strv ready; /* images that acd has ensured since @stamp */
	struct strv noted; /* images seen in the engine */
	LIST_HEAD(known_images, known_image) images;
	/* The user's blueprints and presets, and the stamp of both; kept by
	 * reference. */
	const char *folders[2];
	uint64_t stamp; /* when they were looked at last */
};

/* Begins with nothing; known_done() frees what came to be known. */
void known_init(struct known *k, const char *blueprints, const char *presets);
void known_done(struct known *k);
/* Returns true if acd has ensured @image since the last change in the folders,
 * which this looks for. What a change of one file means for which image only the
 * build script knows, so all are checked again, each when it is needed. */
bool known_is_ready(struct known *k, const char *image);
/* Returns true if the image is there, according to that or to known_note(). */
bool known_is_present(const struct known *k, const char *image);
/* Returns how often acd has built or checked the image. */
unsigned known_count(const struct known *k, const char *image);
/* Returns the size of an image in bytes; 0: not known. */
uint64_t known_size(const struct known *k, const char *image);
/* Returns the stamp of the folders as they are now, for known_ensured(). */
uint64_t known_look(struct known *k);
/* Records that acd has built or checked @image, whose build began at @stamp; its
 * size is not known then. If the folders have changed since, it is not ready. */
void known_ensured(struct known *k, const char *image, uint64_t stamp);
/* Records that the engine has @image, and its size; 0: unknown. */
void known_note(struct known *k, const char *image, uint64_t bytes);
/* Forgets that @image was ensured or noted. NULL: all images. */
void known_forget(struct known *k, const char *image);

#endif
