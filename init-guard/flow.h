/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.h - bytes between a program and the link, under credit
 */
#ifndef INIT_GUARD_FLOW_H
#define INIT_GUARD_FLOW_H

#include "init-guard/wire.h"

/* What the sources and the sink of one channel have in common. */
struct flow {
	struct wire *wire;
	uint32_t channel;
	uint32_t credit; /* bytes of output that the host still takes */
	void (*progress)(void *arg); /* after any event of a source; may free */
	void *arg;
};

/* Output of the program. */
struct source {
	struct flow *flow;
	enum link_type type; /* STDOUT or STDERR */
	int fd; /* -1 after its end */
	struct loop_io *io; /* NULL when done */
	bool shared; /* @fd is not the only one of its file */
	bool grown; /* the pipe was made larger */
	bool last; /* the program is gone: only what is left */
	bool done; /* nothing more will be sent */
	size_t left; /* at most, when last */
};

/* Takes @fd (non-blocking); -1 makes a source that is done. @shared: there are
 * other descriptors of the same file. */
void source_init(struct source *s, struct flow *flow, enum link_type type,
		 int fd, bool shared);
/* Sends what can be sent now and waits for more as far as that makes sense.
 * To be called when credit or room on the link has come. */
void source_pump(struct source *s);
/* The program is gone: what it left is still sent, then the source is done. */
void source_set_last(struct source *s);
/* Ends the source; returns the descriptor (the caller's) or -1. */
int source_release(struct source *s);

/* Input of the program. */
struct sink {
	struct flow *flow;
	int fd; /* -1: closed, input is thrown away */
	struct loop_io *io; /* only while the program does not read */
	struct buf buf;
	uint32_t window; /* bytes that the host may still send */
	uint32_t owed; /* bytes gone, for which no credit was given yet */
	bool accepts; /* STDIN frames are welcome */
	bool tty, grown;
};

/* Takes @fd (non-blocking) or -1. */
void sink_init(struct sink *s, struct flow *flow, int fd, bool accepts,
	       bool tty);
/* -EBADMSG when the host may not send that. */
int sink_write(struct sink *s, struct slice data) ATTR_WUR;
int sink_eof(struct sink *s) ATTR_WUR;
void sink_close(struct sink *s);

#endif
