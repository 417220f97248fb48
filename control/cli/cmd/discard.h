/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discard.h - drops what an instance has changed in its copy of a directory
 */
#ifndef CONTROL_CLI_CMD_DISCARD_H
#define CONTROL_CLI_CMD_DISCARD_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* A command; see struct command in control/cli/commands.h. */
int cmd_discard(const struct cli *cli, const struct args *a, struct err *err);

#endif
