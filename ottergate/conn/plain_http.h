/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_http.h - shared by conn/plain_http.c and the files http_*.c only
 *
 * Other files use conn.h.
 */
#ifndef OTTERGATE_CONN_PLAIN_HTTP_H
#define OTTERGATE_CONN_PLAIN_HTTP_H

#include "ottergate/conn/conn_impl.h"
#include "ottergate/inspect/http1.h"

#define HTTP_IO_MAX (32u * 1024) /* bytes held of each direction */
#define HTTP_INTERIM_MAX 16u /* 1xx responses to one request (H16) */

enum http_state {
	/* before or in the next request's head; an idle upstream may be kept */
	HTTP_HEAD,
	HTTP_DIAL,
	HTTP_EXCHANGE, /* request and response are forwarded at the same time */
};

/* Of the current request. */
struct http_request_state {
	struct http1_body body;
	size_t ready; /* bytes of c->in that were checked and may be sent */
	bool head, old; /* HEAD; HTTP/1.0 */
	bool keep; /* the client will send more requests */
	bool websocket; /* asked for, and the rule allows it */
	bool refused; /* the upstream accepts no more of the body */
	bool idempotent; /* may be sent twice */
};

struct http_response_state {
	struct http1_body body;
	size_t ready; /* bytes of h->from that may be sent to the client */
	size_t scanned; /* bytes of its head already searched */
	uint8_t interim;
	bool begun; /* its final head was read */
	bool keep; /* the upstream may be used again */
	bool keep_client; /* what the head told the client */
	bool switched; /* 101: a tunnel follows */
};

struct http_target {
	struct name name; /* len 0: use addr */
	struct addr addr; /* family 0 too: unknown yet */
	uint16_t port;
};

struct http_conn { /* c->proto */
	uint8_t state; /* enum http_state */
	bool proxy; /* explicit */
	/* CONNECT by a `proto: tcp` rule: dialled before the answer */
	bool tcp;
	bool answered; /* a byte of the response was sent to the client */
	uint16_t original_port; /* transparent */
	size_t scanned; /* bytes of the request head already searched */
	uint64_t head_due; /* ms; 0: no byte of the head has come */
	/* ms: the limits require waiting until then */
	uint64_t room_due, rest_up, rest_down;
	struct http_target target; /* of the current request */
	struct http_target peer; /* the one that the upstream was dialled for */
	struct addr dialled; /* the upstream's address */
	struct http_request_state rq;
	struct http_response_state rs;
	struct buf up; /* request head being sent */
	struct buf again; /* a copy of it, while it may have to be sent again */
	struct buf down; /* response heads being sent */
	struct buf from; /* from the upstream, not sent to the client yet */
};

/* Results of a step: continue with the next, wait for an event, let others have
 * their turn, or the connection was closed or has changed its protocol and must
 * not be touched. */
enum http_step { HTTP_GO, HTTP_WAIT, HTTP_YIELD, HTTP_GONE };

/* http_exchange.c: forwards what can be forwarded. */
enum http_step http_exchange(struct conn *c);
/* Returns the bytes of memory. */
size_t http_held(const struct conn *c);

/* http_connect.c: answers a CONNECT that @v allows, or dials for it; answers one
 * whose upstream is connected. Return HTTP_WAIT or HTTP_GONE. */
enum http_step http_connect(struct conn *c, const struct verdict *v);
enum http_step http_connected(struct conn *c);

/* http_canary.c: returns true if a surrogate of this sandbox, live or expired,
 * is anywhere in the head. */
bool http_canary(const struct conn *c, const struct http1_request *rq);

/* conn/plain_http.c: ends the connection with an answer made by deny.c, or
 * without one if it is too late for that; audits. Returns HTTP_GONE. */
enum http_step http_refuse(struct conn *c, int status, enum reason why);
/* Dials for the current request. Returns HTTP_WAIT or HTTP_GONE. */
enum http_step http_dial(struct conn *c);
/* Ends the current request. Returns HTTP_GONE if the connection ended. */
enum http_step http_next(struct conn *c);

#endif
