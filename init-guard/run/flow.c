/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.c - bytes between a program and the link, limited by credit
 *
 * Output is read straight into the link's buffer, after the place of its frame
 * header: no byte is copied in user space.
 *
 * Pipes start with the kernel's 64 KiB and are enlarged when they turn out to
 * be the bottleneck: most execs write little, and every system call counts in
 * gVisor.
 */
#include "init-guard/run/flow.h"

#include <fcntl.h>

#include "init-guard/run/pty.h"

#define PIPE_DEFAULT (64 * 1024)
#define PIPE_LARGE (1024 * 1024)
/* reads before other descriptors have their turn */
#define PUMP_ROUNDS 8
#define CREDIT_STEP (LINK_WINDOW / 4)

static void source_event(void *arg, uint32_t events)
{
	struct source *s = arg;
	struct flow *flow = s->flow;

	(void)events;
	source_pump(s);
	flow->progress(flow->arg);
}

static void source_end(struct source *s)
{
	s->done = true;
	loop_del(s->io);
	s->io = NULL;
}

/* The program has closed its end. A process that is about to become a program
 * may have our descriptor still, so its closing would not end the watch. */
static void source_close(struct source *s)
{
	source_end(s);
	fd_closep(&s->fd);
}

/* Polls for output, or pauses while none could be sent. */
static void source_listen(struct source *s, bool on)
{
	if (loop_mod(s->io, on ? EPOLLIN : 0) < 0)
		source_end(s); /* out of memory: better cut than stuck */
}

void source_init(struct source *s, struct flow *flow, enum link_type type,
		 int fd)
{
	*s = (struct source){
		.flow = flow,
		.type = type,
		.fd = fd,
		.done = fd < 0,
	};
	if (s->done)
		return;
	s->io = loop_add(flow->wire->loop, fd, EPOLLIN, source_event, s);
	if (!s->io)
		source_end(s);
}

/* Reads one frame. Returns its size, 0 if nothing is there now, or -errno if
 * nothing more will come. */
