/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.h - `ac apply`: an agent's changes into the user's directory
 */
#ifndef CONTROL_CLI_CMD_APPLY_H
#define CONTROL_CLI_CMD_APPLY_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* A command; see struct command in control/cli/commands.h. */
int cmd_apply(const struct cli *cli, const struct args *a, struct err *err);

#endif
