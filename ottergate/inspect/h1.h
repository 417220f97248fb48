/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1.h - what the files of inspection over HTTP/1.1 share
 *
 * For the inspect_h1*.c files alone; others see inspect.h.
 *
 *	client ─ TLS ─→ cin ─ request ─→ up ─ TLS ─→ upstream
 *	client ←─ TLS ─ down ←─ response ─ uin ←─ TLS ─ upstream
 */
#ifndef OTTERGATE_INSPECT_H1_H
#define OTTERGATE_INSPECT_H1_H

#include "ottergate/inspect/http1.h"
#include "ottergate/inspect/inspect.h"

#define H1_READ_MAX (16u * 1024) /* a record (RFC 8446 §5.1) */
#define H1_SLICE \
	4096u /* of a body, for a parser, between two looks at the turn */
#define H1_INTERIM_MAX 16u /* 1xx responses to one request (H16) */
/* No more is read for a queue that holds INSPECT_IO_MAX. Beyond that it may
 * hold what one step can add: a body that was judged whole, a head, what the
 * mask had held back. */
#define H1_QUEUE_MAX (1024u * 1024)

enum h1_state {
	H1_HEAD, /* of the next request */
	H1_EXCHANGE, /* a request up, its response down, at the same time */
	H1_FRAMES, /* after 101 */
	H1_ENDING, /* what is in `down` goes out, then it is over */
};

struct h1_request {
	struct ireq r;
	struct ihead *head; /* until it is written to `up` */
	struct http1_body body;
	bool open; /* r is between ireq_begin() and ireq_end() */
	bool told; /* what it has used */
	bool chunked; /* sent so */
	bool old; /* HTTP/1.0 */
	bool keep; /* the client wants to go on */
	bool websocket; /* asked for, and the rule allows it */
	bool expect; /* 100-continue, to be passed on */
	bool written; /* the head is in `up`: the upstream may know of it */
	bool refused; /* the upstream takes no more */
};

struct h1_response {
	struct http1_body body;
	struct buf trailers;
	unsigned status; /* of the final head; 0: not yet */
	uint8_t interim;
	bool chunked; /* towards the client */
	bool keep; /* the connection goes on after it */
	bool answered; /* a byte of a final answer is in `down` */
};

struct h1 { /* in->state */
	struct inspect *in;
	uint8_t state; /* enum h1_state */
	bool cut; /* ENDING: the message is not whole, and that shows */
	bool upstream_end; /* it sends no more */
	size_t cin_scanned, uin_scanned;
	unsigned served; /* requests that this upstream has answered */
	struct buf cin, up, uin, down; /* up: buf_secret() */
	struct buf again; /* a head that may be sent a second time; the same */
	struct h1_request rq;
	struct h1_response rs;
};

/* Results of a step: something moved, wait for an event, the connection is
 * over or is dialled anew: nothing more may be done. */
enum h1_step { H1_GO, H1_WAIT, H1_STOP };

/* --- inspect/h1.c --- */

/* Reads from one side into @to, at most up to @max bytes in all. Bytes, 0 at
 * the end, -EAGAIN, -ENOBUFS at @max, -EPIPE, -EPROTO, -ENOMEM. */
ssize_t h1_fill(struct itls *from, struct buf *to, size_t max);
/* Answers for ourselves, audits nothing. @keep: the connection may go on. */
enum h1_step h1_answer(struct h1 *h, int status, enum reason why,
		       const char *text, size_t len, bool keep);
/* Audits and answers what no rule has judged; the end. */
enum h1_step h1_refuse(struct h1 *h, int status, enum reason why);
/* Answers what ireq.h has denied. @audit: it was not said yet. */
enum h1_step h1_deny(struct h1 *h, int status, bool audit);
/* The request and its answer are over; @status went to the client. */
void h1_request_end(struct h1 *h, unsigned status);
/* Wipes: what goes up may hold a credential. */
void h1_wipe(struct buf *b);
/* The beginning of what is there, H1_SLICE at most. */
struct slice h1_slice(const struct buf *b);
void h1_consume(struct buf *b, size_t n);

/* --- inspect/h1_up.c --- */

enum h1_step h1_client_step(struct h1 *h);
/* --- inspect/h1_down.c --- */

enum h1_step h1_upstream_step(struct h1 *h);

/* --- inspect/h1_head.c: heads from what llhttp read, and back --- */

/* Fields of one hop, of the framing and of origin left out. -E2BIG, -ENOMEM,
 * -EBADMSG. @ret is initialised. */
int h1_request_head(const struct http1_request *rq, struct ihead *ret) ATTR_WUR;
int h1_response_head(const struct http1_response *rs,
		     struct ihead *ret) ATTR_WUR;
/* -EBADMSG: a byte that has no place there. */
int h1_request_write(const struct h1_request *rq, struct buf *out) ATTR_WUR;
/* @status decides what framing is said; 1xx says none. */
int h1_response_write(const struct ihead *h, const struct h1_response *rs,
		      const char *connection, struct buf *out) ATTR_WUR;
/* Lines that http1_body_take() collected, judged, each field once. */
int h1_trailers_read(struct slice lines, struct ihead *ret) ATTR_WUR;
int h1_fields_write(const struct ihead *h, struct buf *out) ATTR_WUR;
/* A chunk (RFC 9112 §7.1); nothing for no bytes. */
int h1_chunk_write(struct slice data, struct buf *out) ATTR_WUR;

#endif
