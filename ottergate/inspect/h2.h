/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2.h - what the files of the HTTP/2 engine share
 *
 * Two nghttp2 sessions: the front one is the server of the sandbox, the back
 * one the client of the upstream. A stream of the front has at most one of the
 * back. Callbacks only queue and mark; bytes move, and the connection ends, in
 * the step alone, so no callback finds its session gone.
 *
 *	client → front → h2_flow up   → back  → upstream
 *	client ← front ← h2_flow down ← back  ← upstream
 *
 * A flow is what one side has sent and the other not yet taken. Its sender
 * gets its window back as the other side takes (RFC 9113 §5.2), so the windows
 * bound what is held: H2_WINDOW of a stream and H2_CONN_WINDOW of all, each
 * way. nghttp2 asks for the bytes of a flow when it can send them, and is told
 * "later" while there are none, or while a limit makes the direction rest.
 */
#ifndef OTTERGATE_INSPECT_H2_H
#define OTTERGATE_INSPECT_H2_H

#include <nghttp2/nghttp2.h>

#include "ottergate/inspect/inspect.h"

#define H2_STREAMS_MAX 100u /* that a client may have open */
/* With those that it has reset while the upstream knows nothing of it yet. */
#define H2_STREAMS_KEPT_MAX 200u
#define H2_WINDOW (256 * 1024) /* of a stream, bytes */
#define H2_CONN_WINDOW (1024 * 1024)
#define H2_HEAD_MAX \
	(32u * 1024) /* as RFC 9113 §6.5.2 counts: 32 a field more */
/* What is decoded of one head, counted alike: beyond H2_HEAD_MAX it is answered
 * 431, beyond this the connection ends. */
#define H2_HEAD_DECODED_MAX (2 * H2_HEAD_MAX)
/* A head as it is sent, over all its frames, and what was read with it. */
#define H2_BLOCK_MAX (64u * 1024)
/* Requests of a client that does not acknowledge our settings, which forbid it
 * a table of fields. */
#define H2_UNACKED_MAX 200u
#define H2_HELD_MAX (4u * 1024 * 1024) /* of bodies that are judged whole */
#define H2_INTERIM_MAX 16u /* 1xx responses to one request (H16) */
#define H2_RESETS_MAX 200u /* streams that failed by the client, in … */
#define H2_RESETS_MS 10000u
/* Frames waiting to be sent to a peer that is not listened to any more until
 * it reads: what it sends makes more of them. */
#define H2_QUEUE_MAX 1024u
#define H2_ERROR_NONE UINT32_MAX

enum h2_side_id { H2_FRONT, H2_BACK };

struct h2_head { /* being read */
	struct ihead h;
	struct slice host, scheme;
	size_t size; /* as H2_HEAD_MAX counts */
	int status; /* 0: fine so far; else what to answer */
};

struct h2_flow {
	struct buf bytes;
	struct h2_head *trailers; /* NULL: none */
	uint32_t owed; /* bytes of windows that the sender has not got back */
	bool begun; /* the head is queued at the receiver */
	bool waits; /* nghttp2 was told to wait for more */
	bool end; /* there will be no more bytes */
	bool off; /* nobody wants them any more */
};

struct h2_stream {
	struct h2_stream *next, **link;
	int32_t id[2]; /* of the sides; -1: not there (yet, any more) */
	struct h2_flow up, down;
	struct h2_head *reading; /* from the client: a head, or trailers */
	struct h2_head *request; /* waits for its body */
	struct h2_head *response; /* or trailers, being read */
	struct ireq r;
	uint32_t error; /* to tell the client behind the last byte */
	uint32_t held; /* bytes of its body in r.held */
	unsigned status; /* that the client got, 0: none yet */
	uint8_t interim;
	bool judged;
	bool told; /* what it has used */
	bool head_request;
	bool request_end; /* of the client */
	bool request_sent; /* its head went to the upstream */
	bool answered; /* the upstream's final head is read */
	bool response_sent; /* to its end */
	bool ours; /* we reset it, or pass on a reset */
};

struct h2_side {
	nghttp2_session *ng;
	struct itls *tls;
	struct buf out; /* frames that wait for the socket */
	bool gone; /* nothing more comes or goes here */
	bool rests; /* a limit: no bodies to this side for now */
};

struct h2_memory { /* what nghttp2 allocates for a session */
	size_t bytes;
	bool wiped; /* when it is freed */
};

struct h2 { /* in->state */
	struct inspect *in;
	struct h2_side side[2];
	struct h2_memory memory[2]; /* of the sides */
	struct h2_stream *streams;
	unsigned n_streams;
	size_t held;
	int32_t head_id; /* the stream whose head is coming; 0: none */
	size_t block; /* bytes read since a frame began that continues none */
	uint64_t decoded; /* bytes of all heads from the client */
	unsigned unacked; /* requests before our settings were acknowledged */
	uint64_t resets_ms;
	unsigned resets;
	bool goaway; /* the client was told that no more can be asked */
	bool lost; /* the upstream */
	bool alarmed; /* it ends when what is said to the client has gone */
};

