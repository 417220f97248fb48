/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.h - from "whatever the runtime started" to a PID 1 without rights
 */
#ifndef INIT_GUARD_SETUP_H
#define INIT_GUARD_SETUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

#define AGENT_UID 1000
#define AGENT_GID 1000
#define AGENT_HOME "/home/node"
#define AGENT_WORKSPACE "/workspace"

/* Exit codes of init-guard. */
#define GUARD_EXIT_LINK 70 /* the link ended or carried nonsense */
#define GUARD_EXIT_UNSAFE 78 /* the runtime or the image is not safe */

/*
 * First of all: 0-2 open, all else closed, no dumps, no core, cwd /, signals
 * blocked with default dispositions, environment destroyed.
 */
int setup_early(struct err *err);
/* -EPERM with @err filled unless this is PID 1 and root. Drops the
 * supplementary groups. */
int setup_be_init(struct err *err);
/*
 * Moves the link away from descriptors 0 and 1, which become /dev/null, so
 * that no child can be started on it by accident. Results are CLOEXEC and
 * non-blocking, and owned by the caller.
 */
int setup_take_link(int *ret_in, int *ret_out, struct err *err);
/* Makes sure that the agent can use its home and its workspace. */
int setup_places(struct err *err);
/*
 * Empties the bounding set and keeps of the permitted set only what PID 1
 * needs to start and stop execs (KILL SETUID SETGID CHOWN) and, with
 * @nameless, SYS_ADMIN to set its host name with, which setup_drop_rest()
 * takes when that is done. Verified.
 */
int setup_drop_caps(bool nameless, struct err *err);
int setup_drop_rest(struct err *err);

#endif
