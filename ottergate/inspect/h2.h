/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2.h - state and functions that the HTTP/2 engine's files share
 *
 * Two nghttp2 sessions: the front one is the server for the sandbox, the back
 * one the client of the upstream. A front stream has at most one back stream.
 * Callbacks only queue and mark. Bytes move and the connection ends in the step
 * alone, so no callback finds its session gone.
 *
 *	client → front → h2_flow up   → back  → upstream
 *	client ← front ← h2_flow down ← back  ← upstream
 *
 * A flow holds what one side has sent and the other has not taken yet. The
 * sender gets its window back as the other side takes (RFC 9113 §5.2). So the
 * windows bound what is held: H2_WINDOW a stream and H2_CONN_WINDOW in all, in
 * each direction. nghttp2 asks for the bytes of a flow when it can send them;
 * it is told to wait while there are none, or while a limit pauses the
 * direction.
 */
#ifndef OTTERGATE_INSPECT_H2_H
#define OTTERGATE_INSPECT_H2_H

#include <nghttp2/nghttp2.h>

#include "ottergate/inspect/inspect.h"

#define H2_STREAMS_MAX 100u /* that a client may have open */
/* Includes streams that the client has reset and the upstream has yet to
 * close. */
#define H2_STREAMS_KEPT_MAX 200u
#define H2_WINDOW (256 * 1024) /* bytes, of a stream */
#define H2_CONN_WINDOW (1024 * 1024) /* bytes, of a connection */
#define H2_HEAD_MAX \
	(32u * 1024) /* bytes, and 32 more a field (RFC 9113 §6.5.2) */
/* A longer head is answered with 431. It is decoded up to this size, counted
 * the same way; beyond it the connection ends. */
#define H2_HEAD_DECODED_MAX (2 * H2_HEAD_MAX)
/* Bytes of a head as sent, over all its frames, and of what is read with it. */
#define H2_BLOCK_MAX (64u * 1024)
/* Requests that a client may send before it acknowledges our settings, which
 * forbid it a dynamic table (HPACK). */
#define H2_UNACKED_MAX 200u
#define H2_HELD_MAX (4u * 1024 * 1024) /* bytes, of bodies held until judged */
#define H2_INTERIM_MAX 16u /* 1xx responses to one request (H16) */
/* At most so many streams that failed through the client, in so many ms. */
#define H2_RESETS_MAX 200u
#define H2_RESETS_MS 10000u
/* Frames queued for a peer. Beyond it nothing is read from that peer, since
 * what it sends makes more of them. */
#define H2_QUEUE_MAX 1024u
#define H2_ERROR_NONE UINT32_MAX /* no error code of HTTP/2 */

enum h2_side_id { H2_FRONT, H2_BACK };

struct h2_head { /* a head or trailers being read */
	struct ihead h;
	struct slice host, scheme;
	size_t size; /* counted as for H2_HEAD_MAX */
	int status; /* 0: valid so far; else the status to answer with */
};

struct h2_flow {
	struct buf bytes;
	struct h2_head *trailers; /* owned; NULL: none */
	uint32_t owed; /* window bytes that the sender has not got back */
	bool begun; /* the head is queued at the receiver */
	bool waits; /* nghttp2 was told to wait for more */
	bool end; /* no more bytes come */
	bool off; /* further bytes are discarded */
};

struct h2_stream {
	struct h2_stream *next, **link;
	int32_t id[2]; /* by side; -1: no stream there, or closed */
	struct h2_flow up, down;
	struct h2_head *reading; /* head or trailers of the request */
	struct h2_head *request; /* complete, not sent up yet */
	struct h2_head *response; /* head or trailers of the response */
	struct ireq r;
	uint32_t error; /* to reset the client's stream after the last byte */
	uint32_t held; /* bytes of its body in r.held */
	unsigned status; /* sent to the client; 0: none yet */
	uint8_t interim; /* 1xx heads so far */
	bool judged;
	bool told; /* inspect_finished() was called */
	bool head_request;
	bool request_end; /* the client has sent all of it */
	bool request_sent; /* its head went to the upstream */
	bool answered; /* the final response head is read */
	bool response_sent; /* completely */
	bool ours; /* we reset it, or passed on the upstream's reset */
};

struct h2_side {
	nghttp2_session *ng;
	struct itls *tls;
	struct buf out; /* frames to write to the socket */
	bool gone; /* nothing is read or written here any more */
	bool rests; /* a limit pauses bodies to this side */
};

struct h2_memory { /* allocated by nghttp2 for a session */
	size_t bytes;
	bool wiped; /* before it is freed */
};

struct h2 { /* in->state */
	struct inspect *in;
	struct h2_side side[2];
	struct h2_memory memory[2]; /* of the sides */
	struct h2_stream *streams;
	unsigned n_streams;
	size_t held; /* bytes, sum over the streams */
	int32_t head_id; /* stream whose head is being read; 0: none */
	size_t block; /* bytes since the last frame but CONTINUATION began */
	uint64_t decoded; /* bytes of all heads from the client */
	unsigned unacked; /* requests before our settings were acknowledged */
	uint64_t resets_ms; /* when the count below began */
	unsigned resets;
	bool goaway; /* sent to the client */
	bool lost; /* the upstream's connection */
	bool alarmed; /* ends when the client has got its GOAWAY */
};

/* --- inspect/h2_session.c: options, settings, callbacks ------------------ */
/* Creates the session of @side and queues our settings. Returns 0 or
 * -ENOMEM. */
int h2_session_open(struct h2 *h, enum h2_side_id side);

/* --- inspect/h2_head.c --------------------------------------------------- */