/* --- inspect/h2_session.c: options, settings, callbacks ------------------ */

int h2_session_open(struct h2 *h, enum h2_side_id side);

/* --- inspect/h2_head.c --------------------------------------------------- */

struct h2_head *h2_head_new(void); /* NULL: out of memory */
void h2_head_free(struct h2_head *hd); /* NULL is fine */
/* A field as nghttp2 gives it. What is wrong is noted in hd->status. False: so
 * much is decoded already that no more may be. */
bool h2_head_field(struct h2_head *hd, bool request, struct slice name,
		   struct slice value, uint8_t flags) ATTR_WUR;
/* The whole head of a request: 0, or the status to answer and why. */
int h2_head_request(struct h2_head *hd, enum reason *ret_why) ATTR_WUR;

#define H2_NV_MAX (IHEAD_FIELDS_MAX + 5)
struct h2_nvs {
	nghttp2_nv v[H2_NV_MAX];
	size_t n;
	char number[24], status[8];
};
/* Views into @h and @nvs itself. */
void h2_nvs_request(struct h2_nvs *nvs, const struct ihead *h);
void h2_nvs_response(struct h2_nvs *nvs, const struct ihead *h);
void h2_nvs_trailers(struct h2_nvs *nvs, const struct ihead *h);

/* --- inspect/h2_up.c: what comes from the client ------------------------- */

struct h2_stream *h2_stream_new(struct h2 *h, int32_t id);
void h2_request(struct h2 *h, struct h2_stream *s);
void h2_request_data(struct h2 *h, struct h2_stream *s, struct slice in);
void h2_request_trailers(struct h2 *h, struct h2_stream *s);
void h2_request_end(struct h2 *h, struct h2_stream *s);
/* Frees @s if nothing is left of it. */
void h2_front_closed(struct h2 *h, struct h2_stream *s, uint32_t error);

/* --- inspect/h2_down.c: what comes from the upstream --------------------- */

void h2_response(struct h2 *h, struct h2_stream *s, bool end);
void h2_response_data(struct h2 *h, struct h2_stream *s, struct slice in);
void h2_response_trailers(struct h2 *h, struct h2_stream *s);
/* Lets go on what was held back long enough. True: it did. */
bool h2_response_rests(struct h2 *h);
void h2_response_end(struct h2 *h, struct h2_stream *s);
void h2_back_closed(struct h2 *h, struct h2_stream *s, uint32_t error);
/* The END_STREAM of the response went out. */
void h2_response_sent(struct h2 *h, struct h2_stream *s);
/* The upstream takes no more requests: tells the client once. */
void h2_drain(struct h2 *h, uint32_t error);
/* The upstream is gone: what is not answered whole is reset. */
void h2_lost(struct h2 *h);

/* --- inspect/h2_stream.c ------------------------------------------------- */

/* Audits what its request has used, once. */
void h2_stream_tell(struct h2 *h, struct h2_stream *s);
void h2_stream_free(struct h2 *h, struct h2_stream *s);
/* Answers with the text of ireq.h's verdict, or resets when another answer has
 * begun. @audit: it is not in the audit yet. */
void h2_deny(struct h2 *h, struct h2_stream *s, int status, bool audit);
/* Audits that ireq.h has denied the answer; an alarm ends the connection. */
void h2_refused(struct h2 *h, struct h2_stream *s);
/* The same as h2_deny() for what is found here; audits it. */
void h2_refuse(struct h2 *h, struct h2_stream *s, int status, enum reason why);
/* There never was an upstream: answers in->fail_why, which is in the audit, and
 * says that nothing more can be asked. */
void h2_unreachable(struct h2 *h, struct h2_stream *s);
/* Resets @s at the client, behind what it can still have. */
void h2_cut(struct h2 *h, struct h2_stream *s, uint32_t error);
/* Resets @s at one side, at once. */
void h2_reset(struct h2 *h, struct h2_stream *s, enum h2_side_id side,
	      uint32_t error);
/* Gives @n bytes of window back to the flow's sender, at most what is owed. */
void h2_credit(struct h2 *h, struct h2_stream *s, struct h2_flow *f, size_t n);
/* Nobody wants the rest of it. */
void h2_flow_off(struct h2 *h, struct h2_stream *s, struct h2_flow *f);
/* There is something to send, or its end. */
void h2_flow_kick(struct h2 *h, struct h2_stream *s, struct h2_flow *f);
/* The bytes of @s for whoever nghttp2 sends them to. */
nghttp2_data_provider h2_flow_provider(struct h2_stream *s);

static inline nghttp2_session *h2_ng(struct h2 *h, enum h2_side_id side)
{
	return h->side[side].ng;
}

#endif
