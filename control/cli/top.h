/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top.h - the processes of a sandbox, as its own ps tells them
 */
#ifndef CONTROL_CLI_TOP_H
#define CONTROL_CLI_TOP_H

#include <jansson.h>

#include "control/cli/args.h"
#include "control/cli/cli.h"
#include "lib/slice.h"

/*
 * Rows of "PID USER %CPU RSS ELAPSED COMMAND", one process a line; the
 * command goes to the end of the line. *ret: an array of objects, or NULL
 * without memory. The text is the sandbox's: what does not fit is left out,
 * odd bytes are escaped, at most TOP_ROWS_MAX rows are taken. Pure.
 */
#define TOP_ROWS_MAX 4096u
json_t *top_parse(struct slice text);

int cmd_top(const struct cli *cli, const struct args *a, struct err *err);

#endif
