/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_impl.h - inside of session.c and session_guest.c
 */
#ifndef CONTROL_ACD_GUEST_SESSION_IMPL_H
#define CONTROL_ACD_GUEST_SESSION_IMPL_H

#include "control/acd/guest/session.h"

enum session_state {
	WAIT_HELLO,
	WAIT_PREPARE, /* by us, as is the ASSIGN */
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
	uint32_t window; /* bytes of output that the guest may send */
	uint32_t owed; /* bytes that it may send once we have told it */
	uint32_t stdin_window; /* bytes that we may send */
	const struct channel_ops *ops;
	void *arg;
};

/* What one sandbox may still bring into acd's log, which all share. */
struct log_room {
	uint64_t ms; /* when milli was last filled; 0: never */
	uint64_t milli; /* thousandths of bytes */
	unsigned cut; /* lines of which nobody was told yet */
};

struct session {
	struct loop_io *io;
	int fd;
	enum session_state state;
	const struct session_ops *ops;
	void *arg;
	struct buf rest; /* beginning of a frame */
	struct buf out;
	uint32_t events; /* that io waits for */
	struct channel *channels[LINK_CHANNELS_MAX];
	uint32_t last_id;
	uint32_t ping; /* number of the last PING, its payload */
	struct loop_timer *patience; /* for a first sign, or for the PONG */
	struct session_limits limits;
	uint64_t pong_at_ms; /* when the last one came */
	uint64_t log_second;
	uint64_t audit_ms; /* when audit_milli was last filled; 0: never */
	uint64_t audit_milli; /* thousandths of audit lines that may come */
	unsigned log_count;
	unsigned audit_cut; /* of which nobody was told yet */
	struct log_room log_room, audit_room;
	unsigned depth;
	bool freed;
	bool prepared; /* the guest has said so */
	bool waiting; /* somebody may have found no room for STDIN */
	bool ping_sent; /* and its PONG is due */
	bool corked; /* what is said waits for more */
	bool held; /* the guest is frozen: nothing is expected of it */
	char **report; /* of READY */
	struct err why;
};

/* Judges one frame and tells whom it concerns. 0, or why the link is over:
 * s->why says it for the user; -ECANCELED: a callback freed the session. */
int session_guest_frame(void *session, const struct link_frame *f);
/* Watches over the channels that wait for their first sign, if any; after a
 * PONG, from now on. */
void session_watch(struct session *s);
/* A channel's number is done with; its owner hears of it unless it has
 * left. */
void session_channel_finish(struct channel **slot, const struct link_exit *x);

#endif
