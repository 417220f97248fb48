/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest.h - tests that a runtime keeps the promises which the design needs
 *
 * Run as PID 1 of a throw-away sandbox, as root with CHOWN KILL SETUID SETGID
 * SETPCAP SYS_ADMIN SYS_PTRACE.
 */
#ifndef INIT_GUARD_START_SELFTEST_H
#define INIT_GUARD_START_SELFTEST_H

#define SELFTEST_EUID "--self-test-euid"
#define SELFTEST_STRANGER 65533 /* a uid without a user */

/* Runs all tests. Prints TAP on stdout, and as last line "# self-test passed"
 * or "# self-test FAILED: <first reason>". Returns the exit code, 0 or 78; ends
 * the process with 78 if a test hangs. */
int selftest_run(void);
/* The main function of the setuid copy of this program: prints "euid egid".
 * Returns the exit code. */
int selftest_print_ids(void);

#endif
