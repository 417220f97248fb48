/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - the HTTP/1.1 server of acd, over libmicrohttpd inside the loop
 *
 * A handler gets a request with its whole body (JSON, at most HTTP_BODY_MAX;
 * for PUT see http_body_take()). It answers now or later, exactly once, by
 * http_reply_*() or http_upgrade(), which end its use of the request. If the
 * client leaves first, the function of http_on_abort() is called, and the
 * request must not be used any more. A handler without such a function must
 * still answer; the answer is dropped.
 */
#ifndef CONTROL_ACD_API_HTTP_SERVER_H
#define CONTROL_ACD_API_HTTP_SERVER_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/loop.h"
#include "lib/schema.h"
#include "lib/slice.h"

#define HTTP_BODY_MAX (1024u * 1024)
#define HTTP_CONNECTIONS_MAX 512u
#define HTTP_STREAM_MAX (256u * 1024) /* bytes waiting in a stream */

struct http;
struct http_req;

typedef void (*http_handler_fn)(void *ctx, struct http_req *req);

/* What a call gives, if it does not fail. */
struct http_answer {
	int status;
	const char *about;
	const char *media; /* NULL: it has no body */
	/* What a body of JSON is, each line of it, or the data of each event. */
	const struct schema *is;
	const char *header, *header_about; /* that it has besides; or NULL */
};

#define HTTP_FAILS_MAX 12

/*
 * What a call takes and gives. Before its handler runs, the members of the body
 * and the numbers of the query are checked by it, as jsonx_fit() says; a
 * request that does not fit is answered with 400. Parameters of the query
 * without a row are ignored. The rest is for its readers (openapi.h).
 */
struct http_call {
	/* The parameters of the path, in their order; NULL: no more. */
	const struct schema *path, *path_more;
	const struct schema *query; /* a map; NULL: none */
	const struct schema *headers; /* likewise; its handler checks them */
	const struct schema *body; /* a map; NULL: no member may be there */
	bool raw; /* the body is bytes that the handler takes: a PUT, a POST */
	bool bytes; /* the body is kept as it is, for http_body_bytes() */
	const char *id; /* a word of its own */
	const char *summary; /* one line */
	const char *about; /* sentences; may be NULL */
	const struct http_answer *answers; /* end with the status 0 */
	/* Statuses of failures, besides 400; 0: no more. */
	unsigned short fails[HTTP_FAILS_MAX];
};

struct http_route {
	const char *method; /* "GET"; "*": any */
	/* "/v1/instances/{name}/run"; "/v1/…*": whatever begins so */
	const char *path;
	http_handler_fn fn;
	const struct http_call *call; /* NULL: nothing is checked */
};

/* Returns a server, or NULL with @err. @routes ends with a NULL method; it and
 * @ctx are borrowed. An unknown path gets 404, a known one with another method
 * 405. */
struct http *http_new(struct loop *loop, const struct http_route *routes,
		      void *ctx, struct err *err);
/* Listens at @sock_path, mode 0600, owned by @owner. Once only. Returns 0 or a
 * negative errno with @err. */
int http_listen(struct http *h, const char *sock_path, uid_t owner, gid_t group,
		struct err *err);
/* To be called before http_listen(): sets after how many seconds an idle
 * connection is closed; 120 by default. A request that waits for its handler, a
 * stream and an upgrade have no limit. */
void http_set_idle(struct http *h, unsigned seconds);
/* Starts a server that does not listen: http_take() gives it its connections.
 * Instead of http_listen(). A client that ends its sending half has left: behind
 * ac-edge that is all there is to see of one that closes. */
int http_start(struct http *h, struct err *err);
/* Serves the accepted socket @fd, which it takes in any case; closes it at once
 * beyond HTTP_CONNECTIONS_MAX. */
void http_take(struct http *h, int fd);

/*
 * Sets who judges each request before its body is read. @fn returns true if it
 * may go on, or refuses it by http_guard_refuse() and returns false. @call is that of
 * its route. To be called once, before the server starts.
 */
typedef bool (*http_guard_fn)(void *arg, struct http_req *req,
			      const struct http_call *call);
void http_set_guard(struct http *h, http_guard_fn fn, void *arg);
/* For a guard: gives the request a number that its handler reads. Without a guard
 * it is 0. */
void http_set_rights(struct http_req *req, unsigned rights);
unsigned http_rights(const struct http_req *req);
#define HTTP_HELD_MAX 32u /* refusals that are held back at a time */
/* For a guard: answers with @status and the message of @err, and with
 * "WWW-Authenticate: Bearer" if that is 401 (RFC 9110, section 11.6.1). A 401 is
 * held back for @hold_ms, or with HTTP_HELD_MAX held already becomes a 429. */
void http_guard_refuse(struct http_req *req, unsigned status, const char *code,
		       const struct err *err, unsigned hold_ms);
/* The same with a body of the caller's, which is released. */
void http_guard_answer(struct http_req *req, unsigned status,
		       json_t *takes_body, unsigned hold_ms);

