/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool.h - what a tool of the MCP server is
 */
#ifndef CONTROL_CLI_MCP_TOOL_H
#define CONTROL_CLI_MCP_TOOL_H

#include <jansson.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "lib/err.h"
#include "lib/schema.h"

/* Called when the run has begun, with the name of its instance. */
typedef void (*mcp_begun_fn)(void *arg, const char *name);
/*
 * Runs what @a says, as `ac run` does, and calls @begun. Returns when the run has
 * ended, or at once with --detach, also if the instance runs already. Returns a
 * negative errno with @err if it did not begin, else 0 or more.
 */
typedef int (*mcp_run_fn)(const struct cli *cli, const struct args *a,
			  mcp_begun_fn begun, void *arg, struct err *err);

/* What `ac mcp` was asked for; read only. */
struct mcp_opts {
	const struct cli *cli;
	const struct args *args; /* its options, for the runs */
	const char *blueprint;
	const char *name; /* of the instance to use; NULL: one of its own */
	const char *shell;
	uint64_t timeout_ms; /* of a command that names none */
	uint64_t output_max; /* bytes of a command's output */
	const char *about; /* in the place of a tool's description; NULL */
	const char *about_more; /* after it; NULL */
	bool full; /* many sandboxes, not one of the session */
	mcp_run_fn run;
};

struct tool_call {
	const struct mcp_opts *o;
	const char *sandbox; /* of the session; NULL: a tool without one */
	json_t *args; /* an object that fits the tool's schema */
};

struct tool {
	const char *name, *title;
	const char *about;
	const struct schema *takes; /* a map */
	const struct schema *gives; /* a map; NULL: any object */
	/* It runs in the sandbox of the session, which is started for it, and
	 * one call waits for the other. */
	bool session;
	bool reads; /* it changes nothing */
	/* It is no tool but another request: its result is that of the request,
	 * and its failure an error of JSON-RPC. */
	bool raw;
	/* Checks what the schema cannot say. Returns 0 or -EINVAL with a message
	 * for the model. NULL: nothing more. */
	int (*check)(const struct tool_call *c, struct err *err);
	/* Does it, in a job. Returns 0 with the result, a new reference to an
	 * object, or a negative errno with @err. */
	int (*run)(const struct tool_call *c, json_t **ret, struct err *err);
};

/* Returns the entry of "tools/list": a new reference, NULL without memory. */
json_t *tool_entry(const struct tool *t, const struct mcp_opts *o);

/* Checks the arguments of a call. Returns 0 or -EINVAL with a message for the
 * model. */
int tool_check(const struct tool *t, const struct tool_call *c,
	       struct err *err);

/* Return the result of "tools/call": a new reference, NULL without memory.
 * @what, the tool's own result, is borrowed. */
json_t *tool_result(json_t *what);
json_t *tool_failure(const char *text);

#endif
