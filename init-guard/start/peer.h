/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - tests that the kernel reports a socket's peer correctly
 */
#ifndef INIT_GUARD_START_PEER_H
#define INIT_GUARD_START_PEER_H

#include <sys/types.h>

#include "lib/err.h"

/* Returns a socket that any process can connect to, which the caller closes; or
 * a negative errno with @err. */
int peer_listen(struct err *err) ATTR_WUR;
/* Runs in a process of another uid: connects, tries to pass for root, then
 * sends its own credentials. System calls only. Returns 0, or the number of the
 * step that failed. */
int peer_speak(void);
/* Called after that process has ended, but before it is reaped. Returns 0 if
 * the kernel reported exactly the process @pid with uid and gid @id, and the
 * forgery failed; else a negative errno with @err. */
int peer_judge(int listener, pid_t pid, uid_t id, struct err *err) ATTR_WUR;

#endif
