/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.h - acd is PID 1: reaps all children, and reports those that are
 * watched
 *
 * Others (containerd shims, orphans) are reaped silently.
 */
#ifndef CONTROL_ACD_DAEMON_CHILDREN_H
#define CONTROL_ACD_DAEMON_CHILDREN_H

#include <sys/types.h>

#include "lib/err.h"

struct children;

typedef void (*child_fn)(void *arg, pid_t pid, int status); /* wait status */

/* Returns NULL without memory. */
struct children *children_new(void);
/* Frees the table; the processes go on, and no callback comes. NULL is fine. */
void children_free(struct children *c);
/* Calls @fn once when @pid ends. To be called right after the spawn, before the
 * loop runs again. Returns 0, -EINVAL if @pid is not positive, or -ENOMEM. */
int children_watch(struct children *c, pid_t pid, child_fn fn, void *arg);
/* Drops the callback of @pid, which is still reaped. A @pid that is not watched
 * is fine. */
void children_forget(struct children *c, pid_t pid);
/* To be called on SIGCHLD: reaps all that have ended and calls their
 * watchers. */
void children_reap(struct children *c);

#endif
