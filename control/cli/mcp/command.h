/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - one command in a sandbox, from its start to its end
 */
#ifndef CONTROL_CLI_MCP_COMMAND_H
#define CONTROL_CLI_MCP_COMMAND_H

#include <jansson.h>

#include "init-guard/link.h"
#include "lib/buf.h"
#include "lib/err.h"

/* acd's words for a sandbox that is not there, or not any more. */
#define COMMAND_LOST "lost"
#define COMMAND_NOT_RUNNING "not_running"
#define COMMAND_NOT_FOUND "not_found"

struct command {
	const char *sock; /* acd's */
	const char *sandbox; /* the instance */
	const json_t *body; /* of an exec (docs/openapi.json) */
	struct slice
		input; /* for its stdin, if the body says that it has one */
	uint64_t output_max; /* of stdout and stderr together, in bytes */
};

struct command_end {
	struct buf out, err; /* at most output_max bytes together */
	struct link_exit exit; /* unless @over */
	bool over; /* it wrote more than that, and was killed */
	uint64_t wall_ms;
};

/*
 * Runs it, and waits for its end. Returns 0, and the caller calls
 * command_end_done(). Returns a negative errno with @err if it could not be
 * started, or was lost with its sandbox: then the word of @err is one of those
 * above.
 */
int command_run(const struct command *c, struct command_end *ret,
		struct err *err);
void command_end_done(struct command_end *e); /* accepts zeroed */

/* Returns a text for the model about an end of another kind than that of a program,
 * to be freed; "" if there is nothing to say, NULL without memory. @program is what
 * was to be run. */
char *command_reason(const struct command_end *e, const char *program);
/* Returns what it wrote to stderr, unless @drops, with @why behind it: a new
 * reference, NULL without memory. */
json_t *command_stderr(const struct command_end *e, bool drops,
		       const char *why);

#endif
