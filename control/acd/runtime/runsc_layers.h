/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_layers.h - the layers of the engine's images, mounted for sandboxes
 */
#ifndef CONTROL_ACD_RUNTIME_RUNSC_LAYERS_H
#define CONTROL_ACD_RUNTIME_RUNSC_LAYERS_H

#include "control/acd/runtime/engine.h"
#include "lib/err.h"
#include "lib/loop.h"

#define LAYERS_MAX 128u /* of one image; the engine's own limit */
#define LAYERS_ROOT "/var/lib/docker/overlay2"

struct layers;
struct layers_image;

/* @dir: where images are mounted, made when needed. @engine is borrowed. */
struct layers *layers_new(struct loop *loop, struct engine *engine,
			  const char *dir);
/* Unmounts all. No image may be held any more. NULL is fine. */
void layers_free(struct layers *ls);

/* @img: held until layers_put(). -ENOENT: no such image; -ENOTSUP: the engine
 * does not store its layers as directories of an overlay. */
typedef void (*layers_fn)(void *arg, struct layers_image *img,
			  const struct err *err);
/* The image that @name is now. While it is held the engine keeps it. @fn
 * once, never before this has returned, but for layers_free(). */
int layers_get(struct layers *ls, const char *name, layers_fn fn, void *arg);
void layers_put(struct layers_image *img);

/* Its files, read-only. Every place of runsc_spec.h is there. */
const char *layers_path(const struct layers_image *img);
/*
 * Mounts its files at @target so that they can be written to; what is written
 * goes to @dir, which is made. For a child of acd as well.
 */
int layers_mount_rw(const struct layers_image *img, const char *dir,
		    const char *target);

/* Lets go of what nobody holds. -EBUSY: somebody holds one. */
int layers_drop(struct layers *ls);

/*
 * The mount option of the layers @upper and @lower, as the engine tells them,
 * over @base: short names relative to @root. -ENOTSUP when it is not
 * such a list, -E2BIG too many. The caller frees *ret.
 */
int layers_option(const char *root, const char *upper, const char *lower,
		  const char *base, char **ret);

#endif
