/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest.h - does this runtime keep the promises that the design needs?
 *
 * Run as PID 1 of a throw-away sandbox, as root with CHOWN KILL SETUID
 * SETGID SETPCAP SYS_ADMIN SYS_PTRACE.
 */
#ifndef INIT_GUARD_SELFTEST_H
#define INIT_GUARD_SELFTEST_H

#define SELFTEST_EUID "--self-test-euid"
#define SELFTEST_STRANGER 65533 /* a uid that nobody has */

/*
 * Prints TAP on stdout, and as last line "# self-test passed" or
 * "# self-test FAILED: <first reason>". Returns the exit code, 0 or 78.
 */
int selftest_run(void);
/* What the setuid copy of this program does: prints "euid egid". */
int selftest_print_ids(void);

#endif
