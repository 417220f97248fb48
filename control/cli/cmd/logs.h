/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs.h - what the host, its engine, its runtime and its agents wrote
 */
#ifndef CONTROL_CLI_CMD_LOGS_H
#define CONTROL_CLI_CMD_LOGS_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

int cmd_logs(const struct cli *cli, const struct args *a, struct err *err);

#endif
