/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_impl.h - inside of stream.c and stream_output.c
 */
#ifndef CONTROL_ACD_API_HTTP_STREAM_IMPL_H
#define CONTROL_ACD_API_HTTP_STREAM_IMPL_H

#include <sys/queue.h>

#include "control/acd/api/http/stream.h"

#define CHANNEL 1u /* the only one of a connection */
#define OUT_MAX ((LINK_HEADER + 2) * LINK_WINDOW)

struct stream {
	LIST_ENTRY(stream) link;
	struct loop *loop;
	struct loop_io *io;
	int fd; /* -1: not connected yet */
	uint32_t events;
	struct run *run; /* NULL: over, or left */
	struct run_watch *watch;
	enum stream_role role;
	bool over; /* EXIT was queued */
	bool broken; /* a frame could not be queued; ends at the next event */
	bool leaving; /* has no client any more, only @input for the run */
	struct loop_timer *linger; /* EXIT was sent */

	struct buf rest; /* beginning of a frame from the client */
	struct buf out;
	size_t sendable; /* bytes of out that the client's credit covers */
	size_t tail; /* size of the last frame in out if it is output, else 0 */
	enum link_type tail_type;
	uint32_t window; /* bytes of output that the client takes */
	uint32_t replay; /* sent bytes that the run has credit for already */

	/* Of an attached client only. */
	uint32_t unpaid; /* bytes that the run has no credit for yet */
	struct loop_timer *stall; /* runs while that is much */
	struct instance_log *log; /* not NULL: it is behind, and reads here */
	bool exit_waits; /* EXIT is sent when it has caught up */
	struct link_exit exit;

	struct buf input; /* STDIN that the run has no room for */
	uint32_t in_window; /* bytes of STDIN that the client may send */
	uint32_t in_owed; /* credit that the client has not been sent yet */
	uint16_t rows, cols; /* of the client's terminal; 0: not known */
	bool eof; /* STDIN_EOF came */
	bool eof_passed;
};

/* ---- stream_output.c ---- */

/* Extends @sendable over the frames that the client's credit covers, and sets
 * the events. */
void stream_release(struct stream *st);
int stream_flush(struct stream *st);
/* Called after a frame was queued with the result @put_result: sends what it
 * can. A failure breaks the stream at the next event. */
void stream_queued(struct stream *st, int put_result);
void stream_output(void *arg, enum link_type type, struct slice data);
void stream_started(void *arg, uint32_t pid);
void stream_notice(void *arg, uint8_t level, const char *text);
int stream_credit(struct stream *st, const struct link_frame *f);
/* Sends as much of the log as the client has credit for. */
void stream_catch_up(struct stream *st);
/* Called when an attached client has taken too little for too long: makes it
 * read from the log, and no longer hold up the run. */
void stream_stalled(void *arg);

#endif
