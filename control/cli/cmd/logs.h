/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs.h - logs of the host, its engine, its runtime and its agents
 */
#ifndef CONTROL_CLI_CMD_LOGS_H
#define CONTROL_CLI_CMD_LOGS_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Command; see struct command in control/cli/commands.h. */
int cmd_logs(const struct cli *cli, const struct args *a, struct err *err);

#endif
