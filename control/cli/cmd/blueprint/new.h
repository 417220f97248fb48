/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new.h - `ac blueprint new`: a file to begin with
 */
#ifndef CONTROL_CLI_CMD_BLUEPRINT_NEW_H
#define CONTROL_CLI_CMD_BLUEPRINT_NEW_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* A command; see struct command in control/cli/commands.h. */
int cmd_blueprint_new(const struct cli *cli, const struct args *a,
		      struct err *err);

#endif
