/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reap.h - the dead and those who must die: PID 1's duties
 */
#ifndef INIT_GUARD_REAP_H
#define INIT_GUARD_REAP_H

#include <sys/resource.h>
#include <sys/types.h>

typedef void (*reap_fn)(void *arg, pid_t pid, int status,
			const struct rusage *usage);

/*
 * Reaps every child that is dead, orphans included, and tells @fn of each.
 * Returns 1 while there are living children, 0 when there is none at all.
 */
int reap_all(reap_fn fn, void *arg);

/* KILLs every process of a session, in whatever process group. */
void reap_kill_session(pid_t session);

/*
 * KILLs everything but PID 1 and reaps it, for at most @ms: a process that
 * the kernel holds is left to the end of the sandbox.
 */
void reap_kill_everything(unsigned int ms, reap_fn fn, void *arg);

#endif
