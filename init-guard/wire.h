/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the guest link as a byte stream: two descriptors, two bounded
 * buffers
 */
#ifndef INIT_GUARD_WIRE_H
#define INIT_GUARD_WIRE_H

#include <stdbool.h>

#include "init-guard/link.h"
#include "lib/loop.h"

struct wire_ops {
	/* Handles one frame; its payload is valid during the call. A negative
	 * errno ends the link with that code. */
	int (*frame)(void *arg, const struct link_frame *f);
	/* Called from the loop when so much output was written that writers
	 * may go on, once after wire_busy() has returned true. */
	void (*drained)(void *arg);
	/* Called once when the link has ended, perhaps before wire_flush() or
	 * wire_check() returns. @code: -EPIPE if acd closed it, -EBADMSG for
	 * invalid bytes, or another negative errno. */
	void (*lost)(void *arg, int code);
};

struct wire {
	struct loop *loop;
	const struct wire_ops *ops;
	void *arg;
	int in_fd, out_fd;
	/* out_io: only while output is blocked */
	struct loop_io *in_io, *out_io;
	uint8_t *in; /* incomplete frame: in_start to in_end */
	size_t in_start, in_end;
	struct buf out;
	bool over; /* lost was called; output is dropped */
	bool waiting; /* wire_busy() returned true */
};

/* Initialises @w and takes ownership of both non-blocking descriptors (they may
 * be one socket twice); wire_done() closes them, even after a failure. Returns
 * 0 or a negative errno. */
int wire_init(struct wire *w, struct loop *loop, int in_fd, int out_fd,
	      const struct wire_ops *ops, void *arg) ATTR_WUR;
/* Closes both descriptors and frees the buffers. There are no callbacks. */
void wire_done(struct wire *w);

/* Returns true while bulk output must wait; ops->drained is called when it may
 * continue. */
bool wire_busy(struct wire *w);
/* Returns the output buffer, owned by @w, to which frames are appended by
 * link_put(); pass the result to wire_check(), then call wire_flush(). */
struct buf *wire_out(struct wire *w);
/* Ends the link with the code @put_result, the result of appending a frame, if
 * it is negative: acd would miss the frame. */
void wire_check(struct wire *w, int put_result);
/* Writes what the stream accepts; the rest follows when it accepts more. Drops
 * all output after the end of the link. */
void wire_flush(struct wire *w);
/* Waits at most @ms milliseconds until everything is written; for the end. */
void wire_drain(struct wire *w, int ms);

#endif
