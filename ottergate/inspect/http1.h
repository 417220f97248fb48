/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1.h - HTTP/1 heads and body framing, by llhttp in strict mode
 *
 * Decides what llhttp leaves open: one Host, no obs-fold, no bare CR or LF,
 * Content-Length once and decimal, never together with Transfer-Encoding, which
 * is exactly "chunked"; no blanks before colons (H1-H3). A request that passes
 * is written from its parts, so no byte of the client's head reaches an
 * upstream as it was. RFC 9112.
 */
#ifndef OTTERGATE_INSPECT_HTTP1_H
#define OTTERGATE_INSPECT_HTTP1_H

#include <sys/types.h>

#include "lib/buf.h"
#include "ottergate/policy/net/name.h"
#include "ottergate/reason.h"

#define HTTP1_HEAD_MAX (32u * 1024)
#define HTTP1_HEADERS_MAX 128u
#define HTTP1_TARGET_MAX (8u * 1024)
#define HTTP1_CHUNK_HEAD_MAX 256u /* size and extension of one chunk */
#define HTTP1_TRAILERS_MAX (8u * 1024) /* bytes */
#define HTTP1_CONNECTION_MAX 16u /* members of all Connection fields */

struct http1_field {
	struct slice name, value; /* views into the head */
};

enum http1_form {
	HTTP1_ORIGIN,
	HTTP1_ABSOLUTE,
	HTTP1_AUTHORITY,
	HTTP1_ASTERISK
};

/* Common to requests and responses. */
struct http1_message {
	uint8_t minor; /* HTTP/1.minor */
	bool keep_alive;
	bool chunked, has_length;
	uint64_t length;
	struct http1_field fields[HTTP1_HEADERS_MAX];
	size_t n_fields;
	size_t head_len; /* bytes of the head, blank line included */
};

struct http1_request {
	struct http1_message m;
	struct slice method, target; /* views */
	enum http1_form form;
	struct slice path; /* with query; not empty for origin and absolute
			    * form */
	struct slice authority; /* of an absolute or authority form */
	struct slice scheme; /* absolute form: "http" */
	struct slice host; /* the Host field; len 0: none (HTTP/1.0 only) */
	bool upgrade; /* asks for another protocol */
	bool expect_continue;
};

/*
 * Finds the end of the head that begins with @raw and checks its bytes: lines
 * end in CRLF, none is folded, no control bytes. *pos is how far it has looked;
 * the caller sets it to 0 once and keeps it, so each byte is read once. Returns
 * the length of the head, -EAGAIN if it is incomplete, -EBADMSG, or -E2BIG
 * beyond HTTP1_HEAD_MAX.
 */
ssize_t http1_head_end(struct slice raw, size_t *pos) ATTR_WUR;

/* Parses the request head at the beginning of @raw; *ret has views into @raw.
 * Returns 0, -EAGAIN if it is incomplete, or a refusal: -EBADMSG, -E2BIG,
 * -ENAMETOOLONG, -EOPNOTSUPP (http1_bad_status() has their statuses). */
int http1_request_read(struct slice raw, struct http1_request *ret) ATTR_WUR;

/* Returns the status for a refusal of http1_request_read() (400, 414, 431, 501)
 * and its reason in *ret_why. */
int http1_bad_status(int refusal, enum reason *ret_why);

/*
 * Finds the host that the request is for: the authority of its target, else
 * Host. @port is used if neither names one; if @port is 0, one must be named.
 * Sets *ret_name or *ret_addr. Returns 0; -ENOENT if there is neither authority
 * nor Host; -EBADMSG if it is no name and no address; -EPROTO if target and
 * Host differ (H2).
 */
int http1_request_authority(const struct http1_request *rq, uint16_t port,
			    struct name *ret_name, struct addr *ret_addr,
			    uint16_t *ret_port) ATTR_WUR;
/* Returns true for a WebSocket opening handshake (RFC 6455 §4.1). */
bool http1_request_websocket(const struct http1_request *rq);
/* Returns true if the request may be sent again without knowing whether the
 * first was served (RFC 9110 §9.2.2). */
bool http1_request_idempotent(const struct http1_request *rq);

/*
 * Appends the head for the upstream: method, path, "Host: @authority", then the
 * end-to-end fields. Left out are the hop-by-hop fields (http1_hop_by_hop()),
 * X-Forwarded-*, Forwarded and Trailer; framing fields are written from what
 * was parsed. @connection: "close", "keep-alive", or "Upgrade" for a WebSocket.
 * Returns 0, -ENOMEM, -ENOBUFS or -EBADMSG.
 */
int http1_request_write(const struct http1_request *rq, const char *authority,
			const char *connection, struct buf *out) ATTR_WUR;

struct http1_response {
	struct http1_message m;
	unsigned status;
	struct slice reason; /* view */
	bool until_close, no_body;
	bool websocket; /* a 101 that switches to it */
};
/* Parses a response head like http1_request_read(). @head_request: the request
 * was HEAD. A 1xx head is returned like others, with no_body. */
int http1_response_read(struct slice raw, bool head_request,
			struct http1_response *ret) ATTR_WUR;
/* Appends the head for the client, without hop-by-hop fields. @connection is as
 * above, NULL for 1xx. Returns like http1_request_write(). */
int http1_response_write(const struct http1_response *rs,
			 const char *connection, struct buf *out) ATTR_WUR;

/* Finds where a body ends and checks its chunk framing. Chunks of a request may
 * have neither extensions nor trailers: clients do not need them, and servers
 * differ about where they end. */
struct http1_body {
	enum http1_body_kind {
		BODY_NONE,
		BODY_LENGTH,
		BODY_CHUNKED,
		BODY_UNTIL_CLOSE,
	} kind;
	uint64_t left; /* bytes, of the body or of the chunk */
	uint8_t state; /* of the chunked reader */
	uint16_t head; /* bytes of the chunk head or trailer so far */
	bool plain; /* allows neither extensions nor trailers */
	bool done;
};
/* Initialise @b; it holds no memory and needs no release. */
void http1_body_of_request(struct http1_body *b,
			   const struct http1_request *rq);
void http1_body_of_response(struct http1_body *b,
			    const struct http1_response *rs);
/* Returns how many bytes of @raw belong to the body; sets b->done if the body
 * ends with them. Returns -EBADMSG for invalid framing. */
ssize_t http1_body_feed(struct http1_body *b, struct slice raw) ATTR_WUR;
/*
 * Does the same and removes the framing: *ret_data is one run of content (a
 * view into @raw) among the bytes that the return value counts, so call again
 * until all are used. Appends trailer lines to @trailers; returns -ENOMEM or
 * -ENOBUFS if that fails.
 */
ssize_t http1_body_take(struct http1_body *b, struct slice raw,
			struct slice *ret_data, struct buf *trailers) ATTR_WUR;

#endif
