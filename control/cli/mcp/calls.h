/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - the requests of a client that take time
 */
#ifndef CONTROL_CLI_MCP_CALLS_H
#define CONTROL_CLI_MCP_CALLS_H

#include "control/cli/mcp/protocol.h"
#include "control/cli/mcp/stdio.h"
#include "control/cli/mcp/tool.h"

#define CALLS_MAX 64u /* at once, waiting ones included */

struct calls;

/* Starts nothing. @o is kept by reference, @ended is called when calls_end() is
 * done. Returns NULL without memory. */
struct calls *calls_new(struct loop *l, struct stdio *out,
			const struct mcp_opts *o, void (*ended)(void *arg),
			void *arg);
/* Kills what runs. NULL is fine. */
void calls_free(struct calls *c);

/* Serves a request by @t and answers it, then or later. @args is an object,
 * borrowed; NULL: without arguments. */
void calls_begin(struct calls *c, const struct tool *t,
		 const struct protocol_request *rq, json_t *args);
/* Kills the request with this id, if there is one; it gets no answer. */
void calls_cancel(struct calls *c, const json_t *id);
/* Kills all requests, and ends the sandbox of the session. */
void calls_end(struct calls *c);

#endif
