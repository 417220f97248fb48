/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - splits a stream of bytes into lines of bounded length
 */
#ifndef CONTROL_CLI_MCP_FEED_H
#define CONTROL_CLI_MCP_FEED_H

#include "lib/buf.h"

struct feed {
	struct buf buf; /* the beginning of a line */
	bool skips; /* the line is too long: it is dropped up to its end */
};

/* Takes a line without its end and the blanks around it; empty ones are left out.
 * @line.ptr is NULL for a line that is too long, of which nothing is kept. @line
 * is valid during the call. */
typedef void (*feed_fn)(void *arg, struct slice line);

/* Sets @l to the beginning of a stream whose lines have at most @max bytes. */
void feed_init(struct feed *l, size_t max);
void feed_done(struct feed *l); /* accepts zeroed */
/* Takes the next @len bytes and calls @fn for each line that they end. Returns 0
 * or -ENOMEM. */
int feed_take(struct feed *l, const void *data, size_t len, feed_fn fn,
	      void *arg) ATTR_WUR;

#endif
