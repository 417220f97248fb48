/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treejob.h - removing directory trees without holding up the loop
 */
#ifndef CONTROL_ACD_TREEJOB_H
#define CONTROL_ACD_TREEJOB_H

#include "lib/err.h"
#include "lib/loop.h"

#define TREEJOB_PATHS_MAX 4

struct treejob;

typedef void (*treejob_fn)(void *arg, const struct err *err);

/* Removes @paths (NULL-terminated, borrowed for the call; missing ones are
 * fine) in a child process; @fn, from the loop, when all are gone or one
 * could not be removed. */
int treejob_start(struct loop *loop, const char *const *paths, treejob_fn fn,
		  void *arg, struct treejob **ret, struct err *err);
/* Nobody waits any more; the child goes on. NULL is fine. */
void treejob_forget(struct treejob *j);

#endif
