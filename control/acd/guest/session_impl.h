/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_impl.h - inside of session.c and session_guest.c
 */
#ifndef CONTROL_ACD_GUEST_SESSION_IMPL_H
#define CONTROL_ACD_GUEST_SESSION_IMPL_H

#include "control/acd/guest/session.h"

enum session_state {
	WAIT_HELLO,
	WAIT_PREPARE, /* for acd to send it, as WAIT_ASSIGN */
	WAIT_ASSIGN,
	WAIT_READY,
	LIVE,
	OVER
};

struct channel {
	struct session *session; /* NULL: over */
	uint32_t id;
	uint32_t flags; /* LINK_EXEC_* */
	uint64_t opened_ms;
	bool started;
	bool deaf; /* channel_close() was called */
	bool eof_sent;
	uint32_t window; /* bytes of output that the sandbox may send */
	uint32_t owed; /* credit that the sandbox has not been sent yet */
	uint32_t stdin_window; /* bytes that acd may send */
	/* What was put in the buffer since session_sleep(): bytes of credit and
	 * of input, the end of it, CLOSE. */
	struct {
		uint32_t credit, input;
		bool eof, close;
	} later;
	const struct channel_ops *ops;
	void *arg;
};

/* How much one sandbox may still write to acd's log, which all share. */
struct log_room {
	uint64_t ms; /* when milli was last filled; 0: never */
	uint64_t milli; /* thousandths of bytes */
	unsigned cut; /* lines that were dropped and not reported yet */
};

struct session {
	struct loop *loop;
	struct loop_io *io;
	int fd; /* -1: over, or asleep */
	int tail; /* asleep: the link of before, to be read to its end; or -1 */
	enum session_state state;
	const struct session_ops *ops;
	void *arg;
	struct buf rest; /* beginning of a frame */
	struct buf out;
	uint32_t events; /* that io waits for */
	struct channel *channels[LINK_CHANNELS_MAX];
	uint32_t last_id;
	/* As of session_sleep(): the last channel, and what was in the buffer. */
	uint32_t slept_id;
	size_t slept_len;
	uint32_t ping; /* number of the last PING, its payload */
	struct loop_timer *patience; /* for a first sign, or a PONG */
	struct session_limits limits;
	uint64_t pong_at_ms; /* of the last PONG */
	uint64_t log_second; /* in which log_count lines came */
	uint64_t audit_ms; /* when audit_milli was last filled; 0: never */
	uint64_t audit_milli; /* thousandths of audit lines that may come */
	unsigned log_count; /* LOG frames of this second */
	unsigned audit_cut; /* lines that were dropped and not reported yet */
	struct log_room log_room, audit_room;
	unsigned depth; /* calls that use it; the last one frees it */
	bool freed; /* session_free() was called */
	bool prepared; /* the sandbox has answered PREPARE */
	bool waiting; /* some channel may have had no room for STDIN */
	bool ping_sent; /* its PONG is due */
	bool corked; /* session_hold_back() */
	bool held; /* the sandbox is frozen */
	bool asleep; /* between session_sleep() and session_wake() */
	bool torn; /* a frame was lost meanwhile */
	bool proving; /* session_load(): its first PONG is its READY */
	char **report; /* of READY */
	struct err why;
};

/* Ends a call that has raised s->depth; it may free the session. */
void session_leave(struct session *s);
/* Notes what was sent until now (session_copy.c). */
void session_mark(struct session *s);
/* Checks one frame and acts on it; a linkio_frame_fn. @session: struct session.
 * Returns 0, or a negative errno that ends the link, with a message in its
 * `why`; or -ECANCELED if a callback has freed the session. */
int session_guest_frame(void *session, const struct link_frame *f);
/* Sets the timer for channels that wait for the sandbox's first sign. To be
 * called when one is opened and after a PONG, from which their time begins
 * again. Does nothing while the sandbox is frozen. */
void session_watch(struct session *s);
/* Frees the channel in *slot and sets that to NULL. Calls exited() with @x,
 * borrowed, unless channel_close() was called. */
void session_channel_finish(struct channel **slot, const struct link_exit *x);

#endif
