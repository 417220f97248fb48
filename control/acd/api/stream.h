/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - a client's upgraded connection, joined to one run
 *
 * A stream owns itself: it goes when its run is over and all was sent, or
 * when its client has gone. It watches the run from the moment it is made,
 * before it has its connection, so that nothing of a short run is lost.
 */
#ifndef CONTROL_ACD_API_STREAM_H
#define CONTROL_ACD_API_STREAM_H

#include <stdbool.h>

#include "control/acd/instance/instance.h"
#include "lib/loop.h"
#include "lib/slice.h"

#define STREAM_REPLAY_MAX (256u * 1024)

struct stream;

enum stream_role {
	STREAM_OWNER, /* the run is its client's: ends when it is lost */
	STREAM_DETACHED, /* as OWNER, but the run outlives it */
	STREAM_GUEST, /* attached to a run of somebody else's */
};

/* NULL with errno: EMFILE too many follow this run, ENOMEM. */
struct stream *stream_new(struct loop *loop, struct run *r,
			  enum stream_role role);
/* What is shown first: output that went before, at most STREAM_REPLAY_MAX
 * bytes, and modes of the terminal. Before stream_connect(). */
int stream_replay(struct stream *st, const void *data, size_t len);
/* Takes the connection (non-blocking), @early is what was read of it. A
 * negative @fd: the client has gone. */
void stream_connect(struct stream *st, int fd, struct slice early);
/* Closes them all, for the end of acd. */
void stream_close_all(void);

#endif
