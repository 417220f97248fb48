/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.h - the bytes of a file or a log, up to a limit
 */
#ifndef CONTROL_CLI_MCP_BYTES_H
#define CONTROL_CLI_MCP_BYTES_H

#include "control/cli/mcp/scope.h"
#include "lib/buf.h"

/*
 * Gets what "/v1/instances/ID@rest" answers, for the argument "id": at most @max
 * bytes. Sets *ret_cut if there is more. @ret is initialised here, and the caller
 * calls buf_done() in any case. Returns 0 or a negative errno with @err.
 */
int bytes_read(const struct tool_call *c, const char *rest, uint64_t max,
	       struct buf *ret, bool *ret_cut, struct err *err);

#endif
