/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c - a scripted Docker engine on a unix socket, in the test's loop
 *
 * As much HTTP/1.1 as a real client sends: a head, Content-Length, one
 * request after the other on a connection.
 */
#include "tests/fake/engine.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/sock.h"

#define REQUEST_MAX (256u * 1024)
#define ANSWER_MAX (64u * 1024 * 1024)
#define WAITS_MAX 3000u /* of 10 ms, on a machine that is busy */

struct conn {
	struct conn *next;
	struct fake_engine *fake;
	struct loop_io *io;
	int fd;
	bool ends; /* close when all is sent */
	struct buf in, out;
};

struct fake_engine {
	struct loop *loop;
	struct loop_io *io;
	int fd;
	unsigned made;
	struct conn *conns;
	fake_engine_fn fn;
	void *arg;
};

static void conn_free(struct conn *c)
{
	struct conn **at = &c->fake->conns;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	loop_del(c->io);
	close(c->fd);
	buf_done(&c->in);
	buf_done(&c->out);
	free(c);
}

static void answer_put(struct conn *c, const struct fake_answer *an)
{
	const char *body = an->body ? an->body : "";
	size_t len = strlen(body);
	int rc;

	switch (an->kind) {
	case FAKE_HANG:
		return;
	case FAKE_RAW:
		rc = buf_append(&c->out, body, len);
		c->ends = true;
		break;
	case FAKE_CUT:
		rc = buf_printf(&c->out,
				"HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n",
				an->status ? an->status : 200, len);
		rc |= buf_append(&c->out, body, len / 2);
		c->ends = true;
		break;
	default:
		rc = buf_printf(&c->out,
				"HTTP/1.1 %d X\r\nTransfer-Encoding: "
				"chunked\r\n\r\n",
				an->status ? an->status : 200);
		for (size_t i = 0; len > 0 && i <= an->repeat && rc >= 0; i++)
			rc = buf_printf(&c->out, "%zx\r\n%s\r\n", len, body);
		rc |= buf_printf(&c->out, "0\r\n\r\n");
		break;
	}
	if (rc < 0)
		abort(); /* the test asks for too much */
}

/* Takes one request from the front; false: not complete. */
static bool request_take(struct conn *c)
{
	char method[16], path[1024];
	struct slice s = buf_slice(&c->in);
	char *text = s.len ? strndup((const char *)s.ptr, s.len) : NULL;
	char *end = text ? strstr(text, "\r\n\r\n") : NULL;
	char *length = end ? strcasestr(text, "\r\nContent-Length:") : NULL;
	struct fake_answer an = { .status = 200 };
	size_t body_len = 0, head_len;

	if (length && length < end)
		body_len = strtoul(length + 17, NULL, 10);
	head_len = end ? (size_t)(end + 4 - text) : 0;
	if (!end || s.len < head_len + body_len ||
	    sscanf(text, "%15s %1023s", method, path) != 2) {
		free(text);
		return false;
	}
	text[head_len + body_len] = '\0';
	c->fake->fn(c->fake->arg,
		    &(struct fake_request){ method, path, text + head_len },
		    &an);
	free(text);
	buf_consume(&c->in, head_len + body_len);
	answer_put(c, &an);
	return true;
}

static void on_conn(void *arg, uint32_t events)
{
	struct conn *c = arg;

	if (events & (EPOLLIN | EPOLLHUP)) {
		uint8_t *at = buf_reserve(&c->in, 16384);
		ssize_t n = at ? read(c->fd, at, 16384) : 0;

		if (n == 0 || (n < 0 && errno != EAGAIN)) {
			conn_free(c);
			return;
		}
		if (n > 0)
			buf_commit(&c->in, (size_t)n);
		while (request_take(c))
			;
	}
	while (buf_len(&c->out) > 0) {
		struct slice s = buf_slice(&c->out);
		ssize_t n = send(c->fd, s.ptr, s.len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN) {
			conn_free(c);
			return;
		}
		if (n < 0)
			break;
		buf_consume(&c->out, (size_t)n);
	}
	if (c->ends && buf_len(&c->out) == 0) {
		conn_free(c);
		return;
	}
	loop_mod(c->io, buf_len(&c->out) ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void on_listen(void *arg, uint32_t events)
{
	struct fake_engine *f = arg;
	struct conn *c = calloc(1, sizeof(*c));

	(void)events;
	if (!c)
		abort();
	c->fake = f;
	c->fd = accept4(f->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	c->io = c->fd < 0 ? NULL :
			    loop_add(f->loop, c->fd, EPOLLIN, on_conn, c);
	if (!c->io) {
		fd_closep(&c->fd);
		free(c);
		return;
	}
	buf_init(&c->in, REQUEST_MAX);
	buf_init(&c->out, ANSWER_MAX);
	c->next = f->conns;
	f->conns = c;
	f->made++;
}

struct fake_engine *fake_engine_new(struct loop *loop, const char *sock_path,
				    fake_engine_fn fn, void *arg)
{
	struct fake_engine *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	*f = (struct fake_engine){ .loop = loop, .fn = fn, .arg = arg };
	f->fd = sock_unix_listen(sock_path, 0600, 64);
	f->io = f->fd < 0 ? NULL : loop_add(loop, f->fd, EPOLLIN, on_listen, f);
	if (!f->io) {
		fd_closep(&f->fd);
		free(f);
		return NULL;
	}
	return f;
}

bool fake_engine_wait(const char *path)
{
	int fd = -1;

	for (unsigned i = 0; i < WAITS_MAX && fd < 0; i++) {
		fd = sock_unix_connect(path);
		if (fd < 0)
			usleep(10000);
	}
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

void fake_engine_free(struct fake_engine *f)
{
	if (!f)
		return;
	while (f->conns)
		conn_free(f->conns);
	loop_del(f->io);
	close(f->fd);
	free(f);
}

unsigned fake_engine_connections(const struct fake_engine *f)
{
	return f->made;
}
