/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the guest link as bytes: two descriptors, two bounded buffers
 */
#ifndef INIT_GUARD_WIRE_H
#define INIT_GUARD_WIRE_H

#include <stdbool.h>

#include "init-guard/link.h"
#include "lib/loop.h"

struct wire_ops {
	/* One whole frame; the payload is valid during the call. A negative
	 * errno ends the link with it. */
	int (*frame)(void *arg, const struct link_frame *f);
	/* The output fell below the level at which writers had to wait. */
	void (*drained)(void *arg);
	/* Once: the link is over. -EPIPE: closed by the host; -EBADMSG. */
	void (*lost)(void *arg, int code);
};

struct wire {
	struct loop *loop;
	const struct wire_ops *ops;
	void *arg;
	int in_fd, out_fd;
	struct loop_io *in_io, *out_io; /* out_io: only while it is blocked */
	uint8_t *in; /* what came and is no whole frame: in_start to in_end */
	size_t in_start, in_end;
	struct buf out;
	bool over; /* lost was called; all output is dropped */
	bool waiting; /* a writer was told that it is busy */
};

/* Takes both descriptors, non-blocking (they may be one socket twice). */
int wire_init(struct wire *w, struct loop *loop, int in_fd, int out_fd,
	      const struct wire_ops *ops, void *arg) ATTR_WUR;
void wire_done(struct wire *w);

/* True while bulk output must wait; ops->drained tells when to go on. */
bool wire_busy(struct wire *w);
/* Where to put frames; wire_flush() after them. */
struct buf *wire_out(struct wire *w);
/*
 * Judges the result of a put: a frame that found no room breaks the link,
 * since the host could never know of it.
 */
void wire_check(struct wire *w, int put_result);
/* Writes what the stream takes, and the rest when it takes more. */
void wire_flush(struct wire *w);
/* Waits at most @ms until everything is written; for last words. */
void wire_drain(struct wire *w, int ms);

#endif
