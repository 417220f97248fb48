/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.h - one process of a sandbox, or a connection to a port of it: acd's link
 * as frames that come, and frames that wait to go
 *
 * acd sends no more output than credit was given for, and takes no more input
 * than it gave credit for: LINK_WINDOW each to begin with.
 */
#ifndef CONTROL_CLI_SSH_EXEC_H
#define CONTROL_CLI_SSH_EXEC_H

#include <jansson.h>

#include "init-guard/link.h"
#include "lib/err.h"

struct exec {
	int fd; /* non-blocking; -1: none */
	uint8_t *rx; /* NULL: none */
	size_t start, end; /* bytes that have come are rx[start..end) */
	struct buf in; /* input that waits, at most a window */
	struct buf tx; /* frames for acd */
	bool eof; /* that is all of the input, which acd is to be told */
	uint32_t due; /* credit that was not given back yet */
};

/* Sets @x to none. */
void exec_init(struct exec *x);
/* Closes the link, which ends a process that has not ended. Accepts what is
 * closed. */
void exec_done(struct exec *x);

/* Starts in the instance @name, by acd at @sock, what @body says: that of an exec
 * (docs/openapi.json). Waits for acd's answer. Returns 0 or a negative errno with
 * @err. */
int exec_start(struct exec *x, const char *sock, const char *name,
	       const json_t *body, struct err *err);

/* Reads what has come, and may move what was taken. Returns 0, or -ECONNRESET if
 * acd has gone. */
int exec_receive(struct exec *x) ATTR_WUR;
/* Takes a frame; its payload is valid until exec_receive(). Returns 1, 0 if none
 * is complete, or -EPROTO. */
int exec_next(struct exec *x, struct link_frame *ret) ATTR_WUR;

/* Queues input, of which no more than acd gave credit for may come. Returns 0 or
 * -ENOBUFS. */
int exec_stdin(struct exec *x, struct slice data) ATTR_WUR;
/* Ends the input, after what is queued. */
void exec_eof(struct exec *x);
/* Returns true if something waits to be sent. */
bool exec_waits(const struct exec *x);

/* Queue frames. Return 0 or -ENOBUFS. */
int exec_signal(struct exec *x, uint32_t signo) ATTR_WUR;
int exec_resize(struct exec *x, uint16_t rows, uint16_t cols) ATTR_WUR;
/* Gives credit for @len bytes of output, a part of a window at a time. */
int exec_taken(struct exec *x, size_t len) ATTR_WUR;
/* Sends SIGHUP, as when a terminal is lost, and closes the link: a process that
 * ignores it goes on by itself. */
void exec_hang_up(struct exec *x);
/* Sends what is queued, as far as acd takes it. After a failure nothing more can
 * be sent, and what has come is still to be read. */
void exec_flush(struct exec *x);

#endif
