/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_client.h - a small blocking HTTP/1.1 client for unix sockets
 */
#ifndef CONTROL_CLI_WIRE_HTTP_CLIENT_H
#define CONTROL_CLI_WIRE_HTTP_CLIENT_H

#include "control/cli/wire/http_parse.h"
#include "control/shared/paths.h"

#define HTTP_IDLE_MS 500u

/* A peer, and at most one connection to it. Read-only for other files. */
struct http {
	const char *sock; /* borrowed */
	int fd; /* CLOEXEC; -1: no connection */
	/* Of the last call: */
	int status; /* 0: no head came */
	char instance[AC_NAME_MAX + 1]; /* that a 101 named; may be "" */
	bool reached; /* the peer listens */
	bool again; /* it failed before the peer can have acted on it */
	size_t start, end; /* unread bytes are rx[start..end) */
	uint8_t rx[HTTP_HEAD_MAX];
	/* Set by the caller between calls; NULL: none. Called every
	 * HTTP_IDLE_MS while nothing comes, to show that it waits. */
	void (*idle)(void *arg);
	void *idle_arg;
};

void http_init(struct http *h, const char *sock);
void http_done(struct http *h); /* accepts a done one */

struct http_file {
	int fd; /* borrowed */
	uint64_t len;
	void (*sent)(void *arg, size_t len); /* progress; may be NULL */
	void *arg;
};

struct http_request {
	const char *method;
	const char *path; /* printable, without spaces; else -EINVAL */
	const char *body; /* JSON, NULL: none */
	/* In place of @body: exactly so many bytes of a file. Such a request is
	 * never repeated. */
	const struct http_file *file;
	bool link; /* ask for an Upgrade to ac-link/1 */
	unsigned timeout_ms; /* of the whole call, 0: none */
	/* Gets the body as it comes, with http.status set. A negative result
	 * ends the call and is returned. NULL: the body is dropped. */
	int (*fn)(void *arg, const char *data, size_t len);
	void *arg;
};

/*
 * Sends a request and passes on the answer, whatever its status. After a
 * complete answer the connection is kept for the next call. 101 to a request
 * with @link is success too: the connection is in @h->fd, to be taken with
 * fd_take(), and what came after the head in @h->rx.
 *
 * Returns 0. If @h->reached is false, the failure is that of connect(2),
 * -ETIMEDOUT after 5 s. Else -ETIMEDOUT; -ECONNRESET if the connection ended
 * before the answer; -EBADMSG if it is no HTTP/1.1; -EPROTONOSUPPORT for 101 to
 * another protocol; -ENODATA if the file has fewer bytes; -ENOMEM. -EINVAL for
 * a malformed path.
 */
int http_call(struct http *h, const struct http_request *rq) ATTR_WUR;

#endif
