/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes_call.c - what an instance has changed in its copy of a directory
 *
 * A child reads the layer (storage/layer.h) and writes to a pipe, as fast as the
 * client takes it; acd passes the bytes on and does not look into them. An
 * archive without its end is incomplete, and the client's connection breaks
 * then.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/api/instance_calls.h"
#include "control/acd/storage/treejob.h"
#include "lib/file.h"
#include "lib/log.h"

#define PIECE (64u * 1024)
#define CALLS_MAX 16u /* at once; each is a process */
#define STALL_MS 60000u /* without a byte for the client; a disk.img is held */

struct changes_call {
	struct acd *acd;
	struct http_stream *stream;
	struct treejob *job; /* NULL: it has ended */
	struct loop_io *io; /* NULL: paused, or at the end of the pipe */
	struct loop_timer *stall;
	int fd;
	bool over; /* the pipe has ended */
	struct err err; /* of the job */
};

static unsigned n_calls;

static void call_free(struct changes_call *c)
{
	treejob_cancel(c->job);
	treejob_forget(c->job);
	loop_del(c->io);
	loop_timer_free(c->stall);
	fd_closep(&c->fd);
	free(c);
	n_calls--;
}

/* The answer ends when the pipe has, and the child said how it went. */
static void call_judge(struct changes_call *c)
{
	/* A child that waits for a reader would wait for ever. */
	if (c->over && c->job && c->err.code < 0) {
		treejob_cancel(c->job);
		fd_closep(&c->fd);
	}
	if (!c->over || c->job)
		return;
	if (c->err.code < 0) {
		log_warn("%s", c->err.msg);
		http_stream_fail(c->stream);
	} else {
		http_stream_end(c->stream);
	}
	call_free(c);
}

static void on_job_end(void *arg, const struct err *err)
{
	struct changes_call *c = arg;

	c->job = NULL;
	if (err)
		c->err = *err;
	call_judge(c);
}

static void on_piece(void *arg, uint32_t events);

/* Reads on if there is room for a piece, else waits for the client. */
static void call_go_on(struct changes_call *c)
{
	bool may = !c->over && http_stream_room(c->stream) >= PIECE;

	if (may && !c->io) {
		c->io = loop_add(c->acd->loop, c->fd, EPOLLIN, on_piece, c);
		if (!c->io && c->err.code == 0)
			err_nomem(&c->err);
		c->over = c->over || !c->io;
	} else if (!may) {
		loop_del(c->io);
		c->io = NULL;
	}
}

static void on_piece(void *arg, uint32_t events)
{
	struct changes_call *c = arg;
	char piece[PIECE];
	ssize_t n = read(c->fd, piece, sizeof(piece));

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	loop_timer_set(c->stall, STALL_MS);
	if (n > 0 && http_stream_write(c->stream, piece, (size_t)n) < 0)
		err_nomem(&c->err);
	if (n < 0)
		err_sys(&c->err, "read the changes");
	c->over = n <= 0 || c->err.code < 0;
	call_go_on(c);
	call_judge(c);
}

static void on_room(void *arg)
{
	struct changes_call *c = arg;

	call_go_on(c);
	call_judge(c);
}

static void on_stall(void *arg)
{
	struct changes_call *c = arg;

	err_set(&c->err, -ETIMEDOUT,
		"a client took no changes for %u s, so it gets no more",
		STALL_MS / 1000);
	c->over = true;
	call_go_on(c);
	call_judge(c);
}

static void on_abort(void *arg)
{
	call_free(arg);
}

static int call_start(struct changes_call *c, struct instance *in,
		      struct err *err)
{
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "a pipe");
	c->fd = ends[0];
	c->stall = loop_timer_new(c->acd->loop, on_stall, c);
	if (!c->stall) {
		close(ends[1]);
		return err_nomem(err);
	}
	loop_timer_set(c->stall, STALL_MS);
	rc = fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0 ?
		     err_sys(err, "a pipe") :
		     instance_layer_send(in, ends[1], on_job_end, c, &c->job,
					 err);
	close(ends[1]);
	return rc;
}

void api_instance_changes(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct instance *in = api_instance_of(acd, req);
	struct changes_call *c;
	struct err err = { 0 };

	if (!in)
		return;
	c = n_calls < CALLS_MAX ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		err_set(&err, -EBUSY, "%u layers are being read already",
			n_calls);
		http_reply_error(req, &err, "busy");
		return;
	}
	n_calls++;
	*c = (struct changes_call){ .acd = acd, .fd = -1 };
	if (call_start(c, in, &err) < 0) {
		http_reply_error(req, &err, err.code == -EBUSY ? "busy" : NULL);
		call_free(c);
		return;
	}
	c->stream = http_reply_stream(req, "application/x-tar", on_room,
				      on_abort, c);
	if (c->stream)
		call_go_on(c);
	else
		call_free(c);
}
