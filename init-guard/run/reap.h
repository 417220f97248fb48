/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reap.h - PID 1's duties: reaping and killing processes
 */
#ifndef INIT_GUARD_RUN_REAP_H
#define INIT_GUARD_RUN_REAP_H

#include <sys/resource.h>
#include <sys/types.h>

typedef void (*reap_fn)(void *arg, pid_t pid, int status,
			const struct rusage *usage);

/* Reaps every child that is dead now, orphans included, and calls @fn for each;
 * does not wait. Returns 1 while there are living children, otherwise 0. */
int reap_all(reap_fn fn, void *arg);

/* Sends SIGKILL to every process of a session, in all its process groups, in
 * several passes if it forks meanwhile. Does not reap. */
void reap_kill_session(pid_t session);

/* Sends SIGKILL to all processes but PID 1 and reaps them, for at most @ms
 * milliseconds: a process stuck in the kernel remains until the sandbox
 * ends. */
void reap_kill_everything(unsigned int ms, reap_fn fn, void *arg);

#endif
