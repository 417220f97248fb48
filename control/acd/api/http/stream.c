/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - a client's upgraded connection, joined to one run
 *
 * Theory of operation: output is in stream_output.c. Input that the run cannot
 * take yet waits in @input, one window at most, since the client gets credit
 * only for what was passed on. If a client leaves a detached run while input
 * waits, the stream stays without a connection until the run has taken it, and
 * drops output.
 *
 * After EXIT acd closes only its own direction and reads on until the client
 * has closed as well: a client that is sending must not get EPIPE before it has
 * read how its run ended.
 *
 * The client is the user's, but its bytes are parsed as strictly as a
 * sandbox's: a malformed frame ends the connection. Nothing is freed from
 * inside a callback of the run; a fault there shows at the next event of the
 * descriptor.
 */
#include "control/acd/api/http/stream.h"

#include <sys/socket.h>

#include "control/acd/guest/linkio.h"
#include "control/acd/api/http/stream_impl.h"
#include "lib/log.h"

#define CREDIT_BATCH (LINK_WINDOW / 4)
#define LINGER_MS 5000u /* for the client to close after its EXIT */

static LIST_HEAD(stream_list, stream) streams = LIST_HEAD_INITIALIZER(streams);

static void stream_free(struct stream *st)
{
	LIST_REMOVE(st, link);
	loop_del(st->io);
	loop_timer_free(st->linger);
	loop_timer_free(st->stall);
	instance_log_close(st->log);
	/* Even if another process has the descriptor, the client sees the end
	 * now. */
	if (st->fd >= 0) {
		shutdown(st->fd, SHUT_RDWR);
		close(st->fd);
	}
	run_watch_free(st->watch);
	buf_done(&st->rest);
	buf_done(&st->out);
	buf_done(&st->input);
	free(st);
}

/* The client has left, and its run goes on. */
static void stream_leave(struct stream *st)
{
	struct run *r = st->run;

	run_watch_free(st->watch);
	st->watch = NULL;
	st->run = NULL;
	if (r)
		run_detach(r);
	stream_free(st);
}

/* ---- input ---- */

/* Returns false if input is dropped: the run has ended, or an attached client
 * has no terminal. */
static bool input_is_wanted(const struct stream *st)
{
	if (!st->run)
		return false;
	return st->role != STREAM_GUEST || run_is_tty(st->run);
}

static void input_passed(struct stream *st, size_t len)
{
	uint32_t owed;

	st->in_owed += (uint32_t)len;
	if (st->in_owed < CREDIT_BATCH || st->over || st->leaving)
		return;
	owed = st->in_owed;
	st->in_owed = 0;
	st->in_window += owed;
	stream_queued(st, link_put_u32(&st->out, LINK_CREDIT, CHANNEL, owed));
}

/* Passes on what the run takes of @data. Returns how much that was. */
static size_t input_pass(struct stream *st, struct slice data)
{
	size_t room;

	if (!input_is_wanted(st))
		return data.len;
	room = run_stdin_room(st->run);
	if (data.len > room)
		data.len = room;
	if (data.len > 0 && run_stdin(st->run, data.ptr, data.len) < 0)
		return 0;
	return data.len;
}

static void input_continue(struct stream *st)
{
	size_t passed = input_pass(st, buf_slice(&st->input));

	if (passed > 0) {
		buf_consume(&st->input, passed);
		input_passed(st, passed);
	}
	/* An attached client must not end the run's stdin. */
	if (st->eof && !st->eof_passed && buf_len(&st->input) == 0 && st->run &&
	    st->role != STREAM_GUEST) {
		st->eof_passed = true;
		run_stdin_eof(st->run);
	}
}

static void stream_stdin_credit(void *arg)
{
	struct stream *st = arg;

	input_continue(st);
	if (st->leaving && buf_len(&st->input) == 0)
		stream_leave(st);
}

static int client_stdin(struct stream *st, struct slice data)
{
	size_t passed = 0;

	if (st->eof || data.len > st->in_window)
		return -EBADMSG;
	/* The terminal has the size of the client that used it last. */
	if (st->rows > 0 && st->run && run_is_tty(st->run))
		run_resize(st->run, st->rows, st->cols);
	st->in_window -= (uint32_t)data.len;
	if (buf_len(&st->input) == 0)
		passed = input_pass(st, data);
	if (passed > 0)
		input_passed(st, passed);
	if (passed == data.len)
		return 0;
	return buf_append(&st->input, data.ptr + passed, data.len - passed);
}

/* ---- frames of the client ---- */

static int client_signal(struct stream *st, const struct link_frame *f)
{
	uint32_t signo;

	if (link_get_u32(f, &signo) < 0)
		return -EBADMSG;
	if (st->run)
		run_signal(st->run, signo);
	return 0;
}

static int client_resize(struct stream *st, const struct link_frame *f)
{
	uint16_t rows, cols;

	if (link_get_resize(f, &rows, &cols) < 0)
		return -EBADMSG;
	st->rows = rows;
	st->cols = cols;
	if (st->run && run_is_tty(st->run))
		run_resize(st->run, rows, cols);
	return 0;
}

static int client_detach(struct stream *st)
{
	if (st->role == STREAM_OWNER)
		st->role = STREAM_DETACHED; /* its loss does not end the run */
	return -ENOTCONN;
}

static int client_frame(void *arg, const struct link_frame *f)
{
	struct stream *st = arg;

	if (f->channel != CHANNEL &&
	    (f->channel != 0 || f->type != LINK_DETACH))
		return -EBADMSG;
	switch (f->type) {
	case LINK_STDIN:
		return client_stdin(st, f->payload);
	case LINK_STDIN_EOF:
		st->eof = true;
		input_continue(st);
		return 0;
	case LINK_CREDIT:
		return stream_credit(st, f);
	case LINK_SIGNAL:
		return client_signal(st, f);
	case LINK_RESIZE:
		return client_resize(st, f);
	case LINK_DETACH:
		return client_detach(st);
	case LINK_CLOSE:
		return -ENOTCONN;
	default:
		return -EBADMSG;
	}
}

