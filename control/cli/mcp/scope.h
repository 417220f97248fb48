/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope.h - which instances a client may see and change: those whose names begin with
 * "mcp-", and the one that --name names
 *
 * A model must not reach what its user runs otherwise. What it makes keeps its name,
 * so a later session finds it.
 */
#ifndef CONTROL_CLI_MCP_SCOPE_H
#define CONTROL_CLI_MCP_SCOPE_H

#include "control/cli/mcp/tool.h"
#include "control/cli/wire/client.h"
#include "control/shared/paths.h"

#define SCOPE_PREFIX "mcp-"

/* Returns true if the client may see the instance @name. */
bool scope_has(const struct mcp_opts *o, const char *name);
/* Returns the argument "id" of a call, borrowed, in *@ret. Returns 0, or -ENOENT
 * with the word "not_found" if the client may not see an instance of this name. */
int scope_id(const struct tool_call *c, const char **ret, struct err *err);
/* Sets the name of a new instance: "mcp-" and @wish, or a random one if it is
 * NULL. Returns 0 or -EINVAL. */
int scope_new_name(const char *wish, char ret[AC_NAME_MAX + 1],
		   struct err *err);

/* Calls "/v1/instances/ID@rest" of acd, for the argument "id"; ac-host is started if
 * it is not there. Returns as client_call(). */
int scope_call(const struct tool_call *c, const char *method, const char *rest,
	       const json_t *body, json_t **ret, struct err *err);
/* Gets another path in the same way. */
int scope_ask(const struct tool_call *c, const char *path, json_t **ret,
	      struct err *err);

/* Returns what a client is told of the instance with this record: a new
 * reference, NULL without memory. */
json_t *scope_view(const json_t *rec);

/* Returns a new object with the members of @from that @keys, which ends with NULL,
 * names, unless they are null; NULL without memory. */
json_t *scope_pick(const json_t *from, const char *const *keys);

#endif
