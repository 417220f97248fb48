/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build.h - image builds in the nested engine: one child at a time, whose
 * progress goes to all that wait
 *
 * Runs AC_SHARE/images/build.sh ensure NAME. An image that acd has ensured is
 * not checked again before build_forget(), a change of the user's blueprints or
 * presets, or a restart of acd.
 */
#ifndef CONTROL_ACD_BLUEPRINT_BUILD_H
#define CONTROL_ACD_BLUEPRINT_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "control/acd/daemon/children.h"
#include "lib/err.h"
#include "lib/loop.h"

struct builds;
struct build_wait;

enum build_flag {
	BUILD_NO_CACHE = 1, /* build without the cache, also what failed */
	BUILD_FORCE = 2, /* check even if acd has ensured it */
	BUILD_RETRY = 4, /* also build what failed and has not changed since */
	/* Build nothing, but ask for newer versions of what the image's package
	 * files name (images/build-update.sh). */
	BUILD_UPDATE = 8,
};

/* @line: an escaped progress line without newline. At the end it is NULL, and
 * @err is the result (NULL: success). */
typedef void (*build_fn)(void *arg, const char *line, const struct err *err);

/* Writes the inputs of @image's build that are not files of the user. Returns 0,
 * or a negative errno with @err, which fails the build. */
typedef int (*build_recipe_fn)(const char *image, struct err *err);

/* Returns NULL without memory. */
struct builds *builds_new(struct loop *loop, struct children *children);
/* Kills a running build; waiters get no callback. NULL is fine. */
void builds_free(struct builds *b);
/* For tests: runs another program than AC_SHARE/images/build.sh; kept by
 * reference. */
void builds_set_script(struct builds *b, const char *path);
/* Sets what is called with the image before each build. */
void builds_set_recipe(struct builds *b, build_recipe_fn fn);
/* For tests: the folders of the user's in which a change makes acd check images
 * again; by default AC_STATE_BLUEPRINTS and AC_STATE_PRESETS. Kept by reference. */
void builds_set_folders(struct builds *b, const char *blueprints,
			const char *presets);
/* Returns true if acd has ensured the image, so a run need not wait. */
bool build_is_ready(struct builds *b, const char *image);
/* Returns how often acd has built or checked the image. If it has changed, what
 * was made of the image may be of an older one. */
unsigned build_count(const struct builds *b, const char *image);
/* Returns true if the image is there, according to that or to build_note(). Its
 * inputs may have changed. */
bool build_is_present(const struct builds *b, const char *image);
/* Records that the engine has the image, and its size; 0: unknown. */
void build_note(struct builds *b, const char *image, uint64_t bytes);
/* Returns the size of an image that is there, 0 if it is not known. */
uint64_t build_size(const struct builds *b, const char *image);
/* Joins a running build of the same image, or queues one. @flags: of enum
 * build_flag. Calls @fn never before this has returned; the call with a NULL
 * line is the last, and the waiter is freed by then. Returns NULL with errno
 * without memory. */
struct build_wait *build_ensure(struct builds *b, const char *image,
				unsigned flags, build_fn fn, void *arg);
/* Drops a waiter, before its last callback. A build that none waits for is
 * stopped. */
void build_leave(struct build_wait *w);
/* Forgets that an image was ensured. NULL: all images. */
void build_forget(struct builds *b, const char *image);

#endif
