/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch.h - from the words of a user to the command that they mean
 */
#ifndef CONTROL_CLI_DISPATCH_H
#define CONTROL_CLI_DISPATCH_H

#include "control/cli/core/cli.h"

/* Runs the command `ac @argv[1] …`; @argc and @argv are those of main() and may
 * be reordered. Sets options of @cli. Reports failures itself. Returns the exit
 * code. */
int command_dispatch(struct cli *cli, int argc, char **argv);

#endif
