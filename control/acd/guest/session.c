/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - acd's end of one guest link
 *
 * Theory of operation: a session goes HELLO → PREPARE → ASSIGN → READY → live,
 * a channel opening → running → over. Each step accepts the frames that
 * init-guard/PROTOCOL allows and no others. Any other frame ends the link with
 * a reason for the user, from the loop, never from inside a call.
 *
 * A closed channel stays in the table, deaf, until the sandbox's EXIT frees its
 * number. So late frames can be told from invented ones, and a sandbox that
 * never answers runs out of channels, while acd's memory stays bounded.
 *
 * Output needs no buffer here: a sandbox may send at most one window a channel
 * before the owner gives credit back. Frames to the sandbox go through one
 * bounded buffer, with room reserved for those that must not be lost.
 *
 * A sandbox whose PID 1 is stopped (init-guard/run/exec.c names a way to do it)
 * keeps its link open and is silent. It is asked only when it matters: when a
 * channel waits for its first sign.
 *
 * A sandbox that hibernates gets another link. What it wrote before is read to
 * the end, what it is sent stays in the buffer. Channels do not notice.
 *
 * Callbacks may do anything, including session_free() and channel_close(). No
 * channel is used after its callback, and the session is freed when the last
 * frame on the stack has returned (depth).
 */
#include "control/acd/guest/session.h"

#include <sys/socket.h>

#include "control/acd/guest/linkio.h"
#include "control/acd/guest/session_impl.h"

#define OUT_MAX (2u * 1024 * 1024)
/* STDIN stops here, so that SIGNAL and CLOSE still fit for a sandbox that does
 * not read. */
#define OUT_STDIN_MAX (1024u * 1024)
/* EXEC, SIGNAL and RESIZE stop here: the rest is for CREDIT, EOF and CLOSE,
 * whose number is bounded by that of the channels. */
#define OUT_CONTROL_MAX (OUT_MAX - 256 * 1024)
#define OUT_LOW (256u * 1024) /* below it, waiting writers go on */
#define CREDIT_BATCH (LINK_WINDOW / 4)
#define SIGN_MS 10000u
#define PONG_MS 20000u

static void session_events(struct session *s)
{
	uint32_t want = EPOLLIN;

	if (!s->io)
		return;
	if (buf_len(&s->out) > 0 && !s->asleep)
		want |= EPOLLOUT;
	if (buf_len(&s->out) >= OUT_LOW)
		s->waiting = true;
	if (want != s->events && loop_mod(s->io, want) == 0)
		s->events = want;
}

void session_leave(struct session *s)
{
	if (--s->depth > 0 || !s->freed)
		return;
	buf_done(&s->rest);
	buf_done(&s->out);
	link_vec_free(s->report);
	free(s);
}

/* ---- to the sandbox ---- */

/* Sends a frame that must not be lost. Without room (which the bounds exclude)
 * or memory, it ends the link. */
static int send_or_break(struct session *s, enum link_type type, uint32_t id,
			 const void *data, size_t len)
{
	int rc = linkio_send(s->fd, &s->out, type, id, data, len);

	if (rc < 0)
		shutdown(s->fd, SHUT_RDWR);
	s->torn |= rc < 0 && s->asleep;
	session_events(s);
	return rc;
}

static int send_u32(struct session *s, enum link_type type, uint32_t id,
		    uint32_t value)
{
	const uint8_t payload[4] = {
		(uint8_t)(value >> 24),
		(uint8_t)(value >> 16),
		(uint8_t)(value >> 8),
		(uint8_t)value,
	};

	return send_or_break(s, type, id, payload, sizeof(payload));
}

/* Returns true if there is room for a frame that may be refused. */
static bool has_control_room(const struct session *s, size_t len)
{
	return buf_len(&s->out) + LINK_HEADER + len <= OUT_CONTROL_MAX;
}

/* After a frame was put in the buffer: sends what the socket takes. */
static int session_kick(struct session *s, int put_result)
{
	if (s->corked || s->asleep)
		return put_result;
	if (put_result == 0)
		linkio_flush(s->fd, &s->out, SIZE_MAX);
	session_events(s);
	return put_result;
}

void session_hold_back(struct session *s, bool on)
{
	s->corked = on;
	if (!on && s->io)
		session_kick(s, 0);
}

int session_prepare(struct session *s, const struct link_prepare *p)
{
	int rc;

	if (s->state != WAIT_PREPARE)
		return -ENOTCONN;
	rc = session_kick(s, link_put_prepare(&s->out, p));
	if (rc == 0)
		s->state = WAIT_ASSIGN;
	return rc;
}

