/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1.h - HTTP/1 heads and body framing, by llhttp in strict mode
 *
 * What llhttp leaves open is decided here: one Host, no obs-fold, no bare CR
 * or LF, Content-Length once and decimal, never together with
 * Transfer-Encoding, which is exactly "chunked"; no blanks before colons
 * (H1-H3). A request that passes is written anew from its parts, so that no
 * byte of the client's head reaches an upstream as it was. RFC 9112.
 */
#ifndef OTTERGATE_INSPECT_HTTP1_H
#define OTTERGATE_INSPECT_HTTP1_H

#include <sys/types.h>

#include "lib/buf.h"
#include "ottergate/policy/name.h"
#include "ottergate/reason.h"

#define HTTP1_HEAD_MAX (32u * 1024)
#define HTTP1_HEADERS_MAX 128u
#define HTTP1_TARGET_MAX (8u * 1024)
#define HTTP1_CHUNK_HEAD_MAX 256u /* size and extension of one chunk */
#define HTTP1_TRAILERS_MAX (8u * 1024)
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

/* Of requests and responses alike. */
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
	struct slice path; /* with query; "/" at least, for origin and
			    * absolute form */
	struct slice authority; /* of an absolute or authority form */
	struct slice scheme; /* absolute form: "http" */
	struct slice host; /* the Host field, len 0: none (HTTP/1.0 only) */
	bool upgrade; /* asks for a protocol change */
	bool expect_continue;
};

/*
 * Looks for the end of the head that begins with @raw and judges its bytes:
 * lines end in CRLF and nothing else, none is folded, no control bytes. *pos
 * is how far it looked, 0 at first: each byte is walked over once, however
 * the head comes in. The length of the head, -EAGAIN, -EBADMSG, -E2BIG.
 */
ssize_t http1_head_end(struct slice raw, size_t *pos) ATTR_WUR;

/* @raw: everything from the first byte of the request on. -EAGAIN: not
 * complete; -EBADMSG: refuse with 400; -E2BIG: 431; -ENAMETOOLONG: 414;
 * -EOPNOTSUPP: 505/501. */
int http1_request_read(struct slice raw, struct http1_request *ret) ATTR_WUR;

/* How such a refusal is answered, and why. */
int http1_bad_status(int refusal, enum reason *ret_why);

/*
 * Whom the request is for: the authority of its target, else Host; @port when
 * none is written (0: one must be). -EBADMSG: no name and no address; -ENOENT:
 * neither is there; -EPROTO: target and Host differ (H2).
 */
int http1_request_authority(const struct http1_request *rq, uint16_t port,
			    struct name *ret_name, struct addr *ret_addr,
			    uint16_t *ret_port) ATTR_WUR;
/* A WebSocket opening handshake (RFC 6455 §4.1)? */
bool http1_request_websocket(const struct http1_request *rq);
/* May it be sent again when nobody knows what became of it (RFC 9110 §9.2.2)?
 */
bool http1_request_idempotent(const struct http1_request *rq);

/*
 * The head for the upstream: method, path, "Host: @authority", then the
 * fields that are end to end: hop-by-hop ones (RFC 9110 §7.6.1, those named
 * by Connection, Proxy-*, TE, Trailer kept out, Upgrade, Keep-Alive) are left
 * out, as are X-Forwarded-* and Forwarded; framing fields are written anew.
 * @connection: "close", "keep-alive", or "Upgrade" for a WebSocket.
 */
int http1_request_write(const struct http1_request *rq, const char *authority,
			const char *connection, struct buf *out) ATTR_WUR;

struct http1_response {
	struct http1_message m;
	unsigned status;
	struct slice reason; /* view */
	bool until_close, no_body;
	bool websocket; /* 101 that says so */
};
/* @head_request: the request was HEAD. 1xx heads are
 * returned like others (no_body). */
int http1_response_read(struct slice raw, bool head_request,
			struct http1_response *ret) ATTR_WUR;
/* The head for the client, hop-by-hop fields left out as above. @connection
 * NULL: that of a 1xx, which says nothing about it. */
int http1_response_write(const struct http1_response *rs,
			 const char *connection, struct buf *out) ATTR_WUR;

/* Where a body ends. Bytes are passed through; chunk framing is checked. That
 * of requests may hold neither extensions nor trailers: nobody needs them, and
 * readers differ about where they end. */
struct http1_body {
	enum http1_body_kind {
		BODY_NONE,
		BODY_LENGTH,
		BODY_CHUNKED,
		BODY_UNTIL_CLOSE,
	} kind;
	uint64_t left;
	uint8_t state; /* of the chunked reader */
	uint16_t head; /* bytes of the chunk head or trailer so far */
	bool plain; /* neither extensions nor trailers */
	bool done;
};
void http1_body_of_request(struct http1_body *b,
			   const struct http1_request *rq);
void http1_body_of_response(struct http1_body *b,
			    const struct http1_response *rs);
/* How many bytes of @raw belong to the body (b->done when it ends with
 * them). -EBADMSG: framing that lies. */
ssize_t http1_body_feed(struct http1_body *b, struct slice raw) ATTR_WUR;
/*
 * The same with the framing taken off: *ret_data is the content among the
 * bytes that were used, one run of it at most, so call until all is used.
 * Lines of trailers are appended to @trailers. -ENOMEM, -ENOBUFS: there.
 */
ssize_t http1_body_take(struct http1_body *b, struct slice raw,
			struct slice *ret_data, struct buf *trailers) ATTR_WUR;

#endif