static ssize_t source_read(struct source *s)
{
	struct flow *flow = s->flow;
	struct buf *out = wire_out(flow->wire);
	size_t want = LINK_PAYLOAD_MAX;
	ssize_t n = -1;
	uint8_t *p;

	if (want > flow->credit)
		want = flow->credit;
	if (s->last && want > s->left)
		want = s->left;
	p = buf_reserve(out, LINK_HEADER + want);
	if (!p)
		return -ENOMEM;
	n = read(s->fd, p + LINK_HEADER, want);
	if (n <= 0) {
		buf_commit(out, 0);
		if (n == 0)
			return -EPIPE;
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	link_put_header(p, s->type, flow->channel, (size_t)n);
	buf_commit(out, LINK_HEADER + (size_t)n);
	flow->credit -= (uint32_t)n;
	if (s->last)
		s->left -= (size_t)n;
	if (n >= PIPE_DEFAULT && !s->grown) {
		s->grown = true;
		(void)fcntl(s->fd, F_SETPIPE_SZ, PIPE_LARGE);
	}
	return n;
}

void source_pump(struct source *s)
{
	struct wire *wire = s->flow->wire;
	ssize_t n = 1;
	int i;

	/* The last output is read at once: no event comes for an empty pipe. */
	for (i = 0; (i < PUMP_ROUNDS || s->last) && !s->done; i++) {
		if (s->last && s->left == 0) {
			source_end(s);
			return;
		}
		if (s->flow->credit == 0 || wire_busy(wire)) {
			source_listen(s, false);
			return;
		}
		n = source_read(s);
		if (n < 0) {
			source_close(s);
			return;
		}
		if (n == 0)
			break;
		wire_flush(wire);
		/* A short read: the pipe is empty, epoll reports more. */
		if (n < PIPE_DEFAULT && !s->last)
			break;
	}
	if (n == 0 && s->last)
		source_end(s);
	if (!s->done)
		source_listen(s, true);
}

void source_set_last(struct source *s)
{
	s->last = true;
	s->left = PIPE_LARGE;
}

int source_release(struct source *s)
{
	source_end(s);
	return fd_take(&s->fd);
}

void sink_init(struct sink *s, struct flow *flow, int fd, bool accepts,
	       bool tty)
{
	*s = (struct sink){
		.flow = flow,
		.fd = fd,
		.window = LINK_WINDOW,
		.accepts = accepts,
		.tty = tty,
	};
	buf_init(&s->buf, LINK_WINDOW);
}

/* Counts @len consumed bytes; credit for them is returned in steps. acd is
 * never left without: it has all credit that is neither here nor in the
 * buffer. */
static void sink_credit(struct sink *s, size_t len)
{
	struct wire *wire = s->flow->wire;

	s->owed += (uint32_t)len;
	if (s->owed < CREDIT_STEP || !s->accepts)
		return;
	wire_check(wire, link_put_u32(wire_out(wire), LINK_CREDIT,
				      s->flow->channel, s->owed));
	s->window += s->owed;
	s->owed = 0;
	wire_flush(wire);
}

/* The program reads no more: drops what is queued and what will come. */
static void sink_drop(struct sink *s)
{
	size_t len = buf_len(&s->buf);

	loop_del(s->io);
	s->io = NULL;
	fd_closep(&s->fd);
	buf_done(&s->buf);
	sink_credit(s, len);
}

/* Writes what the program reads now. Returns the bytes written, or -errno if it
 * has closed its input. */
static ssize_t sink_put(struct sink *s, struct slice data)
{
	size_t done = 0;
	ssize_t n;

	while (done < data.len) {
		n = write(s->fd, data.ptr + done, data.len - done);
		if (n >= 0) {
			done += (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		if (s->grown || s->tty)
			break;
		s->grown = true;
		if (fcntl(s->fd, F_SETPIPE_SZ, PIPE_LARGE) < 0)
			break;
	}
	return (ssize_t)done;
}

/* All input was delivered and no more will come. */
static void sink_finish(struct sink *s)
{
	ssize_t n;
	char eof;
	int c;

	if (!s->tty) {
		fd_closep(&s->fd);
		return;
	}
	c = pty_eof_char(s->fd);
	if (c <= 0)
		return;
	/* If a terminal accepts no byte, its program does not read, and would
	 * not notice the end. */
	eof = (char)c;
	n = write(s->fd, &eof, 1);
	(void)n;
}

static void sink_event(void *arg, uint32_t events)
{
	struct sink *s = arg;
	ssize_t n = sink_put(s, buf_slice(&s->buf));

	(void)events;
	if (n < 0) {
		sink_drop(s);
		return;
	}
	buf_consume(&s->buf, (size_t)n);
	sink_credit(s, (size_t)n);
	if (buf_len(&s->buf) > 0)
		return;
	loop_del(s->io);
	s->io = NULL;
	if (!s->accepts)
		sink_finish(s);
}

int sink_write(struct sink *s, struct slice data)
{
	ssize_t n = 0;
	int rc;

	if (!s->accepts || data.len > s->window)
		return -EBADMSG;
	s->window -= (uint32_t)data.len;
	if (s->fd >= 0 && buf_len(&s->buf) == 0) {
		n = sink_put(s, data);
		if (n < 0)
			sink_drop(s);
	}
	if (s->fd < 0) {
		sink_credit(s, data.len);
		return 0;
	}
	sink_credit(s, (size_t)n);
	if ((size_t)n == data.len)
		return 0;
	rc = buf_append(&s->buf, data.ptr + n, data.len - (size_t)n);
	if (rc < 0)
		return rc;
	if (!s->io)
		s->io = loop_add(s->flow->wire->loop, s->fd, EPOLLOUT,
				 sink_event, s);
	if (!s->io)
		sink_drop(s);
	return 0;
}

int sink_eof(struct sink *s)
{
	if (!s->accepts)
		return -EBADMSG;
	s->accepts = false;
	if (s->fd >= 0 && buf_len(&s->buf) == 0)
		sink_finish(s);
	return 0;
}

void sink_close(struct sink *s)
{
	loop_del(s->io);
	s->io = NULL;
	fd_closep(&s->fd);
	buf_done(&s->buf);
}
