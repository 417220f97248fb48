/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.h - acd is PID 1: who wants to hear of which child's end
 *
 * Everything else that ends (containerd shims, orphans) is reaped silently.
 */
#ifndef CONTROL_ACD_DAEMON_CHILDREN_H
#define CONTROL_ACD_DAEMON_CHILDREN_H

#include <sys/types.h>

#include "lib/err.h"

struct children;

typedef void (*child_fn)(void *arg, pid_t pid, int status); /* wait status */

struct children *children_new(void);
void children_free(struct children *c);
/* Calls @fn once when @pid ends; call right after the spawn, before the loop
 * runs again. */
int children_watch(struct children *c, pid_t pid, child_fn fn, void *arg);
void children_forget(struct children *c, pid_t pid); /* still reaped */
/* On SIGCHLD: reaps all that ended, calls the watchers. */
void children_reap(struct children *c);

#endif