int session_assign(struct session *s, const struct link_assign *a)
{
	int rc;

	if (s->state != WAIT_ASSIGN)
		return -ENOTCONN;
	/* It holds grants and surrogates. */
	buf_secret(&s->out);
	rc = session_kick(s, link_put_assign(&s->out, a));
	if (rc == 0)
		s->state = WAIT_READY;
	return rc;
}

bool session_is_ready(const struct session *s)
{
	return s->state == LIVE;
}

const char *const *session_report(const struct session *s)
{
	return (const char *const *)s->report;
}

static void session_used(struct session *s)
{
	if (s->ops->used)
		s->ops->used(s->arg);
}

/* ---- channels, for their owners ---- */

static struct channel **channel_free_slot(struct session *s)
{
	uint32_t i;

	for (i = 0; i < LINK_CHANNELS_MAX; i++) {
		if (!s->channels[i])
			return &s->channels[i];
	}
	return NULL;
}

/* Returns the channel that has waited longest for a first sign, or NULL. */
static struct channel *channel_oldest_mute(const struct session *s)
{
	struct channel *oldest = NULL;
	uint32_t i;

	for (i = 0; i < LINK_CHANNELS_MAX; i++) {
		struct channel *c = s->channels[i];

		if (c && !c->started && (!oldest || c->id < oldest->id))
			oldest = c;
	}
	return oldest;
}

int session_exec(struct session *s, const struct link_exec *x,
		 const struct channel_ops *ops, void *arg, struct channel **ret)
{
	struct channel **slot = channel_free_slot(s), *c;
	int err;

	if (s->state != LIVE && s->state != WAIT_READY)
		return -ENOTCONN;
	if (!slot || s->last_id == UINT32_MAX)
		return -EMFILE;
	if (!has_control_room(s, LINK_PAYLOAD_MAX))
		return -ENOBUFS;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct channel){
		.session = s,
		.id = s->last_id + 1,
		.flags = x->flags,
		.opened_ms = clock_ms(),
		.window = LINK_WINDOW,
		.stdin_window = x->flags & LINK_EXEC_STDIN ? LINK_WINDOW : 0,
		.ops = ops,
		.arg = arg,
	};
	err = session_kick(s, link_put_exec(&s->out, c->id, x));
	if (err < 0) {
		free(c);
		return err;
	}
	s->last_id = c->id;
	*slot = c;
	*ret = c;
	/* If not, a timer runs already for an older channel. */
	if (channel_oldest_mute(s) == c && !s->ping_sent)
		session_watch(s);
	session_used(s);
	return 0;
}

size_t channel_stdin_room(const struct channel *c)
{
	size_t used, room;

	if (!c->session || c->eof_sent)
		return 0;
	used = buf_len(&c->session->out);
	room = used < OUT_STDIN_MAX ? OUT_STDIN_MAX - used : 0;
	return room < c->stdin_window ? room : c->stdin_window;
}

int channel_stdin(struct channel *c, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t room = channel_stdin_room(c), part;
	int rc = 0;

	if (!c->session || c->eof_sent || !(c->flags & LINK_EXEC_STDIN))
		return -EPIPE;
	if (len > room)
		return -ENOBUFS;
	for (; len > 0 && rc == 0; p += part, len -= part) {
		part = len < LINK_PAYLOAD_MAX ? len : LINK_PAYLOAD_MAX;
		c->stdin_window -= (uint32_t)part;
		c->later.input += (uint32_t)part;
		rc = send_or_break(c->session, LINK_STDIN, c->id, p, part);
	}
	session_used(c->session);
	return rc;
}

int channel_stdin_eof(struct channel *c)
{
	if (!c->session || c->eof_sent || !(c->flags & LINK_EXEC_STDIN))
		return -EPIPE;
	c->eof_sent = c->later.eof = true;
	session_used(c->session);
	return send_or_break(c->session, LINK_STDIN_EOF, c->id, NULL, 0);
}

int channel_credit(struct channel *c, uint32_t bytes)
{
	uint32_t owed;

	if (!c->session)
		return -EPIPE;
	if (bytes > LINK_WINDOW - c->window - c->owed)
		return -ERANGE;
	c->owed += bytes;
	/* In large steps: the sandbox has three quarters left meanwhile. */
	if (c->owed < CREDIT_BATCH)
		return 0;
	owed = c->owed;
	c->window += owed;
	c->later.credit += owed;
	c->owed = 0;
	return send_u32(c->session, LINK_CREDIT, c->id, owed);
}

