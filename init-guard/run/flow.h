/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.h - bytes between a program and the link, limited by credit
 */
#ifndef INIT_GUARD_RUN_FLOW_H
#define INIT_GUARD_RUN_FLOW_H

#include "init-guard/wire.h"

/* What the sources and the sink of one channel share. */
struct flow {
	struct wire *wire;
	uint32_t channel;
	uint32_t credit; /* bytes of output that acd still accepts */
	/* called after each event of a source; may free the flow with its
	 * sources */
	void (*progress)(void *arg);
	void *arg;
};

/* Output of the program. */
struct source {
	struct flow *flow;
	enum link_type type; /* STDOUT or STDERR */
	int fd; /* -1 when closed */
	struct loop_io *io; /* NULL when done */
	bool grown; /* the pipe was enlarged */
	bool last; /* the program has ended: only the rest is sent */
	bool done; /* nothing more will be sent */
	size_t left; /* bytes to send at most, if last */
};

/* Initialises a source of @flow, borrowed. Takes ownership of @fd
 * (non-blocking); -1, or no memory, makes a source that is done. End it by
 * source_release(). */
void source_init(struct source *s, struct flow *flow, enum link_type type,
		 int fd);
/* Sends what can be sent now and polls for more if useful. Call it when credit
 * or room on the link has come. */
void source_pump(struct source *s);
/* To be called when the program has ended: makes the next source_pump() calls
 * send what is still in the pipe or terminal, at most 1 MiB, and then end. */
void source_set_last(struct source *s);
/* Ends the source. Returns the descriptor, which the caller owns now, or -1 if
 * it is closed already. */
int source_release(struct source *s);

/* Input of the program. */
struct sink {
	struct flow *flow;
	int fd; /* -1: closed, input is dropped */
	struct loop_io *io; /* only while the program does not read */
	struct buf buf;
	uint32_t window; /* bytes that acd may still send */
	uint32_t owed; /* bytes consumed, for which no credit was sent yet */
	bool accepts; /* STDIN frames are allowed */
	bool tty, grown;
};

/* Initialises a sink of @flow, borrowed. Takes ownership of @fd (non-blocking);
 * -1: input is dropped. @accepts: acd may send input. @tty: @fd is a terminal.
 * End it by sink_close(). */
void sink_init(struct sink *s, struct flow *flow, int fd, bool accepts,
	       bool tty);
/* Writes input to the program, queueing a copy of what it does not read yet; if
 * the program has closed its input, drops it. Returns 0, -EBADMSG if acd may
 * not send it (no input is accepted, or more than its credit), or -ENOMEM. */
int sink_write(struct sink *s, struct slice data) ATTR_WUR;
/* Ends the input after what is queued. Returns 0, or -EBADMSG if it has ended
 * already or none is accepted. */
int sink_eof(struct sink *s) ATTR_WUR;
/* Closes the descriptor and frees what is queued. */
void sink_close(struct sink *s);

#endif
