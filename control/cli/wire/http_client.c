/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_client.c - a small blocking HTTP/1.1 client for unix sockets
 *
 * libcurl, which acd uses, would bring 30 shared libraries (TLS, Kerberos,
 * LDAP), and loading them takes a third of an `ac exec`. Both peers, acd and
 * this machine's engine, are local and speak plain HTTP/1.1, and a connection
 * that becomes a link must leave the client anyway.
 *
 * One call at a time. poll(2) waits with the call's deadline, and continues
 * after a signal whose handler has returned; Ctrl-C ends the program as usual.
 * The body passes through a buffer of fixed size.
 *
 * The peer may have closed a kept connection meanwhile. Then the call is made
 * once more if the peer cannot have acted on it: the request was not sent
 * completely, or it was a GET (RFC 9110 9.2.2, RFC 9112 9.3.1).
 */
#include "control/cli/wire/http_client.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "lib/loop.h"
#include "lib/str.h"

#define CONNECT_SECONDS 5
#define FILE_PIECE (128u * 1024)
#define INTERIM_MAX 8u /* 1xx answers before the answer */

void http_init(struct http *h, const char *sock)
{
	h->sock = sock;
	h->fd = -1;
	h->status = 0;
	h->reached = h->again = false;
	h->start = h->end = 0;
	h->idle = NULL;
	h->idle_arg = NULL;
}

void http_done(struct http *h)
{
	fd_closep(&h->fd);
}

/* lib/sock.h would wait forever for a hanging peer with a full backlog:
 * connect(2) on a unix socket obeys only SO_SNDTIMEO. */
static int dial(struct http *h)
{
	struct timeval limit = { .tv_sec = CONNECT_SECONDS };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	SCOPED_FD fd = -1;
	int rc;

	if (strlen(h->sock) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, h->sock, strlen(h->sock));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return -errno;
	do {
		rc = connect(fd, (const struct sockaddr *)&addr, sizeof(addr));
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	limit.tv_sec = 0;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return -errno;
	h->fd = fd_take(&fd);
	return 0;
}

/* Between two calls there must be nothing to read, and no end. */
static bool is_usable(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return fd >= 0 && poll(&p, 1, 0) == 0;
}

static int wait_for(const struct http *h, short events, uint64_t deadline)
{
	for (;;) {
		struct pollfd p = { h->fd, events, 0 };
		uint64_t now = deadline ? clock_ms() : 0;
		int n, ms = -1;

		if (deadline && now >= deadline)
			return -ETIMEDOUT;
		if (deadline)
			ms = (int)(deadline - now);
		if (h->idle && (ms < 0 || ms > (int)HTTP_IDLE_MS))
			ms = HTTP_IDLE_MS;
		n = poll(&p, 1, ms);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && h->idle)
			h->idle(h->idle_arg);
	}
}

