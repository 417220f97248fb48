/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - commands that put something into a sandbox and stay with it
 *
 * Each returns what to exit with: the code of what ran, or a negative errno
 * of our own failure, which @err describes.
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
