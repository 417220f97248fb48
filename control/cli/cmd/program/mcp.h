/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.h - a server for MCP clients
 */
#ifndef CONTROL_CLI_CMD_PROGRAM_MCP_H
#define CONTROL_CLI_CMD_PROGRAM_MCP_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Command; see struct command in control/cli/commands.h. */
int cmd_mcp(const struct cli *cli, const struct args *a, struct err *err);

#endif
