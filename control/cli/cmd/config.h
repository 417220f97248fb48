/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - commands about $AC_HOME/config.yaml
 */
#ifndef CONTROL_CLI_CMD_CONFIG_H
#define CONTROL_CLI_CMD_CONFIG_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Commands; see struct command in control/cli/commands.h. */
int cmd_config_ls(const struct cli *cli, const struct args *a, struct err *err);
int cmd_config_get(const struct cli *cli, const struct args *a,
		   struct err *err);
int cmd_config_set(const struct cli *cli, const struct args *a,
		   struct err *err);
int cmd_config_unset(const struct cli *cli, const struct args *a,
		     struct err *err);
int cmd_config_edit(const struct cli *cli, const struct args *a,
		    struct err *err);

#endif
