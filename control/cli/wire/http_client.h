/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - a small blocking HTTP/1.1 client for unix sockets
 */
#ifndef CONTROL_CLI_WIRE_HTTP_H
#define CONTROL_CLI_WIRE_HTTP_H

#include "control/cli/wire/http_parse.h"

#define HTTP_IDLE_MS 500u

/* A peer and at most one connection to it. Only read from outside. */
struct http {
	const char *sock; /* borrowed */
	int fd; /* CLOEXEC; -1: no connection */
	/* Of the last call: */
	int status; /* 0: no head came */
	bool reached; /* somebody listens there */
	bool again; /* it failed before the peer can have acted on it */
	size_t start, end; /* bytes received and not taken are in rx */
	uint8_t rx[HTTP_HEAD_MAX];
	/* To be set between calls; NULL: none. Called every HTTP_IDLE_MS while
	 * nothing comes, so that a person sees that we wait. */
	void (*idle)(void *arg);
	void *idle_arg;
};

void http_init(struct http *h, const char *sock);
void http_done(struct http *h); /* accepts a done one */

struct http_file {
	int fd; /* borrowed */
	uint64_t len;
	void (*sent)(void *arg, size_t len); /* as they go out; may be NULL */
	void *arg;
};

struct http_request {
	const char *method;
	const char *path; /* printable, without spaces; else -EINVAL */
	const char *body; /* JSON, NULL: none */
	/* Instead of @body: bytes of a file, exactly so many. -ENODATA: it has
	 * fewer. Such a request is never made a second time. */
	const struct http_file *file;
	bool link; /* ask for Upgrade: ac-link/1 */
	unsigned timeout_ms; /* of the whole call, 0: none */
	/* Gets the body as it comes, with http.status set; a negative result
	 * ends the call and is returned. NULL: the body is dropped. */
	int (*fn)(void *arg, const char *data, size_t len);
	void *arg;
};

/*
 * Sends, and hands over the answer, whatever its status. After a whole answer
 * the connection is kept for the next call. 101 to a request with @link is
 * success too: the connection is in @h->fd, to be taken with fd_take(), and
 * what came behind the head in @h->rx.
 *
 * Not @h->reached: the code of connect(2), -ETIMEDOUT after 5 s. Else
 * -ETIMEDOUT; -ECONNRESET: it ended before the answer did; -EBADMSG: no
 * HTTP/1.1; -EPROTONOSUPPORT: 101 to another protocol; -ENOMEM.
 */
int http_call(struct http *h, const struct http_request *rq) ATTR_WUR;

#endif
