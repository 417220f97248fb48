/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h - the commits of a sandbox, into a repository of the user's
 */
#ifndef CONTROL_CLI_CMD_FETCH_H
#define CONTROL_CLI_CMD_FETCH_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Command; see struct command in control/cli/commands.h. */
int cmd_fetch(const struct cli *cli, const struct args *a, struct err *err);

#endif
