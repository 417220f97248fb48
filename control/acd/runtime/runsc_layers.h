/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_layers.h - mounts the layers of the engine's images for sandboxes
 */
#ifndef CONTROL_ACD_RUNTIME_RUNSC_LAYERS_H
#define CONTROL_ACD_RUNTIME_RUNSC_LAYERS_H

#include "control/acd/runtime/engine.h"
#include "lib/err.h"
#include "lib/loop.h"

#define LAYERS_MAX 128u /* of one image; the engine's own limit */
#define LAYERS_ROOT "/var/lib/docker/overlay2"
/* Of the containers that hold an image; they are never started. */
#define LAYERS_LABEL "ac.layers"

struct layers;
struct layers_image;

/* @dir: the folder where images are mounted, copied; made when needed. @engine
 * is borrowed. Returns NULL without memory. */
struct layers *layers_new(struct loop *loop, struct engine *engine,
			  const char *dir);
/* Unmounts all images and frees @ls. No image may be in use and no call of
 * layers_get() open any more. NULL is fine. */
void layers_free(struct layers *ls);

/* @img: a reference, which the callee drops by layers_put(); NULL on failure.
 * @err: NULL on success; -ENOENT without such an image, -ENOTSUP if the engine
 * does not store layers as directories of an overlay, or another failure of a
 * call to the engine or of the mount. */
typedef void (*layers_fn)(void *arg, struct layers_image *img,
			  const struct err *err);
/* Gets the image that @name (copied) means now, mounted. While it is mounted
 * the engine keeps it, also if the name gets another image. Returns 0, and
 * calls @fn once, later; or a negative errno, and there is no callback. */
int layers_get(struct layers *ls, const char *name, layers_fn fn, void *arg);
/* Drops a reference. The image stays mounted for the next sandbox, unless its
 * name has a newer one. */
void layers_put(struct layers_image *img);

/* Returns the engine's id of it, "sha256:…", borrowed. */
const char *layers_id(const struct layers_image *img);
/* Returns the directory with its files, read-only and borrowed. It has every
 * place and every cover of runsc_spec.h. */
const char *layers_path(const struct layers_image *img);
/*
 * Mounts its files at @target writable; what is written goes to @dir. Makes
 * both directories. The caller unmounts @target. A child of acd may call it
 * too. Returns 0, -E2BIG if the image has too many layers for that, or another
 * negative errno.
 */
int layers_mount_rw(const struct layers_image *img, const char *dir,
		    const char *target);

/* Unmounts all images that are not in use, so that the engine may remove them.
 * Returns 0, or -EBUSY if others are in use. */
int layers_drop(struct layers *ls);
/* Does that with the image of the engine's @id; one that is not mounted is
 * fine. Returns 0, or -EBUSY if it is in use. */
int layers_release(struct layers *ls, const char *id);

/* The layers of ours: below an image's, and above them. */
struct layers_own {
	const char *base, *top;
};
/*
 * Makes the mount option "lowerdir=..." for the layers @upper and @lower
 * (separated by colons, @lower perhaps ""), as the engine tells them, between
 * those of @own; it has the layers' short names relative to @root. The caller
 * frees *ret. Returns 0, -ENOTSUP if these are no directories of layers below
 * @root, -E2BIG for too many, or -ENOMEM.
 */
int layers_option(const char *root, const char *upper, const char *lower,
		  const struct layers_own *own, char **ret);

#endif