int channel_signal(struct channel *c, uint32_t signo)
{
	if (!c->session)
		return -EPIPE;
	if (signo < 1 || signo > 64)
		return -EINVAL;
	if (!has_control_room(c->session, 4))
		return -ENOBUFS;
	session_used(c->session);
	return send_u32(c->session, LINK_SIGNAL, c->id, signo);
}

int channel_resize(struct channel *c, uint16_t rows, uint16_t cols)
{
	if (!c->session)
		return -EPIPE;
	if (!(c->flags & LINK_EXEC_PTY))
		return -ENOTTY;
	if (!has_control_room(c->session, 4))
		return -ENOBUFS;
	session_used(c->session);
	return send_u32(c->session, LINK_RESIZE, c->id,
			(uint32_t)rows << 16 | cols);
}

void channel_close(struct channel *c)
{
	if (!c || c->deaf)
		return;
	c->deaf = c->later.close = true;
	if (c->session)
		send_or_break(c->session, LINK_CLOSE, c->id, NULL, 0);
}

/* ---- the link as a descriptor ---- */

static void session_disconnect(struct session *s)
{
	s->state = OVER;
	loop_timer_clear(s->patience);
	loop_del(s->io);
	s->io = NULL;
	fd_closep(&s->fd);
	fd_closep(&s->tail);
	s->asleep = false;
}

static void session_lost(struct session *s, int code)
{
	const struct link_exit lost = { .kind = LINK_LOST };
	uint32_t i;

	if (s->why.code == 0 && code == -EBADMSG)
		err_set(&s->why, code, "the sandbox sent a malformed frame");
	else if (s->why.code == 0 &&
		 (code == -ENOTCONN || code == -ECONNRESET || code == -EPIPE))
		err_set(&s->why, code, "the sandbox closed its guest link");
	else if (s->why.code == 0)
		err_set(&s->why, code, "the guest link broke: %s",
			err_text(code));
	session_disconnect(s);
	for (i = 0; i < LINK_CHANNELS_MAX && !s->freed; i++) {
		if (s->channels[i])
			session_channel_finish(&s->channels[i], &lost);
	}
	if (!s->freed)
		s->ops->closed(s->arg, &s->why);
}

/* STDIN has room again: calls every channel that may have waited. */
static void session_drained(struct session *s)
{
	struct channel *c;
	uint32_t i;

	s->waiting = false;
	for (i = 0; i < LINK_CHANNELS_MAX && s->state != OVER; i++) {
		c = s->channels[i];
		if (c && !c->deaf && channel_stdin_room(c) > 0)
			c->ops->stdin_credit(c->arg);
	}
}

/* ---- hibernation ---- */

static void session_io(void *arg, uint32_t events);

/* Reads once from the link of before. Its end is none of the session's. */
static int tail_read(struct session *s)
{
	int rc = linkio_read(s->tail, &s->rest, session_guest_frame, s);

	if (s->state == OVER ||
	    (rc != -ENOTCONN && rc != -ECONNRESET && rc != -EPIPE))
		return rc;
	loop_del(s->io);
	s->io = NULL;
	fd_closep(&s->tail);
	return 0;
}

void session_sleep(struct session *s)
{
	if (s->state == OVER || s->asleep)
		return;
	s->asleep = true;
	session_mark(s);
	s->tail = fd_take(&s->fd);
	loop_timer_clear(s->patience);
	session_events(s);
}

/* Ends it from the loop. */
static void session_end_later(struct session *s)
{
	s->asleep = false;
	s->torn = true;
	fd_closep(&s->tail);
	loop_timer_set(s->patience, 0);
}

/* Waits for the sandbox's first sign, or its PONG, from now on. */
static void session_wait_again(struct session *s)
{
	if (s->ping_sent)
		loop_timer_set(s->patience, s->limits.pong_ms);
	else
		session_watch(s);
}

/* Returns false if there is none. */
static bool session_take(struct session *s, int fd)
{
	int rc = 0;

	while (s->tail >= 0 && rc == 0)
		rc = tail_read(s);
	if (s->state == OVER || s->freed)
		return true;
	if (rc < 0) {
		session_lost(s, rc);
		return true;
	}
	s->events = EPOLLIN;
	s->io = loop_add(s->loop, fd, s->events, session_io, s);
	if (!s->io)
		return false;
	s->fd = fd;
	return true;
}

