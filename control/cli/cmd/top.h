/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top.h - the processes of a sandbox
 */
#ifndef CONTROL_CLI_CMD_TOP_H
#define CONTROL_CLI_CMD_TOP_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Command; see struct command in control/cli/commands.h. */
int cmd_top(const struct cli *cli, const struct args *a, struct err *err);

#endif
