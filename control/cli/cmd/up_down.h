/* SPDX-License-Identifier: Apache-2.0 */
/*
 * up_down.h - commands about ac-host as a whole
 */
#ifndef CONTROL_CLI_CMD_UP_DOWN_H
#define CONTROL_CLI_CMD_UP_DOWN_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Commands; see struct command in control/cli/commands.h. */
int cmd_start(const struct cli *cli, const struct args *a, struct err *err);
int cmd_stop(const struct cli *cli, const struct args *a, struct err *err);
int cmd_restart(const struct cli *cli, const struct args *a, struct err *err);
int cmd_down(const struct cli *cli, const struct args *a, struct err *err);
int cmd_status(const struct cli *cli, const struct args *a, struct err *err);
int cmd_version(const struct cli *cli, const struct args *a, struct err *err);

#endif
