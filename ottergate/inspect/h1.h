/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1.h - state and functions that the HTTP/1.1 engine's files share
 *
 * Included by the h1*.c files only; other code uses inspect.h.
 *
 *	client ─ TLS ─→ cin ─ request ─→ up ─ TLS ─→ upstream
 *	client ←─ TLS ─ down ←─ response ─ uin ←─ TLS ─ upstream
 */
#ifndef OTTERGATE_INSPECT_H1_H
#define OTTERGATE_INSPECT_H1_H

#include "ottergate/inspect/http1.h"
#include "ottergate/inspect/inspect.h"

#define H1_READ_MAX (16u * 1024) /* bytes; a TLS record (RFC 8446 §5.1) */
/* Bytes of a body that a parser gets between two checks whether the turn is
 * over (inspect_spent()). */
#define H1_SLICE 4096u
#define H1_INTERIM_MAX 16u /* 1xx responses to one request (H16) */
/* Hard maximum of `up` and `down`, bytes. Reading stops when a queue holds
 * INSPECT_IO_MAX; the rest is room for what one step can add: a head, a body
 * that was held until it was judged, bytes that the mask had held back. */
#define H1_QUEUE_MAX (1024u * 1024)

enum h1_state {
	H1_HEAD, /* reads the head of the next request */
	H1_EXCHANGE, /* request goes up, response comes down, concurrently */
	H1_FRAMES, /* after 101: frames pass both ways */
	H1_ENDING, /* sends what is in `down`, then closes */
};

struct h1_request {
	struct ireq r;
	struct ihead *head; /* owned; NULL once written to `up` */
	struct http1_body body;
	bool open; /* r is between ireq_begin() and ireq_end() */
	bool told; /* inspect_finished() was called */
	bool chunked; /* the body goes up in chunks */
	bool old; /* HTTP/1.0 */
	bool keep; /* the client wants to keep the connection */
	bool websocket; /* asked for, and the rule allows it */
	bool expect; /* 100-continue, to be passed on */
	bool written; /* the head is in `up`: the upstream may have seen it */
	bool refused; /* the upstream reads no more */
};

struct h1_response {
	struct http1_body body;
	struct buf trailers;
	unsigned status; /* of the final head; 0: not read yet */
	uint8_t interim; /* 1xx heads so far */
	bool chunked; /* towards the client */
	bool keep; /* the connection stays open after it */
	bool answered; /* a byte of a final response is in `down` */
};

struct h1 { /* in->state */
	struct inspect *in;
	uint8_t state; /* enum h1_state */
	bool cut; /* H1_ENDING: the message is incomplete, so end by reset */
	bool upstream_end; /* the upstream sends no more */
	size_t cin_scanned, uin_scanned; /* *pos of http1_head_end() */
	unsigned served; /* requests that this upstream has answered */
	struct buf cin, up, uin, down; /* up: buf_secret() */
	struct buf again; /* buf_secret(); a head that may be sent again */
	struct h1_request rq;
	struct h1_response rs;
};

/* Result of a step. H1_GO: bytes or state moved. H1_WAIT: nothing can move
 * before the next event. H1_STOP: the connection is closed or being dialled
 * again; the caller returns at once. */
enum h1_step { H1_GO, H1_WAIT, H1_STOP };

/* --- inspect/h1.c --- */

/* Reads once from @from and appends to @to, which holds at most @max bytes.
 * Returns the number of bytes, 0 at close_notify, or a negative errno: -EAGAIN,
 * -ENOBUFS if @to is full, -EPIPE if the connection was cut off, -EPROTO,
 * -ENOMEM. */
ssize_t h1_fill(struct itls *from, struct buf *to, size_t max);
/* Audits @why, answers with @status and ends the connection; for requests that
 * were refused before any rule was applied. Returns H1_GO or H1_STOP. */
enum h1_step h1_refuse(struct h1 *h, int status, enum reason why);
/* Answers with the text of the verdict of h->rq.r, after ireq.h has denied.
 * @audit: the denial is not in the audit yet. Keeps the connection only if the
 * whole request was read and none of it was written. Returns H1_GO or
 * H1_STOP. */
enum h1_step h1_deny(struct h1 *h, int status, bool audit);
/* Ends the request, whose answer had @status: audits its usage (once) and frees
 * its head. Does nothing twice. */
void h1_request_end(struct h1 *h, unsigned status);
/* Wipes and empties @b and frees its memory: it may hold a credential. */
void h1_wipe(struct buf *b);
/* Returns the first bytes of @b, at most H1_SLICE; a view into @b. */
struct slice h1_slice(const struct buf *b);
/* Wipes the first @n bytes of @b and removes them. */
void h1_consume(struct buf *b, size_t n);

/* --- inspect/h1_up.c --- */
/* Reads from the client and moves its request on to `up`. */
enum h1_step h1_client_step(struct h1 *h);
/* --- inspect/h1_down.c --- */
/* Reads from the upstream and moves its response on to `down`. */
enum h1_step h1_upstream_step(struct h1 *h);

/* --- inspect/h1_head.c: between parsed heads and struct ihead --- */

/* Copy a parsed head into @ret, which is initialised and which the caller
 * releases. Leave out hop-by-hop fields, framing fields and fields about the
 * client's origin. Return 0, -E2BIG or -ENOMEM, or -EBADMSG. */
int h1_request_head(const struct http1_request *rq, struct ihead *ret) ATTR_WUR;
int h1_response_head(const struct http1_response *rs,
		     struct ihead *ret) ATTR_WUR;
/* Write a head with framing fields of our own. Return 0, -ENOMEM, -ENOBUFS, or
 * -EBADMSG if a name or value has a CR, LF or NUL. */
int h1_request_write(const struct h1_request *rq, struct buf *out) ATTR_WUR;
/* The status decides which framing fields are written; 1xx and 204 get none.
 * @connection: a whole line with its CRLF, or NULL for none. */
int h1_response_write(const struct ihead *h, const struct h1_response *rs,
		      const char *connection, struct buf *out) ATTR_WUR;
/* Adds the trailer fields in @lines, which http1_body_take() has collected, to
 * @ret. Returns 0, -E2BIG, -ENOMEM, or -EBADMSG for a line that is malformed,
 * repeated or no trailer (RFC 9110 §6.5.1). */
int h1_trailers_read(struct slice lines, struct ihead *ret) ATTR_WUR;
/* Appends the fields of @h as lines. Returns like h1_request_write(). */
int h1_fields_write(const struct ihead *h, struct buf *out) ATTR_WUR;
/* Appends @data as one chunk (RFC 9112 §7.1), or nothing if @data is empty.
 * Returns 0, -ENOMEM or -ENOBUFS. */
int h1_chunk_write(struct slice data, struct buf *out) ATTR_WUR;

#endif