/* ---- the connection ---- */

/* Goes on without a connection until the run has taken @input. */
static void stream_stay(struct stream *st)
{
	st->leaving = true;
	loop_del(st->io);
	st->io = NULL;
	if (st->fd >= 0)
		shutdown(st->fd, SHUT_RDWR);
	fd_closep(&st->fd);
	buf_consume(&st->out, buf_len(&st->out));
	st->sendable = st->tail = 0;
	/* Credit for all output so far; more than was sent is fine. */
	run_watch_credit(st->watch, UINT32_MAX);
}

/* The client has gone, or is cut off. */
static void stream_lost(struct stream *st)
{
	struct run *r = st->run;

	if (r && st->role == STREAM_DETACHED && buf_len(&st->input) > 0) {
		stream_stay(st);
		return;
	}
	if (r && st->role == STREAM_DETACHED) {
		stream_leave(st);
		return;
	}
	/* First: the end of an exec would call the watcher. */
	run_watch_free(st->watch);
	st->watch = NULL;
	st->run = NULL;
	if (r && st->role == STREAM_OWNER)
		run_abandon(r);
	stream_free(st);
}

static void linger_over(void *arg)
{
	stream_free(arg);
}

/* All was sent. Without a timer the client is cut off, which shows at the next
 * event. */
static void stream_linger(struct stream *st)
{
	st->linger = loop_timer_new(st->loop, linger_over, st);
	if (!st->linger || shutdown(st->fd, SHUT_WR) < 0) {
		shutdown(st->fd, SHUT_RDWR);
		return;
	}
	loop_timer_set(st->linger, LINGER_MS);
}

static void stream_io(void *arg, uint32_t events)
{
	struct stream *st = arg;
	int rc = 0;

	if (events & EPOLLOUT)
		rc = stream_flush(st);
	/* A client that has gone while output waited for it may have left
	 * SIGNAL and DETACH, which say what becomes of its run. */
	if (rc == 0 ? events & ~(uint32_t)EPOLLOUT : events & EPOLLIN) {
		int got = linkio_read(st->fd, &st->rest, client_frame, st);

		rc = got < 0 ? got : rc;
	}
	if (rc == 0 && st->log)
		stream_catch_up(st);
	/* Clients come and go; only a malformed frame is logged. */
	if (rc == -EBADMSG)
		log_warn("a client's stream ended: %s", err_text(rc));
	if (rc < 0)
		stream_lost(st);
	else if (st->over && !st->linger && buf_len(&st->out) == 0)
		stream_linger(st);
}

static void stream_exited(void *arg, const struct link_exit *x)
{
	struct stream *st = arg;

	st->run = NULL;
	if (st->leaving) {
		stream_free(st);
		return;
	}
	if (st->log) {
		st->exit = *x; /* sent when it has caught up */
		st->exit_waits = true;
		return;
	}
	st->over = true;
	stream_queued(st, link_put_exit(&st->out, CHANNEL, x));
	if (st->io && buf_len(&st->out) == 0)
		stream_linger(st);
}

static const struct run_watch_ops stream_watch_ops = {
	.started = stream_started,
	.output = stream_output,
	.stdin_credit = stream_stdin_credit,
	.notice = stream_notice,
	.exited = stream_exited,
};

struct stream *stream_new(struct loop *loop, struct run *r,
			  enum stream_role role)
{
	struct stream *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	st->loop = loop;
	st->fd = -1;
	st->run = r;
	st->role = role;
	st->window = LINK_WINDOW;
	st->in_window = LINK_WINDOW;
	buf_init(&st->rest, LINKIO_REST_MAX);
	buf_init(&st->out, OUT_MAX);
	buf_init(&st->input, LINK_WINDOW);
	LIST_INSERT_HEAD(&streams, st, link);
	if (role == STREAM_GUEST) {
		st->stall = loop_timer_new(loop, stream_stalled, st);
		errno = ENOMEM;
	}
	if (role != STREAM_GUEST || st->stall)
		st->watch = run_watch_add(r, &stream_watch_ops, st);
	if (!st->watch) {
		int saved = errno;

		stream_free(st);
		errno = saved;
		return NULL;
	}
	return st;
}

/* Parses what was read behind the request's head. */
static int stream_early(struct stream *st, struct slice early)
{
	struct link_frame f;
	int rc;

	while ((rc = link_parse(&early, &f, NULL)) == 0) {
		rc = client_frame(st, &f);
		if (rc < 0)
			return rc;
	}
	if (rc != -EAGAIN)
		return rc;
	return early.len > 0 ? buf_append(&st->rest, early.ptr, early.len) : 0;
}

void stream_connect(struct stream *st, int fd, struct slice early)
{
	int rc = -ENOTCONN;

	st->fd = fd;
	if (fd >= 0) {
		st->events = EPOLLIN;
		st->io = loop_add(st->loop, fd, st->events, stream_io, st);
		rc = st->io ? stream_early(st, early) : -errno;
		if (st->broken)
			rc = -ENOBUFS;
	}
	if (rc < 0) {
		stream_lost(st);
		return;
	}
	stream_release(st);
}

void stream_close_all(void)
{
	struct stream *st, *next;

	for (st = LIST_FIRST(&streams); st; st = next) {
		next = LIST_NEXT(st, link);
		st->role = STREAM_GUEST;
		stream_lost(st);
	}
}
