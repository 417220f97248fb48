/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build.h - image builds in the nested engine: one child a time, its
 * progress lines fanned out to everybody who waits
 *
 * Runs AC_SHARE/images/build.sh ensure NAME. An image that was ensured once
 * in this life of acd is not looked at again until build_forget().
 */
#ifndef CONTROL_ACD_BLUEPRINT_BUILD_H
#define CONTROL_ACD_BLUEPRINT_BUILD_H

#include <stdbool.h>

#include "control/acd/daemon/children.h"
#include "lib/err.h"
#include "lib/loop.h"

struct builds;
struct build_wait;

enum build_flag {
	BUILD_NO_CACHE = 1, /* builds again, what failed too */
	BUILD_FORCE = 2, /* looks at it even if it was ensured in this life */
	BUILD_RETRY = 4, /* builds what failed and has not changed since */
};

/* @line: a progress line without newline (escaped), NULL at the end; then
 * @err tells how it went (NULL: well). */
typedef void (*build_fn)(void *arg, const char *line, const struct err *err);

struct builds *builds_new(struct loop *loop, struct children *children);
/* Kills what runs; waiters hear nothing any more. NULL is fine. */
void builds_free(struct builds *b);
/* Another program than AC_SHARE/images/build.sh (tests); kept by reference. */
void builds_set_script(struct builds *b, const char *path);
/* Ensured in this life: nothing has to be looked at before a run. */
bool build_is_ready(struct builds *b, const char *image);
/* How often in this life it was built or looked at: what was made of it
 * before the last time may be of an older one. */
unsigned build_count(const struct builds *b, const char *image);
/* It is there, by that or by build_note(); its inputs may have changed. */
bool build_is_present(struct builds *b, const char *image);
/* The engine was seen to have it. */
void build_note(struct builds *b, const char *image);
/* Joins a build of the same image that is under way, else queues one.
 * @flags: of enum build_flag. @fn never runs before this has returned; its call
 * with a NULL line is the last, and the waiter is gone by then. NULL with errno
 * without memory. */
struct build_wait *build_ensure(struct builds *b, const char *image,
				unsigned flags, build_fn fn, void *arg);
/* The waiter lost interest (never after its last call); the build ends when
 * nobody waits any more. */
void build_leave(struct build_wait *w);
void build_forget(struct builds *b, const char *image); /* NULL: all */
#endif
