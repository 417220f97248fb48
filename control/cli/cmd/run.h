/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - commands that start a process in a sandbox and stay with it
 *
 * Each returns the exit code: that of the process, or a negative errno of a
 * failure of ours, which @err describes.
 */
#ifndef CONTROL_CLI_CMD_RUN_H
#define CONTROL_CLI_CMD_RUN_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

int cmd_run(const struct cli *cli, const struct args *a, struct err *err);
int cmd_shell(const struct cli *cli, const struct args *a, struct err *err);
int cmd_exec(const struct cli *cli, const struct args *a, struct err *err);
int cmd_attach(const struct cli *cli, const struct args *a, struct err *err);

#endif
