/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - the kernel's word on who is at the other end of a socket, tested
 */
#ifndef INIT_GUARD_PEER_H
#define INIT_GUARD_PEER_H

#include <sys/types.h>

#include "lib/err.h"

/* A socket that a stranger can connect to; the caller closes it. */
int peer_listen(struct err *err) ATTR_WUR;
/* The stranger's part, in a process of its own: tries to pass for root, then
 * says something under its own name. System calls only; 0, or a step. */
int peer_speak(void);
/* Once the stranger has ended, but before it is reaped: is it known as the
 * process @pid with uid and gid @id, and nothing else? */
int peer_judge(int listener, pid_t pid, uid_t id, struct err *err) ATTR_WUR;

#endif
