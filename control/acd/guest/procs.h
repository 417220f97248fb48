/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procs.h - the processes of a sandbox, as its own ps tells them; pure
 */
#ifndef CONTROL_ACD_GUEST_PROCS_H
#define CONTROL_ACD_GUEST_PROCS_H

#include <jansson.h>

#include "lib/slice.h"

#define PROCS_MAX 4096u /* rows */
#define PROCS_COMMAND_MAX 512u /* bytes of a command, with a NUL */

extern const char *const procs_argv[]; /* NULL-terminated */

/*
 * Its output, which is hostile: a row that is not as it should be is left out,
 * and so is one that does not end in a newline. A new array of objects (pid,
 * ppid, user, state, cpu_percent, rss, elapsed_s, command), whose text
 * is as hostile; NULL without memory.
 */
json_t *procs_parse(struct slice text);

#endif
