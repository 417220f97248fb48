/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdio.c - the client: its messages on stdin, ours on stdout
 *
 * epoll(7) does not take a regular file or /dev/null. Such a stdin is read, a
 * piece a round, by a timer, and such a stdout never waits.
 */
#include "control/cli/mcp/stdio.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "control/cli/core/outfd.h"

#define PIECE (256u * 1024)
#define OUT_MAX (512u * 1024 * 1024) /* several of the largest results */
#define OUT_FULL (64u * 1024 * 1024) /* above this stdin waits */

struct stdio {
	struct loop *loop;
	const struct stdio_ops *ops;
	void *arg;
	int in;
	struct loop_io *in_io, *out_io; /* out_io only while something waits */
	struct loop_timer *in_timer, *gone_timer;
	struct feed feed;
	struct outfd outfd;
	struct buf out;
	bool deaf; /* stdin is not read any more */
	bool dead; /* stdout has no reader */
	bool told; /* gone() was or will be called */
	uint8_t piece[PIECE];
};

static void on_gone(void *arg)
{
	struct stdio *s = arg;

	s->ops->gone(s->arg);
}

/* Tells of it in a round of its own: callers are in the middle of something. */
static void is_gone(struct stdio *s)
{
	if (!s->told)
		loop_timer_set(s->gone_timer, 0);
	s->told = true;
	stdio_deaf(s);
}

static bool is_full(const struct stdio *s)
{
	return !s->dead && buf_len(&s->out) > OUT_FULL;
}

/* Lets stdin be read, or wait, as the queue says. */
static void listen_or_wait(struct stdio *s)
{
	bool reads = !s->deaf && !is_full(s);

	if (s->in_io)
		(void)loop_mod(s->in_io, reads ? EPOLLIN : 0);
	else if (reads && s->in_timer)
		loop_timer_set(s->in_timer, 0);
}

static void on_line(void *arg, struct slice line)
{
	struct stdio *s = arg;

	if (!s->deaf)
		s->ops->line(s->arg, line);
}

static void read_some(struct stdio *s)
{
	ssize_t n = read(s->in, s->piece, sizeof(s->piece));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0 || feed_take(&s->feed, s->piece, (size_t)n, on_line, s) < 0)
		is_gone(s);
}

static void on_in(void *arg, uint32_t events)
{
	(void)events;
	read_some(arg);
}

static void on_in_timer(void *arg)
{
	struct stdio *s = arg;

	if (s->deaf || is_full(s))
		return;
	read_some(s);
	listen_or_wait(s);
}

static void on_out(void *arg, uint32_t events);

/* Writes what is taken without waiting. */
static void flush(struct stdio *s)
{
	while (buf_len(&s->out) > 0 && !s->dead) {
		struct slice o = buf_slice(&s->out);
		ssize_t n = outfd_write(&s->outfd, o.ptr, o.len);

		if (n == -EAGAIN)
			break;
		if (n < 0) {
			s->dead = true;
			buf_done(&s->out);
			is_gone(s);
			break;
		}
		buf_consume(&s->out, (size_t)n);
	}
	if (buf_len(&s->out) > 0 && !s->out_io) {
		s->out_io = loop_add(s->loop, s->outfd.fd, EPOLLOUT, on_out, s);
		s->dead = !s->out_io;
		if (s->dead)
			is_gone(s);
	} else if (buf_len(&s->out) == 0) {
		loop_del(s->out_io);
		s->out_io = NULL;
	}
	listen_or_wait(s);
}

static void on_out(void *arg, uint32_t events)
{
	(void)events;
	flush(arg);
}

static int append(const char *text, size_t len, void *arg)
{
	return buf_append(arg, text, len) < 0 ? -1 : 0;
}

void stdio_put(struct stdio *s, json_t *message)
{
	size_t before = buf_len(&s->out);

	if (s->dead) {
		json_decref(message);
		return;
	}
	if (!message ||
	    json_dump_callback(message, append, &s->out, JSON_COMPACT) < 0 ||
	    buf_append(&s->out, "\n", 1) < 0) {
		/* A part of a line would make the next one unreadable. */
		s->dead = buf_len(&s->out) != before;
		is_gone(s);
	}
	json_decref(message);
	flush(s);
}

void stdio_deaf(struct stdio *s)
{
	s->deaf = true;
	if (s->in_io)
		(void)loop_mod(s->in_io, 0);
}

bool stdio_waits(const struct stdio *s)
{
	return !s->dead && buf_len(&s->out) > 0;
}

struct stdio *stdio_new(struct loop *l, int in, int out,
			const struct stdio_ops *ops, void *arg)
{
	struct stdio *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->loop = l;
	s->ops = ops;
	s->arg = arg;
	s->in = in;
	feed_init(&s->feed, STDIO_LINE_MAX);
	buf_init(&s->out, OUT_MAX);
	outfd_init(&s->outfd, out);
	s->gone_timer = loop_timer_new(l, on_gone, s);
	s->in_io = loop_add(l, in, EPOLLIN, on_in, s);
	if (!s->in_io && errno == EPERM) {
		s->in_timer = loop_timer_new(l, on_in_timer, s);
		if (s->in_timer)
			loop_timer_set(s->in_timer, 0);
	}
	if (s->gone_timer && (s->in_io || s->in_timer))
		return s;
	stdio_free(s);
	return NULL;
}

void stdio_free(struct stdio *s)
{
	if (!s)
		return;
	loop_del(s->in_io);
	loop_del(s->out_io);
	loop_timer_free(s->in_timer);
	loop_timer_free(s->gone_timer);
	feed_done(&s->feed);
	buf_done(&s->out);
	outfd_done(&s->outfd);
	free(s);
}
