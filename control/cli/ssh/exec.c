/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.c - one process of a sandbox, or a connection to a port of it
 */
#include "control/cli/ssh/exec.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "control/cli/wire/client.h"
#include "control/cli/wire/upgrade.h"
#include "lib/sock.h"

#define RX_SIZE (2 * (LINK_HEADER + LINK_PAYLOAD_MAX))
#define TX_MAX (512u * 1024)
#define CHANNEL 1u
#define ANSWER_MS 60000u /* acd answers from memory */

static_assert(RX_SIZE >= HTTP_HEAD_MAX, "what comes with an answer fits");

void exec_init(struct exec *x)
{
	*x = (struct exec){ .fd = -1 };
	buf_init(&x->in, LINK_WINDOW);
	buf_init(&x->tx, TX_MAX);
}

void exec_done(struct exec *x)
{
	fd_closep(&x->fd);
	free(x->rx);
	x->rx = NULL;
	x->start = x->end = 0;
	buf_done(&x->in);
	buf_done(&x->tx);
}

int exec_start(struct exec *x, const char *sock, const char *name,
	       const json_t *body, struct err *err)
{
	SCOPED_STR path = client_path("/v1/instances/", name, "/exec");
	struct client_error ce;
	struct upgrade up;
	int rc;

	x->rx = path ? malloc(RX_SIZE) : NULL;
	if (!x->rx)
		return err_nomem(err);
	rc = upgrade_open(sock, path, body, ANSWER_MS, &up, &ce, err);
	if (rc < 0)
		return rc;
	x->fd = up.fd;
	memcpy(x->rx, up.early, up.n_early);
	x->end = up.n_early;
	return fd_nonblock(x->fd, 1);
}

int exec_receive(struct exec *x)
{
	ssize_t n;

	if (x->start > 0) {
		memmove(x->rx, x->rx + x->start, x->end - x->start);
		x->end -= x->start;
		x->start = 0;
	}
	if (x->end == RX_SIZE)
		return 0;
	n = recv(x->fd, x->rx + x->end, RX_SIZE - x->end, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -ECONNRESET;
	x->end += (size_t)n;
	return 0;
}

int exec_next(struct exec *x, struct link_frame *ret)
{
	struct slice in = slice_of(x->rx + x->start, x->end - x->start);
	size_t before = in.len;
	int rc = link_parse(&in, ret, NULL);

	if (rc == -EAGAIN)
		return 0;
	if (rc < 0 || ret->channel != CHANNEL)
		return -EPROTO;
	x->start += before - in.len;
	return 1;
}

int exec_stdin(struct exec *x, struct slice data)
{
	return buf_append(&x->in, data.ptr, data.len);
}

void exec_eof(struct exec *x)
{
	x->eof = true;
}

bool exec_waits(const struct exec *x)
{
	return buf_len(&x->tx) > 0 || buf_len(&x->in) > 0 || x->eof;
}

int exec_signal(struct exec *x, uint32_t signo)
{
	return link_put_u32(&x->tx, LINK_SIGNAL, CHANNEL, signo);
}

int exec_resize(struct exec *x, uint16_t rows, uint16_t cols)
{
	return link_put_resize(&x->tx, CHANNEL, rows, cols);
}

int exec_taken(struct exec *x, size_t len)
{
	uint32_t due;

	x->due += (uint32_t)len;
	if (x->due < LINK_WINDOW / 4)
		return 0;
	due = x->due;
	x->due = 0;
	return link_put_u32(&x->tx, LINK_CREDIT, CHANNEL, due);
}

/* Makes a frame of input when no other waits, so that what comes byte by byte
 * costs no memory for its headers. */
static int frame_input(struct exec *x)
{
	struct slice s = buf_slice(&x->in);
	int rc;

	if (s.len == 0) {
		x->eof = false;
		return link_put(&x->tx, LINK_STDIN_EOF, CHANNEL, NULL, 0);
	}
	if (s.len > LINK_PAYLOAD_MAX)
		s.len = LINK_PAYLOAD_MAX;
	rc = link_put(&x->tx, LINK_STDIN, CHANNEL, s.ptr, s.len);
	if (rc == 0)
		buf_consume(&x->in, s.len);
	return rc;
}

void exec_flush(struct exec *x)
{
	while (x->fd >= 0 && exec_waits(x)) {
		struct slice s;
		ssize_t n;

		if (buf_len(&x->tx) == 0 && frame_input(x) < 0)
			return;
		s = buf_slice(&x->tx);
		n = send(x->fd, s.ptr, s.len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		buf_consume(&x->tx, n < 0 ? s.len : (size_t)n);
	}
}

void exec_hang_up(struct exec *x)
{
	/* If acd takes no more, the link's end ends the process. */
	if (x->fd >= 0 && exec_signal(x, SIGHUP) == 0 &&
	    link_put(&x->tx, LINK_DETACH, CHANNEL, NULL, 0) == 0)
		exec_flush(x);
	exec_done(x);
}
