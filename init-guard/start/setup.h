/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.h - from an arbitrary start by the runtime to a PID 1 without rights
 *
 * Functions return 0, or a negative errno with @err.
 */
#ifndef INIT_GUARD_START_SETUP_H
#define INIT_GUARD_START_SETUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

#define AGENT_UID 1000
#define AGENT_GID 1000
#define AGENT_HOME "/home/node"
#define AGENT_WORKSPACE "/workspace"

/* Exit codes of init-guard. */
#define GUARD_EXIT_LINK 70 /* the link ended or was invalid */
#define GUARD_EXIT_UNSAFE 78 /* the runtime or the image is not safe */

/* Must be called first: opens 0-2 if closed, closes all others, forbids dumps
 * and core files, changes to /, blocks signals, destroys the environment.
 * Signals that the runtime left ignored stay so: proc_signals_default(). */
int setup_early(struct err *err);
/* Fails with -EPERM unless this process is PID 1 and root. Drops the
 * supplementary groups. */
int setup_be_init(struct err *err);
/* Moves the link away from descriptors 0 and 1, which become /dev/null, so that
 * no child inherits it by accident. *@ret_in and *@ret_out are CLOEXEC,
 * non-blocking and the caller's. */
int setup_take_link(int *ret_in, int *ret_out, struct err *err);
/* Makes home and workspace usable by the agent. */
int setup_places(struct err *err);
/*
 * Empties the bounding set and keeps only the capabilities that PID 1 needs to
 * start and stop execs (KILL SETUID SETGID CHOWN) and, if @nameless, SYS_ADMIN
 * to set its host name, which setup_drop_rest() drops after that. Both verify
 * the result.
 */
int setup_drop_caps(bool nameless, struct err *err);
int setup_drop_rest(struct err *err);

#endif
