/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - acd's end of one guest link
 *
 * Everything that comes in is hostile. A malformed frame, a frame that does
 * not fit the channel's state, or credit overrun closes this link (and so
 * ends this sandbox), never acd. Bounded memory: output goes to the channel's
 * owner at once; the owner returns credit when it has disposed of it.
 */
#ifndef CONTROL_ACD_GUEST_SESSION_H
#define CONTROL_ACD_GUEST_SESSION_H

#include <stdbool.h>

#include "init-guard/link.h"
#include "lib/err.h"
#include "lib/loop.h"

struct session;
struct channel;

/* Called from the loop. In closed() and exited() the object is still valid
 * and is freed by its owner or right after. */
struct session_ops {
	void (*hello)(void *arg); /* answer with session_prepare() */
	void (*prepared)(void *arg); /* NULL: of no interest */
	void (*ready)(void *arg);
	/* @text is printable ASCII: escaped and cut to 1 KiB, but a line of
	 * vaultd's audit ("vault: {...}"), which comes as it was written. Of
	 * either sort a sandbox may bring 128 KiB, and 16 bytes a second on
	 * top, so that none pushes the others' out. A line takes 128 bytes more
	 * than what is written of its text, an empty one too. What is beyond is
	 * counted, and the count comes before the next one. */
	void (*log)(void *arg, uint8_t level, const char *text);
	/* A line of vaultd's audit, without "vault: ": each that comes at a
	 * bearable rate (vault/PROTOCOL, 5). NULL: of no interest. */
	void (*audit)(void *arg, const char *json);
	/* The link is gone; @err says why. Channels got exited(LOST) first. */
	void (*closed)(void *arg, const struct err *err);
};

struct channel_ops {
	void (*started)(void *arg, uint32_t pid);
	/* @data is a view for the time of the call. */
	void (*output)(void *arg, enum link_type stream, struct slice data);
	void (*stdin_credit)(void *arg); /* channel_stdin_room() grew */
	void (*exited)(void *arg, const struct link_exit *x); /* the last */
};

/* Takes @fd (non-blocking stream). NULL with errno. */
struct session *session_new(struct loop *loop, int fd,
			    const struct session_ops *ops, void *arg);
/* A guest that gives a new channel no sign (STARTED or EXIT) for @sign_ms gets
 * a PING; without a PONG within @pong_ms the link ends. 10 s and 20 s unless
 * set, and nothing is armed yet when this is called. */
struct session_limits {
	uint32_t sign_ms, pong_ms;
};
void session_set_limits(struct session *s, const struct session_limits *l);
/* Nothing can be expected of a guest that is frozen; of one that goes on
 * again, from then on. */
void session_hold(struct session *s, bool held);
/* Another one hears of it from now on. */
void session_set_owner(struct session *s, const struct session_ops *ops,
		       void *arg);
void session_free(struct session *s); /* no callback any more; NULL is fine */
/* Each once, and in this order; neither waits for what the guest says to it.
 * -ENOTCONN: not its turn. */
int session_prepare(struct session *s, const struct link_prepare *p);
/* What is said to the guest waits until it is taken back (or does not fit),
 * and then goes in one piece. */
void session_hold_back(struct session *s, bool on);
int session_assign(struct session *s, const struct link_assign *a);
bool session_is_ready(const struct session *s);
/* What the guest says of its start (link_get_ready()), NULL before READY. Its
 * own word: for people. */
const char *const *session_report(const struct session *s);

/* Opens a channel; once it is assigned the guest serves it as soon as it is
 * ready. -EMFILE too many, -ENOTCONN not assigned, -ENOBUFS, -EMSGSIZE. The
 * channel lives until exited() has returned or
 * channel_close(). */
int session_exec(struct session *s, const struct link_exec *x,
		 const struct channel_ops *ops, void *arg,
		 struct channel **ret);
size_t channel_stdin_room(const struct channel *c); /* bytes accepted now */
/* At most channel_stdin_room() bytes. -EPIPE after the end. */
int channel_stdin(struct channel *c, const void *data, size_t len);
int channel_stdin_eof(struct channel *c);
int channel_credit(struct channel *c, uint32_t bytes); /* output disposed of */
int channel_signal(struct channel *c, uint32_t signo);
int channel_resize(struct channel *c, uint16_t rows, uint16_t cols);
/* Kill what runs there and forget it: no further callback. NULL is fine. */
void channel_close(struct channel *c);

#endif
