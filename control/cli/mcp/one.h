/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one.h - the tool sandbox_exec, for which one sandbox a session is enough
 */
#ifndef CONTROL_CLI_MCP_ONE_H
#define CONTROL_CLI_MCP_ONE_H

#include "control/cli/mcp/command.h"
#include "control/cli/mcp/tool.h"

#define ONE_STDIN_MAX (2u * 1024 * 1024)

extern const struct tool one_tool;

/* Returns the result for a command that has ended, whose time limit was @limit_ms: a
 * new reference, NULL without memory. The output of one that was stopped at a limit
 * is left out. */
json_t *one_result(const struct command_end *e, const char *program,
		   uint64_t limit_ms, uint64_t output_max);

#endif
