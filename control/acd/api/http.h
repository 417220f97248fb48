/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - the HTTP/1.1 server of acd, over libmicrohttpd inside our loop
 *
 * A handler gets a request with its whole body (JSON, at most HTTP_BODY_MAX;
 * but see http_body_take() for PUT) and answers it now or later, exactly
 * once, by one of the http_reply_* calls or by http_upgrade(). If the client goes away first, on_abort (set
 * by http_on_abort()) is called and the request must not be used any more. A
 * handler that set none answers nevertheless; nobody hears it.
 */
#ifndef CONTROL_ACD_API_HTTP_H
#define CONTROL_ACD_API_HTTP_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/loop.h"
#include "lib/slice.h"

#define HTTP_BODY_MAX (1024u * 1024)
#define HTTP_CONNECTIONS_MAX 512u
#define HTTP_STREAM_MAX (256u * 1024) /* bytes waiting in a stream */

struct http;
struct http_req;

typedef void (*http_handler_fn)(void *ctx, struct http_req *req);

struct http_route {
	const char *method; /* "GET" */
	const char *path; /* "/v1/instances/{name}/run" */
	http_handler_fn fn;
};

/* @routes: ends with a NULL method, kept by reference, so is @ctx. Unknown
 * paths get 404, known paths with another method 405, both as errors. */
struct http *http_new(struct loop *loop, const struct http_route *routes,
		      void *ctx, struct err *err);
int http_listen(struct http *h, const char *sock_path, uid_t owner, gid_t group,
		struct err *err); /* mode 0600 */
/* Before http_listen(): after how long a connection that does nothing is
 * closed; 120 by default. A request that waits for its handler, a stream and
 * an upgrade may take any time. */
void http_set_idle(struct http *h, unsigned seconds);
void http_free(struct http *h);

/* Path parameter ("name"), query parameter; NULL when absent. Borrowed. */
const char *http_param(struct http_req *req, const char *key);
const char *http_query(struct http_req *req, const char *key);
bool http_query_flag(struct http_req *req, const char *key); /* 1 or true */
json_t *http_body(struct http_req *req); /* borrowed object, {} when none */
bool http_wants_upgrade(struct http_req *req); /* Upgrade: ac-link/1 */
void http_on_abort(struct http_req *req, void (*fn)(void *arg), void *arg);
const char *http_header(struct http_req *req, const char *key); /* or NULL */

/*
 * The body of a PUT is no JSON but bytes of any number, and its handler is
 * called before they are there. It calls this at once, or else answers. @fn
 * takes what it can and returns how much; when that is not all it is called
 * again after http_body_resume(). @end: that was all. Once there is an answer
 * the rest is thrown away, and the answer goes out behind it: who is writing
 * does not read.
 */
void http_body_take(struct http_req *req,
		    size_t (*fn)(void *arg, struct slice data),
		    void (*end)(void *arg), void *arg);
void http_body_resume(struct http_req *req);

void http_reply_json(struct http_req *req, int status, json_t *takes_body);
void http_reply_empty(struct http_req *req); /* 204 */
/* {"error": {"code": CODE, "message": …}} with the status that fits the
 * errno: ENOENT 404, EEXIST EBUSY EALREADY 409, EINVAL 400, EMSGSIZE 413,
 * ENOTSUP 501, EAGAIN ENOSPC 503, others 500. CODE is a stable word
 * ("not_found", "conflict", "invalid", "too_large", "unsupported",
 * "unavailable", "internal"), or @code when not NULL. */
void http_reply_error(struct http_req *req, const struct err *err,
		      const char *code);

/*
 * A body of unknown length, sent as it comes. The stream lives until
 * http_stream_end() or until on_abort() returns (the client left; NULL: writes
 * fail with -EPIPE then, and http_stream_end() is still due). on_room() tells
 * that bytes have left and half of HTTP_STREAM_MAX is free, possibly more
 * often than needed. NULL without memory: the request is over.
 */
struct http_stream;
struct http_stream *http_reply_stream(struct http_req *req,
				      const char *content_type,
				      void (*on_room)(void *arg),
				      void (*on_abort)(void *arg), void *arg);
size_t http_stream_room(const struct http_stream *s);
/* All of it or nothing: -ENOBUFS past the room, -EPIPE: the client left. */
int http_stream_write(struct http_stream *s, const void *data, size_t len);
void http_stream_end(struct http_stream *s);
/* The same for a stream that did not become what it should: the client sees
 * its connection break. */
void http_stream_fail(struct http_stream *s);

/*
 * A stream whose length is known: exactly @size bytes have to be written before
 * its end; UINT64_MAX: the end tells. @range: NULL, or the Content-Range that makes it an answer with
 * the status 206.
 */
struct http_stream *http_reply_file(struct http_req *req, uint64_t size,
				    const char *range,
				    void (*on_room)(void *arg),
				    void (*on_abort)(void *arg), void *arg);

/* 101 and then a raw, non-blocking socket that the callback's receiver owns;
 * @early are bytes that the client sent already. fd -1: the client left (then
 * possibly before http_upgrade() returns). */
void http_upgrade(struct http_req *req,
		  void (*fn)(void *arg, int fd, struct slice early), void *arg);

#endif
