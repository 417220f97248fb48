/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume.h - directories that instances share: `ac volume …`
 */
#ifndef CONTROL_CLI_CMD_VOLUME_VOLUME_H
#define CONTROL_CLI_CMD_VOLUME_VOLUME_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Commands; see struct command in control/cli/commands.h. */
int cmd_volume_create(const struct cli *cli, const struct args *a,
		      struct err *err);
int cmd_volume_ls(const struct cli *cli, const struct args *a, struct err *err);
int cmd_volume_show(const struct cli *cli, const struct args *a,
		    struct err *err);
int cmd_volume_rm(const struct cli *cli, const struct args *a, struct err *err);

#endif
