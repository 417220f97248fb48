/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest.h - does this runtime keep the promises that the design needs?
 *
 * Run as PID 1 of a throw-away sandbox, as root with CHOWN KILL SETUID
 * SETGID SETPCAP SYS_ADMIN SYS_PTRACE.
 */
#ifndef INIT_GUARD_SELFTEST_H
#define INIT_GUARD_SELFTEST_H

#include <sys/types.h>

#include "lib/err.h"

#define SELFTEST_EUID "--self-test-euid"
#define SELFTEST_STRANGER 65533 /* a uid that nobody has */

/*
 * Prints TAP on stdout, and as last line "# self-test passed" or
 * "# self-test FAILED: <first reason>". Returns the exit code, 0 or 78.
 */
int selftest_run(void);
/* What the setuid copy of this program does: prints "euid egid". */
int selftest_print_ids(void);

/* ---- between the files of the self-test ---- */

typedef int (*selftest_fn)(void *arg);

/* The kernel's word on who is at the other end of a socket. */
int selftest_peer(struct err *err);

/*
 * Runs @fn in a forked child with that uid and gid (and no capability unless
 * 0); its result, 0 to 255, or -errno when the child did not get that far.
 */
int selftest_as(uid_t id, selftest_fn fn, void *arg);
/* The first half of selftest_as(): the child's pid, or -errno. */
pid_t selftest_fork_as(uid_t id, selftest_fn fn, void *arg);

#endif
