/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.h - serve, token: the API over TCP, for programs
 */
#ifndef CONTROL_CLI_CMD_PROGRAM_ACCESS_H
#define CONTROL_CLI_CMD_PROGRAM_ACCESS_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Commands; as in commands.h. */
int cmd_serve(const struct cli *cli, const struct args *a, struct err *err);
int cmd_token_add(const struct cli *cli, const struct args *a, struct err *err);
int cmd_token_ls(const struct cli *cli, const struct args *a, struct err *err);
int cmd_token_rm(const struct cli *cli, const struct args *a, struct err *err);

#endif
