/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - acd's end of one guest link
 *
 * All that comes in is hostile. A malformed frame, a frame that does not fit
 * the channel's state, or too much output for the credit closes this link and
 * so ends this sandbox, never acd. Memory is bounded: output goes to the
 * channel's owner at once, and the owner gives credit back when it is done with
 * it.
 */
#ifndef CONTROL_ACD_GUEST_SESSION_H
#define CONTROL_ACD_GUEST_SESSION_H

#include <stdbool.h>

#include "init-guard/link.h"
#include "lib/err.h"
#include "lib/loop.h"

struct session;
struct channel;

/* Called from the loop. In closed() and exited() the object is still valid; it
 * is freed by its owner (session) or afterwards (channel). */
struct session_ops {
	void (*hello)(void *arg); /* to be answered by session_prepare() */
	void (*prepared)(void *arg); /* may be NULL */
	void (*ready)(void *arg);
	/* @text is printable ASCII, escaped and cut to 1 KiB, except a line of
	 * vaultd's audit, which comes as "vault: " and the line. Of each sort a
	 * sandbox may send 128 KiB, and 16 bytes a second more, so none crowds
	 * out others. A line counts 128 bytes more than its escaped text, also
	 * an empty one. Lines beyond that are counted, and the count comes
	 * before the next line. */
	void (*log)(void *arg, uint8_t level, const char *text);
	/* A line of vaultd's audit as it was sent, unless they come too fast
	 * (vault/PROTOCOL, 5). May be NULL. */
	void (*audit)(void *arg, const char *json);
	/* vaultd has ended and the sandbox goes on. A hostile sandbox may
	 * report it many times. May be NULL. */
	void (*unvaulted)(void *arg);
	/* Something was sent for a user: EXEC, input, a signal, a size. Called
	 * inside of the call that sends it, so it must not free or close
	 * anything. May be NULL. */
	void (*used)(void *arg);
	/* The link is closed; @err says why. Channels had exited() with
	 * LINK_LOST before. */
	void (*closed)(void *arg, const struct err *err);
};

struct channel_ops {
	void (*started)(void *arg, uint32_t pid);
	/* @data is a view, valid during the call. */
	void (*output)(void *arg, enum link_type stream, struct slice data);
	void (*stdin_credit)(void *arg); /* channel_stdin_room() has grown */
	void (*exited)(void *arg, const struct link_exit *x); /* last call */
};

/* Takes ownership of @fd (non-blocking stream), also on failure. Returns NULL
 * with errno on failure. */
struct session *session_new(struct loop *loop, int fd,
			    const struct session_ops *ops, void *arg);
/* In ms. If a new channel has no STARTED or EXIT for @sign_ms, the sandbox gets
 * a PING; without a PONG within @pong_ms the link is closed. Defaults: 10 s and
 * 20 s. To be set before a channel is opened. */
struct session_limits {
	uint32_t sign_ms, pong_ms;
};
void session_set_limits(struct session *s, const struct session_limits *l);
/* @held: the sandbox is frozen, so no answer is expected. The times begin again
 * when it resumes. */
void session_hold(struct session *s, bool held);
/* The sandbox hibernates, is held, or is about to be: what is sent waits, what
 * comes is read to the end, which does not close the link. */
void session_sleep(struct session *s);
/* It goes on, with the link @fd, owned by the session: what was sent on the one
 * before and not read is on its way there already, and the one before has
 * ended. -1: it has not slept, or cannot go on; if its link has ended, the
 * session closes, from the loop. Does nothing, but closes @fd, unless it is
 * asleep. */
void session_wake(struct session *s, int fd);
/* Replaces the callbacks and their argument. */
void session_set_owner(struct session *s, const struct session_ops *ops,
		       void *arg);
/* Closes the link and frees all; there are no callbacks. NULL is fine. */
void session_free(struct session *s);
/* Send PREPARE and ASSIGN, once each and in this order; neither waits for an
 * answer. Return 0; -ENOTCONN out of order; another negative errno. */
int session_prepare(struct session *s, const struct link_prepare *p);
/* @on: collects PREPARE, ASSIGN and EXEC until a call with false, which sends
 * them in one piece. What does not fit fails as usual. */
void session_hold_back(struct session *s, bool on);
int session_assign(struct session *s, const struct link_assign *a);
/* Returns true from READY until the link is closed. */
bool session_is_ready(const struct session *s);
/* Returns what the sandbox reports of its start (link_get_ready()), borrowed,
 * or NULL before READY. It is not trusted: for display only. */
const char *const *session_report(const struct session *s);

/* Opens a channel, after ASSIGN; the sandbox serves it when it is ready. The
 * channel lives until exited() has returned or until channel_close(). Returns
 * 0;
 * -EMFILE for too many, -ENOTCONN before ASSIGN, -ENOBUFS, -EMSGSIZE,
 * -ENOMEM. */
int session_exec(struct session *s, const struct link_exec *x,
		 const struct channel_ops *ops, void *arg,
		 struct channel **ret);
/* Returns how many bytes channel_stdin() accepts now. */
size_t channel_stdin_room(const struct channel *c);
/* Sends bytes. Returns 0; -ENOBUFS beyond channel_stdin_room(); -EPIPE after
 * the end or if it has no stdin; another negative errno if the link breaks. */
int channel_stdin(struct channel *c, const void *data, size_t len);
/* Ends stdin. Returns 0, -EPIPE as above. */
int channel_stdin_eof(struct channel *c);
/* Gives credit back for @bytes of output. Returns -ERANGE for more than came,
 * -EPIPE after the end. */
int channel_credit(struct channel *c, uint32_t bytes);
/* Return 0; -EPIPE after the end, -ENOBUFS if the link is full; -EINVAL for a
 * wrong signal, -ENOTTY without a terminal. */
int channel_signal(struct channel *c, uint32_t signo);
int channel_resize(struct channel *c, uint16_t rows, uint16_t cols);
/* Kills what runs there and drops the channel: no further callback. NULL is
 * fine. */
void channel_close(struct channel *c);

#endif