static int send_all(const struct http *h, const void *data, size_t len,
		    uint64_t deadline)
{
	const uint8_t *p = data;

	while (len > 0) {
		ssize_t n = send(h->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		int rc = 0;

		if (n >= 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			rc = wait_for(h, POLLOUT, deadline);
		} else if (errno == EPIPE) {
			rc = -ECONNRESET;
		} else if (errno != EINTR) {
			rc = -errno;
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Sends from the file's current position. */
static int send_file(const struct http *h, const struct http_file *f,
		     uint64_t deadline)
{
	SCOPED_MEM mem = malloc(FILE_PIECE);
	uint64_t left = f->len;
	int rc = mem ? 0 : -ENOMEM;

	while (rc == 0 && left > 0) {
		size_t want = left < FILE_PIECE ? (size_t)left : FILE_PIECE;
		ssize_t n = read(f->fd, mem, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		rc = send_all(h, mem, (size_t)n, deadline);
		left -= (uint64_t)n;
		if (f->sent)
			f->sent(f->arg, (size_t)n);
	}
	return rc;
}

/* Appends to rx, where there must be room. */
static int receive(struct http *h, uint64_t deadline)
{
	ssize_t n;
	int rc;

	do {
		rc = wait_for(h, POLLIN, deadline);
		if (rc < 0)
			return rc;
		n = recv(h->fd, h->rx + h->end, sizeof(h->rx) - h->end,
			 MSG_DONTWAIT);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n <= 0)
		return n == 0 ? -ECONNRESET : -errno;
	h->end += (size_t)n;
	return 0;
}

static struct slice received(const struct http *h)
{
	return slice_of(h->rx + h->start, h->end - h->start);
}

/* Makes room for a head of any size after the bytes that were taken. */
static void move_down(struct http *h)
{
	memmove(h->rx, h->rx + h->start, h->end - h->start);
	h->end -= h->start;
	h->start = 0;
}

/* Reads the head of the final answer; skips interim ones. */
static int read_head(struct http *h, struct http_head *ret, uint64_t deadline)
{
	unsigned interim = 0;
	int rc;

	for (;;) {
		rc = http_head_parse(received(h), ret);
		if (rc == -EAGAIN) {
			rc = receive(h, deadline);
			if (rc < 0)
				return rc;
			continue;
		}
		if (rc < 0)
			return rc;
		h->start += ret->size;
		if (ret->status >= 200 || ret->status == 101)
			return 0;
		if (++interim > INTERIM_MAX)
			return -EBADMSG;
		move_down(h);
	}
}

static int read_body(struct http *h, const struct http_request *rq,
		     const struct http_head *head, uint64_t deadline)
{
	struct http_body body;
	int rc;

	http_body_init(&body, head);
	for (;;) {
		struct slice in = received(h), piece;
		int got = http_body_next(&body, &in, &piece);

		h->start = h->end - in.len;
		if (got == 1)
			return 0;
		if (got == 0) {
			rc = rq->fn ? rq->fn(rq->arg, (const char *)piece.ptr,
					     piece.len) :
				      0;
		} else if (got == -EAGAIN) {
			h->start = h->end = 0;
			rc = receive(h, deadline);
			if (rc == -ECONNRESET && http_body_may_end(&body))
				return 0;
		} else {
			rc = got;
		}
		if (rc < 0)
			return rc;
	}
}

static int exchange(struct http *h, const struct http_request *rq,
		    const char *text, uint64_t deadline)
{
	int sent = send_all(h, text, strlen(text), deadline), rc;
	struct http_head head;

	if (sent == 0 && rq->file)
		sent = send_file(h, rq->file, deadline);
	h->start = h->end = 0;
	/* What the peer sent before it closed can still be read. */
	if (sent < 0 && sent != -ECONNRESET)
		return sent;
	rc = read_head(h, &head, deadline);
	if (rc < 0) {
		h->again = rc == -ECONNRESET && h->end == 0 && !rq->file &&
			   (sent < 0 || strcmp(rq->method, "GET") == 0);
		return rc;
	}
	h->status = head.status;
	snprintf(h->instance, sizeof(h->instance), "%.*s",
		 (int)head.instance.len, (const char *)head.instance.ptr);
	if (head.status == 101)
		return rq->link && head.link ? 0 : -EPROTONOSUPPORT;
	rc = read_body(h, rq, &head, deadline);
	if (sent < 0 || head.close || h->start != h->end)
		fd_closep(&h->fd);
	return rc;
}

static char *request_text(const struct http_request *rq)
{
	const char *body = rq->body ? rq->body : "";
	const char *type = rq->body ? "Content-Type: application/json\r\n" : "";
	const char *link =
		rq->link ? "Connection: Upgrade\r\nUpgrade: ac-link/1\r\n" : "";

	if (rq->file)
		return str_printf("%s %s HTTP/1.1\r\nHost: ac\r\n"
				  "Content-Length: %llu\r\n\r\n",
				  rq->method, rq->path,
				  (unsigned long long)rq->file->len);
	if (!rq->body && strcmp(rq->method, "POST") != 0)
		return str_printf("%s %s HTTP/1.1\r\nHost: ac\r\n%s\r\n",
				  rq->method, rq->path, link);
	return str_printf("%s %s HTTP/1.1\r\nHost: ac\r\n%s%s"
			  "Content-Length: %zu\r\n\r\n%s",
			  rq->method, rq->path, link, type, strlen(body), body);
}

/* The body may contain a credential. */
static void text_wipep(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
}

static bool path_is_good(const char *path)
{
	for (; *path; path++)
		if ((unsigned char)*path <= ' ' || *path == 127)
			return false;
	return true;
}

int http_call(struct http *h, const struct http_request *rq)
{
	uint64_t deadline = rq->timeout_ms ? clock_ms() + rq->timeout_ms : 0;
	ATTR_CLEANUP(text_wipep) char *text = request_text(rq);
	bool kept;
	int rc;

	h->status = 0;
	if (!text)
		return -ENOMEM;
	if (!path_is_good(rq->path))
		return -EINVAL;
	do {
		h->again = false;
		kept = is_usable(h->fd);
		if (!kept) {
			fd_closep(&h->fd);
			rc = dial(h);
			h->reached = rc == 0;
			if (rc < 0)
				return rc;
		}
		rc = exchange(h, rq, text, deadline);
		if (rc < 0)
			fd_closep(&h->fd);
	} while (kept && h->again);
	return rc;
}
