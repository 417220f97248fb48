/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdio.h - the client: its messages on stdin, ours on stdout, one a line
 *
 * Neither waits: what stdout does not take is kept, and while much of it is kept
 * stdin is not read.
 */
#ifndef CONTROL_CLI_MCP_STDIO_H
#define CONTROL_CLI_MCP_STDIO_H

#include <jansson.h>

#include "control/cli/mcp/feed.h"
#include "lib/loop.h"

#define STDIO_LINE_MAX \
	(16u * 1024 * 1024) /* bytes of a message of the client */

struct stdio;

struct stdio_ops {
	/* A message has come; as in feed.h. */
	void (*line)(void *arg, struct slice line);
	/* The client has gone: stdin has ended, or stdout has no reader. Called
	 * once. */
	void (*gone)(void *arg);
};

/* Begins to read @in and to write @out, both borrowed. Returns NULL without memory
 * or, with errno, if they cannot be watched. @ops is kept by reference. */
struct stdio *stdio_new(struct loop *l, int in, int out,
			const struct stdio_ops *ops, void *arg);
/* Writes nothing more. NULL is fine. */
void stdio_free(struct stdio *s);
/* Queues a message, which it takes; NULL (no memory) ends the stream as if the
 * client had gone, since an answer would be missing. */
void stdio_put(struct stdio *s, json_t *message);
/* Reads no more. */
void stdio_deaf(struct stdio *s);
/* Returns true if something is still to be written and can be. */
bool stdio_waits(const struct stdio *s);

#endif