/* Ends all connections and frees the server. NULL is fine. */
void http_free(struct http *h);

/* Return a parameter of the path ("name") or the query, borrowed; NULL if
 * absent. Those of the query and headers are NULL after the client has left. */
const char *http_param(struct http_req *req, const char *key);
const char *http_query(struct http_req *req, const char *key);
bool http_query_flag(struct http_req *req, const char *key); /* 1 or true */
/* Returns a number of the query, which its call has a row for; @def if it is
 * absent. */
uint64_t http_query_u64(struct http_req *req, const char *key, uint64_t def);
/* Returns the body, a borrowed object; {} without a body, NULL for one that is
 * bytes. */
json_t *http_body(struct http_req *req);
/* Returns the body of a call that keeps it as it is; a view. */
struct slice http_body_bytes(const struct http_req *req);
bool http_wants_upgrade(struct http_req *req); /* Upgrade: ac-link/1 */
/* Sets the function that is called if the client leaves before the answer. */
void http_on_abort(struct http_req *req, void (*fn)(void *arg), void *arg);
const char *http_header(struct http_req *req, const char *key); /* or NULL */

/*
 * Takes the body of a PUT or another raw call, which is bytes of any number; its handler is called
 * before they come, and must call this or answer. @fn takes what it can and
 * returns how much. After less than all it is called again after
 * http_body_resume(). @end is called after the last byte. After an answer the
 * rest is dropped, and the answer is sent behind it, since a client that writes
 * does not read.
 */
void http_body_take(struct http_req *req,
		    size_t (*fn)(void *arg, struct slice data),
		    void (*end)(void *arg), void *arg);
/* Offers the bytes that @fn has not taken again. */
void http_body_resume(struct http_req *req);

/* Releases @takes_body. If it is NULL (no memory), ends the connection without
 * an answer. */
void http_reply_json(struct http_req *req, int status, json_t *takes_body);
/* The same with a header besides; both are copied. */
void http_reply_json_with(struct http_req *req, int status, json_t *takes_body,
			  const char *key, const char *value);
void http_reply_empty(struct http_req *req); /* 204 */
/* Answers {"error": {"code": CODE, "message": …}} with the status for the
 * errno: ENOENT 404; EEXIST, EBUSY, EALREADY 409; EINVAL 400; EMSGSIZE 413; EPERM 403;
 * ENOTSUP, ENODEV 501; EAGAIN, ENOSPC 503; others 500. CODE is a stable word:
 * @code, or for NULL that of the errno ("not_found", "conflict", "invalid",
 * "too_large", "unsupported", "unavailable", "internal"). */
void http_reply_error(struct http_req *req, const struct err *err,
		      const char *code);
/* Does the same, adding the members of @takes_more (NULL: none), which is
 * released. For @code NULL, CODE is the word of @err, if it has one. */
void http_reply_refusal(struct http_req *req, const struct err *err,
			const char *code, json_t *takes_more);

/*
 * Answers with a body of unknown length, sent as it is written. The stream is
 * valid until http_stream_end(), or until @on_abort returns: the client has
 * left. If @on_abort is NULL, writes then fail with -EPIPE, and
 * http_stream_end() is still due. @on_room is called when half of
 * HTTP_STREAM_MAX is free, possibly more often than needed. Returns NULL
 * without memory: the request is over.
 */
struct http_stream;
struct http_stream *http_reply_stream(struct http_req *req,
				      const char *content_type,
				      void (*on_room)(void *arg),
				      void (*on_abort)(void *arg), void *arg);
/* Returns how many bytes can be written; 0 after the client has left. */
size_t http_stream_room(const struct http_stream *s);
/* Writes all or nothing. Returns 0, -ENOBUFS beyond the room, -ENOMEM, or
 * -EPIPE if the client has left. */
int http_stream_write(struct http_stream *s, const void *data, size_t len);
/* Ends the stream, which must not be used any more. */
void http_stream_end(struct http_stream *s);
/* Ends a stream that is incomplete: the client's connection breaks. */
void http_stream_fail(struct http_stream *s);

/*
 * As http_reply_stream() for a known length, as application/octet-stream:
 * exactly @size bytes must be written before the end; UINT64_MAX: unknown.
 * @range, if not NULL, is the Content-Range, and the status 206.
 */
struct http_stream *http_reply_file(struct http_req *req, uint64_t size,
				    const char *range,
				    void (*on_room)(void *arg),
				    void (*on_abort)(void *arg), void *arg);

/* To be called before http_upgrade(): adds the header @key (static) with @value
 * (copied) to the 101. One a request. */
void http_upgrade_header(struct http_req *req, const char *key,
			 const char *value);

/* Answers 101. @fn then gets a raw, non-blocking socket, which it owns, and in
 * @early the bytes that the client has sent already (a view). @fd is -1 if the
 * client has left or a socket cannot be made, possibly before this returns. */
void http_upgrade(struct http_req *req,
		  void (*fn)(void *arg, int fd, struct slice early), void *arg);

#endif
