/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procs.h - parses the output of a sandbox's ps; no side effects
 */
#ifndef CONTROL_ACD_GUEST_PROCS_H
#define CONTROL_ACD_GUEST_PROCS_H

#include <jansson.h>

#include "lib/slice.h"

#define PROCS_MAX 4096u /* rows */
#define PROCS_COMMAND_MAX 512u /* bytes of a command, NUL included */

/* The command to run in the sandbox; NULL-terminated. */
extern const char *const procs_argv[];

/*
 * Parses its output, which is hostile: malformed rows are left out, and so is
 * one without a newline, and rows after PROCS_MAX. Returns a new array of
 * objects (pid, ppid, user, state, cpu_percent, rss in bytes, elapsed_s,
 * command) whose texts are as hostile, or NULL without memory.
 */
json_t *procs_parse(struct slice text);

#endif
