/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.c - the guest link as a byte stream: two descriptors, two bounded
 * buffers
 *
 * Theory of operation: output is appended to one buffer. Bulk output stops at
 * OUT_BUSY; control frames are small and few, but an acd that sends PINGs or
 * EXECs without reading could make them pile up, so the link is not read above
 * OUT_STOP. OUT_MAX is therefore never reached by a correct acd.
 */
#include "init-guard/wire.h"

#include <poll.h>
#include <string.h>

#define OUT_BUSY (1024u * 1024)
#define OUT_STOP (2u * 1024 * 1024)
#define OUT_MAX (4u * 1024 * 1024)
/* Several of the largest frames, so that bulk input takes few reads and little
 * of it is moved. */
#define IN_SIZE (512u * 1024)
#define IN_FRAME (LINK_HEADER + LINK_PAYLOAD_MAX)
/* reads before other descriptors have their turn */
#define IN_ROUNDS 2

static void wire_out_event(void *arg, uint32_t events);

static void wire_lose(struct wire *w, int code)
{
	if (w->over)
		return;
	w->over = true;
	loop_del(w->in_io);
	loop_del(w->out_io);
	w->in_io = NULL;
	w->out_io = NULL;
	w->ops->lost(w->arg, code);
}

/* Reads the link, or pauses while too much output is waiting. */
static void wire_listen(struct wire *w)
{
	const bool on = buf_len(&w->out) < OUT_STOP;
	int rc = w->over ? 0 : loop_mod(w->in_io, on ? EPOLLIN : 0);

	if (rc < 0)
		wire_lose(w, rc);
}

void wire_done(struct wire *w)
{
	loop_del(w->in_io);
	loop_del(w->out_io);
	fd_closep(&w->in_fd);
	fd_closep(&w->out_fd);
	free(w->in);
	w->in = NULL;
	buf_done(&w->out);
}

bool wire_busy(struct wire *w)
{
	if (buf_len(&w->out) < OUT_BUSY)
		return false;
	w->waiting = true;
	return true;
}

struct buf *wire_out(struct wire *w)
{
	return &w->out;
}

void wire_check(struct wire *w, int put_result)
{
	if (put_result < 0)
		wire_lose(w, put_result);
}

/* Writes until the stream is full. Returns 0, or -errno if it is broken. */
static int wire_write(struct wire *w)
{
	struct slice s;
	ssize_t n;

	while (buf_len(&w->out) > 0) {
		s = buf_slice(&w->out);
		n = write(w->out_fd, s.ptr, s.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		buf_consume(&w->out, (size_t)n);
	}
	return 0;
}

void wire_flush(struct wire *w)
{
	int rc;

	if (w->over) {
		buf_consume(&w->out, buf_len(&w->out));
		return;
	}
	if (w->out_io)
		return; /* was full before; the loop reports when it is not */
	rc = wire_write(w);
	if (rc < 0) {
		wire_lose(w, rc);
		return;
	}
	if (buf_len(&w->out) == 0)
		return;
	w->out_io = loop_add(w->loop, w->out_fd, EPOLLOUT, wire_out_event, w);
	if (!w->out_io)
		wire_lose(w, -errno);
}

static void wire_out_event(void *arg, uint32_t events)
{
	struct wire *w = arg;
	int rc = wire_write(w);

	(void)events; /* a hang-up shows as EPIPE */
	if (rc < 0) {
		wire_lose(w, rc);
		return;
	}
	if (buf_len(&w->out) == 0) {
		loop_del(w->out_io);
		w->out_io = NULL;
	}
	wire_listen(w);
	if (w->waiting && buf_len(&w->out) < OUT_BUSY / 2) {
		w->waiting = false;
		w->ops->drained(w->arg);
	}
}

/* Handles all whole frames; a partial one stays. */
static int wire_frames(struct wire *w)
{
	struct link_frame f;
	struct slice s;
	int rc;

	while (!w->over) {
		s = slice_of(w->in + w->in_start, w->in_end - w->in_start);
		rc = link_parse(&s, &f, NULL);
		if (rc == -EAGAIN)
			break;
		if (rc == 0)
			rc = w->ops->frame(w->arg, &f);
		if (rc < 0)
			return rc;
		w->in_start = w->in_end - s.len;
	}
	return 0;
}

/* Returns the room, enough for the rest of any frame that has begun. */
static size_t wire_room(struct wire *w)
{
	const size_t begun = w->in_end - w->in_start;

	if (begun == 0) {
		w->in_start = w->in_end = 0;
	} else if (IN_SIZE - w->in_start < IN_FRAME) {
		memmove(w->in, w->in + w->in_start, begun);
		w->in_start = 0;
		w->in_end = begun;
	}
	return IN_SIZE - w->in_end;
}

/* Returns 1 if there may be more, 0 if not now, or -errno at the end. */
static int wire_read(struct wire *w)
{
	const size_t room = wire_room(w);
	ssize_t n;
	int rc;

	n = read(w->in_fd, w->in + w->in_end, room);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	w->in_end += (size_t)n;
	rc = wire_frames(w);
	return rc < 0 ? rc : (size_t)n == room;
}

static void wire_in_event(void *arg, uint32_t events)
{
	struct wire *w = arg;
	int i, rc = 1;

	(void)events; /* a hang-up shows as the end of the stream */
	for (i = 0; i < IN_ROUNDS && rc > 0 && !w->over; i++)
		rc = wire_read(w);
	if (rc < 0) {
		wire_lose(w, rc);
		return;
	}
	wire_flush(w);
	wire_listen(w);
}

int wire_init(struct wire *w, struct loop *loop, int in_fd, int out_fd,
	      const struct wire_ops *ops, void *arg)
{
	*w = (struct wire){
		.loop = loop,
		.ops = ops,
		.arg = arg,
		.in_fd = in_fd,
		.out_fd = out_fd,
	};
	buf_init(&w->out, OUT_MAX);
	w->in = malloc(IN_SIZE);
	if (!w->in)
		return -ENOMEM;
	w->in_io = loop_add(loop, in_fd, EPOLLIN, wire_in_event, w);
	return w->in_io ? 0 : -errno;
}

void wire_drain(struct wire *w, int ms)
{
	const uint64_t end = clock_ms() + (uint64_t)ms;
	struct pollfd p = { .fd = w->out_fd, .events = POLLOUT };
	uint64_t now;

	while (!w->over && wire_write(w) == 0 && buf_len(&w->out) > 0) {
		now = clock_ms();
		if (now >= end || poll(&p, 1, (int)(end - now)) <= 0)
			return;
	}
}
