/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest_run.h - `acd --self-test`: the verdict on one binary
 */
#ifndef CONTROL_ACD_RUNTIME_SELFTEST_RUN_H
#define CONTROL_ACD_RUNTIME_SELFTEST_RUN_H

/* Runs the self-test with the programs @runsc and, as PID 1 inside, @guard.
 * Prints its output and a verdict on stdout. Returns an exit code: 0 if @runsc
 * is accepted, 1 if it is refused or cannot be tested. The verdict is not
 * stored. */
int selftest_run(const char *runsc, const char *guard);

#endif
