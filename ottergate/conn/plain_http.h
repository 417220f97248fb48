/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_http.h - what conn/plain_http.c and http_exchange.c share of a connection
 *
 * For these two files alone; others see conn.h.
 */
#ifndef OTTERGATE_CONN_PLAIN_HTTP_H
#define OTTERGATE_CONN_PLAIN_HTTP_H

#include "ottergate/conn/conn_impl.h"
#include "ottergate/inspect/http1.h"

#define HTTP_IO_MAX (32u * 1024) /* bytes held of one direction */
#define HTTP_INTERIM_MAX 16u /* 1xx responses to one request (H16) */

enum http_state {
	HTTP_HEAD, /* of the next request, perhaps with an idle upstream */
	HTTP_DIAL,
	HTTP_EXCHANGE, /* a request up, its response down, at the same time */
};

/* Of the request that is being served. */
struct http_request_state {
	struct http1_body body;
	size_t ready; /* bytes of c->in that were checked and may go up */
	bool head, old; /* HEAD; HTTP/1.0 */
	bool keep; /* the client wants to go on */
	bool websocket; /* and the rule allows it */
	bool refused; /* the upstream takes no more of the body */
	bool idempotent; /* may be sent twice */
};

struct http_response_state {
	struct http1_body body;
	size_t ready; /* bytes of h->from that may go down */
	size_t scanned; /* of its head */
	uint8_t interim;
	bool begun; /* its final head is read */
	bool keep; /* the upstream may be used again */
	bool keep_client; /* what the head said to the client */
	bool switched; /* 101: a tunnel follows */
};

struct http_target {
	struct name name; /* len 0: addr */
	struct addr addr; /* family 0 too: not known yet */
	uint16_t port;
};

struct http_conn { /* c->proto */
	uint8_t state; /* enum http_state */
	bool proxy; /* explicit */
	bool tcp; /* CONNECT by a `proto: tcp` rule: dialled first */
	bool answered; /* a byte of the response went to the client */
	uint16_t original_port; /* transparent */
	size_t scanned; /* of the request head */
	uint64_t head_due; /* ms; 0: no byte of it has come */
	/* ms: the limits say wait till then */
	uint64_t room_due, rest_up, rest_down;
	struct http_target target; /* of the request */
	struct http_target peer; /* whom the upstream was dialled for */
	struct addr dialled; /* and where */
	struct http_request_state rq;
	struct http_response_state rs;
	struct buf up; /* request head on its way */
	struct buf again; /* the same, while it may have to be sent anew */
	struct buf down; /* response heads on their way */
	struct buf from; /* from the upstream, not passed on yet */
};

/* Results of a step: go on with the next, wait for an event, let the others
 * have their turn, or the connection is over or somebody else's and must not
 * be touched. */
enum http_step { HTTP_GO, HTTP_WAIT, HTTP_YIELD, HTTP_GONE };

/* http_exchange.c: moves what can be moved. */
enum http_step http_exchange(struct conn *c);
/* Bytes of memory. */
size_t http_held(const struct conn *c);

/* http_canary.c: is a surrogate of this sandbox, live or expired, anywhere in
 * the head? */
bool http_canary(const struct conn *c, const struct http1_request *rq);

/* conn/plain_http.c: ends with an answer made by deny.c, or without one when it
 * is too late for that; audits. Returns HTTP_GONE. */
enum http_step http_refuse(struct conn *c, int status, enum reason why);
/* Dials for the request that is being served. HTTP_WAIT, or HTTP_GONE. */
enum http_step http_dial(struct conn *c);
/* The request is served: ready for the next one, or HTTP_GONE. */
enum http_step http_next(struct conn *c);

#endif