void session_wake(struct session *s, int fd)
{
	SCOPED_FD link = fd;
	bool ok = false;

	if (!s->asleep)
		return;
	s->depth++;
	if (fd >= 0) {
		ok = session_take(s, fd);
		if (s->fd == fd)
			fd_take(&link);
	} else if (s->tail >= 0) {
		s->fd = fd_take(&s->tail);
		ok = true;
	}
	if (s->state != OVER && (!ok || s->torn)) {
		session_end_later(s);
	} else if (s->state != OVER) {
		s->asleep = false;
		if (!s->held)
			session_wait_again(s);
		session_kick(s, 0);
	}
	session_leave(s);
}

static void session_io(void *arg, uint32_t events)
{
	struct session *s = arg;
	int rc = 0, flushed = 0;

	s->depth++;
	if ((events & EPOLLOUT) && !s->asleep)
		flushed = linkio_flush(s->fd, &s->out, SIZE_MAX);
	if (s->asleep)
		rc = tail_read(s);
	else if (events & ~(uint32_t)EPOLLOUT)
		rc = linkio_read(s->fd, &s->rest, session_guest_frame, s);
	/* A sandbox that is gone may have left frames to be read. */
	if (rc == 0)
		rc = flushed;
	if (s->state != OVER && rc < 0)
		session_lost(s, rc);
	if (s->state != OVER && s->waiting && buf_len(&s->out) < OUT_LOW)
		session_drained(s);
	session_events(s);
	session_leave(s);
}

static void on_patience(void *arg)
{
	struct session *s = arg;
	const struct channel *c = channel_oldest_mute(s);
	uint64_t now = clock_ms(), due;

	s->depth++;
	if (s->torn) {
		session_lost(s, -ENOTCONN);
	} else if (s->ping_sent) {
		err_set(&s->why, -ETIMEDOUT, "the sandbox does not answer");
		session_lost(s, -ETIMEDOUT);
	} else if (c) {
		due = c->opened_ms + s->limits.sign_ms;
		if (due < s->pong_at_ms + s->limits.sign_ms)
			due = s->pong_at_ms + s->limits.sign_ms;
		if (due > now) {
			loop_timer_set(s->patience, due - now);
		} else {
			s->ping_sent = true;
			loop_timer_set(s->patience, s->limits.pong_ms);
			send_u32(s, LINK_PING, 0, ++s->ping);
		}
	}
	session_leave(s);
}

void session_watch(struct session *s)
{
	/* A PONG may have been on its way when the sandbox was frozen. */
	if (!s->held && !s->asleep && !s->torn)
		loop_timer_set(s->patience, s->limits.sign_ms);
}

void session_hold(struct session *s, bool held)
{
	s->held = held;
	if (s->torn)
		return; /* it is about to end */
	if (held)
		loop_timer_clear(s->patience);
	else if (!s->asleep)
		session_wait_again(s);
}

void session_set_limits(struct session *s, const struct session_limits *l)
{
	s->limits = *l;
}

struct session *session_new(struct loop *loop, int fd,
			    const struct session_ops *ops, void *arg)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s) {
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	s->loop = loop;
	s->fd = fd;
	s->tail = -1;
	s->limits = (struct session_limits){ SIGN_MS, PONG_MS };
	s->ops = ops;
	s->arg = arg;
	buf_init(&s->rest, LINKIO_REST_MAX);
	buf_init(&s->out, OUT_MAX);
	s->events = EPOLLIN;
	s->io = loop_add(loop, fd, s->events, session_io, s);
	s->patience = loop_timer_new(loop, on_patience, s);
	if (!s->io || !s->patience) {
		loop_del(s->io);
		loop_timer_free(s->patience);
		fd_closep(&fd);
		ptr_freep(&s);
		return NULL;
	}
	return s;
}

void session_set_owner(struct session *s, const struct session_ops *ops,
		       void *arg)
{
	s->ops = ops;
	s->arg = arg;
}

void session_free(struct session *s)
{
	uint32_t i;

	if (!s)
		return;
	s->depth++;
	s->freed = true;
	if (s->state != OVER)
		session_disconnect(s);
	loop_timer_free(s->patience);
	s->patience = NULL;
	for (i = 0; i < LINK_CHANNELS_MAX; i++) {
		free(s->channels[i]);
		s->channels[i] = NULL;
	}
	session_leave(s);
}
