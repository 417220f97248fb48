/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - the sandbox of a session
 *
 * It is started when it is first wanted. An own one (without --name) is the run of
 * a job: acd ends it, and removes it, when that job ends, however it does. So no
 * sandbox outlives the server, also if that is killed.
 */
#ifndef CONTROL_CLI_MCP_SANDBOX_H
#define CONTROL_CLI_MCP_SANDBOX_H

#include <stdbool.h>

#include "control/cli/mcp/tool.h"
#include "lib/loop.h"

enum sandbox_state { SANDBOX_NONE, SANDBOX_STARTING, SANDBOX_READY };

struct sandbox_ops {
	/* It has become ready, or could not be started: then @why says why, and
	 * it is SANDBOX_NONE again. */
	void (*started)(void *arg, const char *why);
	/* sandbox_end() is done. */
	void (*ended)(void *arg);
};

struct sandbox;

/* Starts nothing. @o and @ops are kept by reference. Returns NULL without memory. */
struct sandbox *sandbox_new(struct loop *l, const struct mcp_opts *o,
			    const struct sandbox_ops *ops, void *arg);
/* Kills the job that has it. NULL is fine. */
void sandbox_free(struct sandbox *s);

enum sandbox_state sandbox_state(const struct sandbox *s);
/* Returns the name of the instance; "" before the first start. */
const char *sandbox_name(const struct sandbox *s);

/* Begins to start it, if it is SANDBOX_NONE. Returns 0, or a negative errno with
 * @err. */
int sandbox_want(struct sandbox *s, struct err *err);
/* Returns true, once, if it ended by itself after it was ready. */
bool sandbox_was_lost(struct sandbox *s);
/* It did not answer as a sandbox that runs: it counts as ended. */
void sandbox_drop(struct sandbox *s);
/* Ends an own one, politely at first, and calls ended(), in any case. */
void sandbox_end(struct sandbox *s);

#endif
