/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treejob.h - works on directory trees without blocking the loop
 */
#ifndef CONTROL_ACD_STORAGE_TREEJOB_H
#define CONTROL_ACD_STORAGE_TREEJOB_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/loop.h"

struct treejob;

/* Called once, from the loop. @err: NULL on success; -EIO if the child died. */
typedef void (*treejob_fn)(void *arg, const struct err *err);
/* Runs in the child, where it may block. Returns 0, or a negative errno with
 * @err filled. */
typedef int (*treejob_work)(const void *what, struct err *err);

/* Runs @work in a child process, which has a copy of all memory, so that @what
 * is borrowed for the call only. Calls @fn when @work has ended; *ret is freed
 * then. Returns 0, or a negative errno with @err, and there is no callback. */
int treejob_run(struct loop *loop, treejob_work work, const void *what,
		treejob_fn fn, void *arg, struct treejob **ret,
		struct err *err);
#define TREEJOB_OUT_FD 5
/* The same for a @work that writes to TREEJOB_OUT_FD, which is @out (borrowed) in
 * the child; -1: there is none. */
int treejob_run_to(struct loop *loop, treejob_work work, const void *what,
		   int out, treejob_fn fn, void *arg, struct treejob **ret,
		   struct err *err);
/* Removes @paths (NULL-terminated, borrowed for the call; missing ones are
 * fine) and all below them in a child, by treejob_run(). Calls @fn when all are
 * gone or one could not be removed. Returns like treejob_run(). */
int treejob_start(struct loop *loop, const char *const *paths, treejob_fn fn,
		  void *arg, struct treejob **ret, struct err *err);
/* Asks the child to stop. @fn is still called: soon, with -ECANCELED, if @work
 * looks at treejob_is_canceled(); else when it has ended. NULL is fine. */
void treejob_cancel(const struct treejob *j);
/* Returns true if treejob_cancel() was called; @work should then undo its
 * changes, or leave them so that another call can go on, and return -ECANCELED.
 * Returns false in any process but the child. */
bool treejob_is_canceled(void);
/* Drops the callback and frees @j; the child goes on. NULL is fine. */
void treejob_forget(struct treejob *j);

#endif
