/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treejob.h - work on directory trees without holding up the loop
 */
#ifndef CONTROL_ACD_STORAGE_TREEJOB_H
#define CONTROL_ACD_STORAGE_TREEJOB_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/loop.h"

struct treejob;

typedef void (*treejob_fn)(void *arg, const struct err *err);
/* What is done in the child, where it may block for as long as it takes.
 * 0, or a negative errno with @err filled. */
typedef int (*treejob_work)(const void *what, struct err *err);

/* Does @work in a child process that has a copy of @what as of now; @fn, from
 * the loop, when that has ended. */
int treejob_run(struct loop *loop, treejob_work work, const void *what,
		treejob_fn fn, void *arg, struct treejob **ret,
		struct err *err);
/* Removes @paths (NULL-terminated, borrowed for the call; missing ones are
 * fine) so; @fn when all are gone or one could not be removed. */
int treejob_start(struct loop *loop, const char *const *paths, treejob_fn fn,
		  void *arg, struct treejob **ret, struct err *err);
/* Asks the child to leave off; @fn hears what came of it as ever, soon if
 * @work looks at treejob_is_canceled(). NULL is fine. */
void treejob_cancel(const struct treejob *j);
/* For @work: leave things as they were before, or so that another one can go
 * on, and return -ECANCELED. false in any other process. */
bool treejob_is_canceled(void);
/* Nobody waits any more; the child goes on. NULL is fine. */
void treejob_forget(struct treejob *j);

#endif
