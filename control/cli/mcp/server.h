/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - an MCP server on stdin and stdout
 */
#ifndef CONTROL_CLI_MCP_SERVER_H
#define CONTROL_CLI_MCP_SERVER_H

#include "control/cli/mcp/tool.h"

/*
 * Serves the client on @in and @out, both borrowed, until it leaves or a signal
 * asks to end: SIGINT, SIGTERM, SIGHUP. An own sandbox has ended then. Returns 0,
 * or a negative errno with @err if it could not begin.
 */
int server_serve(const struct mcp_opts *o, int in, int out, struct err *err);

#endif
