/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - a client's upgraded connection, joined to one run
 *
 * A stream owns itself: it is freed when its run has ended and all was sent, or
 * when its client has gone. It watches the run before it has a connection, so
 * no output of a short run is lost.
 */
#ifndef CONTROL_ACD_API_HTTP_STREAM_H
#define CONTROL_ACD_API_HTTP_STREAM_H

#include <stdbool.h>

#include "control/acd/instance/instance.h"
#include "lib/loop.h"
#include "lib/slice.h"

#define STREAM_REPLAY_MAX (256u * 1024)

struct stream;

enum stream_role {
	STREAM_OWNER, /* the run is the client's: ends if it is lost */
	STREAM_DETACHED, /* as OWNER, but the run goes on without it */
	STREAM_GUEST, /* attached to another client's run */
};

/* Returns NULL with errno: EMFILE if too many follow the run, ENOMEM. */
struct stream *stream_new(struct loop *loop, struct run *r,
			  enum stream_role role);
/* To be called before stream_connect(): queues earlier output and modes of the
 * terminal, at most STREAM_REPLAY_MAX bytes in all. Returns 0; -EMSGSIZE for
 * more; -ENOMEM, -ENOBUFS. */
int stream_replay(struct stream *st, const void *data, size_t len);
/* Takes ownership of @fd, the non-blocking connection; @early is what was read
 * of it already. If @fd is negative, the client has gone. May free the
 * stream. */
void stream_connect(struct stream *st, int fd, struct slice early);
/* Closes all streams when acd ends; their runs go on. */
void stream_close_all(void);

#endif
