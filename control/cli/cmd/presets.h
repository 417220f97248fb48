/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets.h - `ac presets`: what policies and blueprints may name
 */
#ifndef CONTROL_CLI_CMD_PRESETS_H
#define CONTROL_CLI_CMD_PRESETS_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Commands; see struct command in control/cli/commands.h. */
int cmd_presets_ls(const struct cli *cli, const struct args *a,
		   struct err *err);
int cmd_presets_show(const struct cli *cli, const struct args *a,
		     struct err *err);

#endif
