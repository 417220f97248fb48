/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.h - asks engine, runtime, store and blueprints about all images, and
 * removes one
 */
#ifndef CONTROL_ACD_IMAGE_GATHER_H
#define CONTROL_ACD_IMAGE_GATHER_H

#include "control/acd/image/use.h"
#include "control/acd/runtime/engine.h"
#include "control/acd/storage/store.h"
#include "control/runtime.h"
#include "lib/loop.h"

/* All borrowed; they must live until the last callback. */
struct images_world {
	struct loop *loop;
	struct engine *engine;
	struct runtime *runtime;
	struct store *store;
};

/* @is: all images, settled; now owned by the callee, empty on failure. @err:
 * NULL on success. */
typedef void (*images_fn)(void *arg, struct images *is, const struct err *err);

/* Finds out about all images. Returns 0, and calls @fn once, later; or a
 * negative errno, and there is no callback. */
int images_gather(const struct images_world *w, images_fn fn, void *arg);

/* Removes an image with all its tags; @i is borrowed for the call. The engine
 * refuses if a container has it. Returns 0, and calls @fn once, later, with
 * -EBUSY if a sandbox has it; or a negative errno, and there is no callback. */
int image_remove(const struct images_world *w, const struct image *i,
		 runtime_done_fn fn, void *arg);

#endif
