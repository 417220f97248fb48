/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_copy.h - a session of a sandbox that goes on from the memory of
 * another one
 *
 * The memory of a sandbox has one end of its link: which channels are open, and
 * perhaps half a frame. What acd's end has of it is written down with the
 * memory, and each sandbox that goes on from it gets a session of that.
 */
#ifndef CONTROL_ACD_GUEST_SESSION_COPY_H
#define CONTROL_ACD_GUEST_SESSION_COPY_H

#include <jansson.h>

#include "control/acd/guest/session.h"

/* Reads what the link of a sandbox still has, after session_sleep(). The
 * session's functions are called for it. A link that is found broken ends the
 * session when it wakes. */
void session_drain(struct session *s);
/* Writes down @s, for others: returns a new reference. It has what was sent to
 * the sandbox and not read: @unread, from the sandbox's end, and what acd holds
 * since before session_sleep(); what was sent since is not in it. @main: the
 * channel of its main process. Fails, returning NULL with @err, with -EAGAIN
 * unless it sleeps and @main is open; -EIO if its link is broken; -ENOMEM. */
json_t *session_save(const struct session *s, const struct channel *main,
		     struct slice unread, struct err *err);

/* The main channel of a session that is made of another one. */
struct session_main {
	const struct channel_ops *ops;
	void *arg;
	struct channel **ret; /* set when the session is returned */
};
/* Makes a session with the link @fd (owned, as in session_new()) of what
 * session_save() has returned. All channels but the main one are closed. The
 * sandbox is asked for a sign of life; when that comes, ready() is called. Its
 * time is that of a PONG. Returns NULL with errno: EBADMSG if @v is
 * malformed. */
struct session *session_load(struct loop *loop, int fd, const json_t *v,
			     const struct session_main *main,
			     const struct session_ops *ops, void *arg);

#endif