/* Returns a head to be freed with h2_head_free(), or NULL without memory. */
struct h2_head *h2_head_new(void);
void h2_head_free(struct h2_head *hd); /* NULL is fine */
/* Adds a field as nghttp2 gives it. A fault in it is kept in hd->status.
 * Returns false if more than H2_HEAD_DECODED_MAX was decoded: the caller ends
 * the connection. */
bool h2_head_field(struct h2_head *hd, bool request, struct slice name,
		   struct slice value, uint8_t flags) ATTR_WUR;
/* Checks the complete head of a request. Returns 0, or the status to answer
 * with; *ret_why is set then. */
int h2_head_request(struct h2_head *hd, enum reason *ret_why) ATTR_WUR;

#define H2_NV_MAX (IHEAD_FIELDS_MAX + 5)
struct h2_nvs {
	nghttp2_nv v[H2_NV_MAX];
	size_t n;
	char number[24], status[8];
};
/* Fill @nvs with views into @h and into @nvs itself. */
void h2_nvs_request(struct h2_nvs *nvs, const struct ihead *h);
void h2_nvs_response(struct h2_nvs *nvs, const struct ihead *h);
void h2_nvs_trailers(struct h2_nvs *nvs, const struct ihead *h);

/* --- inspect/h2_up.c: what comes from the client ------------------------- */
/* Returns a new stream for @id, owned by @h, or NULL if there are
 * H2_STREAMS_KEPT_MAX or no memory. */
struct h2_stream *h2_stream_new(struct h2 *h, int32_t id);
/* The head of the request, s->reading, is complete: judges it, then sends it up
 * or answers. */
void h2_request(struct h2 *h, struct h2_stream *s);
/* Takes a piece of the request's body. */
void h2_request_data(struct h2 *h, struct h2_stream *s, struct slice in);
/* Takes the request's trailers, s->reading. */
void h2_request_trailers(struct h2 *h, struct h2_stream *s);
/* The request is complete. */
void h2_request_end(struct h2 *h, struct h2_stream *s);
/* The client's stream is closed. Frees @s if the upstream's is as well. */
void h2_front_closed(struct h2 *h, struct h2_stream *s, uint32_t error);

/* --- inspect/h2_down.c: what comes from the upstream --------------------- */

/* The response head, s->response, is complete; @end: it has no body. Cleans it
 * and passes it on, or denies. */
void h2_response(struct h2 *h, struct h2_stream *s, bool end);
/* Takes a piece of the response's body and passes on what is masked. */
void h2_response_data(struct h2 *h, struct h2_stream *s, struct slice in);
/* Takes the response's trailers, s->response. */
void h2_response_trailers(struct h2 *h, struct h2_stream *s);
/* Passes on bytes that were held back until in->hold_due. Returns true if there
 * were any. */
bool h2_response_rests(struct h2 *h);
/* The response is complete. */
void h2_response_end(struct h2 *h, struct h2_stream *s);
/* The upstream's stream is closed. Frees @s if the client's is as well. */
void h2_back_closed(struct h2 *h, struct h2_stream *s, uint32_t error);
/* The client was sent the END_STREAM of the response. */
void h2_response_sent(struct h2 *h, struct h2_stream *s);
/* Sends the client a GOAWAY, once: no more requests can be made. */
void h2_drain(struct h2 *h, uint32_t error);
/* The upstream's connection is gone: sends GOAWAY and resets what is not
 * answered completely, once. */
void h2_lost(struct h2 *h);

/* --- inspect/h2_stream.c ------------------------------------------------- */

/* Audits the usage of the stream's request, once. */
void h2_stream_tell(struct h2 *h, struct h2_stream *s);
/* Audits, frees @s and takes it from the list of @h. */
void h2_stream_free(struct h2 *h, struct h2_stream *s);
/* Answers with the text of the verdict of s->r, or resets if another response
 * has begun. @audit: the denial is not in the audit yet. */
void h2_deny(struct h2 *h, struct h2_stream *s, int status, bool audit);
/* Audits that ireq.h has denied the response. If the server has sent the
 * credential back (s->r.reflected), the connection ends after a GOAWAY. */
void h2_refused(struct h2 *h, struct h2_stream *s);
/* Audits @why and answers like h2_deny(), for what this engine refuses. */
void h2_refuse(struct h2 *h, struct h2_stream *s, int status, enum reason why);
/* Answers with in->fail_status and in->fail_why, which are audited already, and
 * sends GOAWAY: the upstream could not be reached. */
void h2_unreachable(struct h2 *h, struct h2_stream *s);
/* Resets @s at the client, after the bytes that are queued for it. */
void h2_cut(struct h2 *h, struct h2_stream *s, uint32_t error);
/* Resets @s at one side, at once. */
void h2_reset(struct h2 *h, struct h2_stream *s, enum h2_side_id side,
	      uint32_t error);
/* Gives up to @n bytes of window, at most f->owed, back to the flow's
 * sender. */
void h2_credit(struct h2 *h, struct h2_stream *s, struct h2_flow *f, size_t n);
/* Discards what the flow holds and what still comes of it. */
void h2_flow_off(struct h2 *h, struct h2_stream *s, struct h2_flow *f);
/* Wakes nghttp2 if it waits for bytes of @f, or for its end. */
void h2_flow_kick(struct h2 *h, struct h2_stream *s, struct h2_flow *f);
/* Returns the source of the flow's bytes for a head that nghttp2 is given. */
nghttp2_data_provider h2_flow_provider(struct h2_stream *s);

static inline nghttp2_session *h2_ng(struct h2 *h, enum h2_side_id side)
{
	return h->side[side].ng;
}

#endif
