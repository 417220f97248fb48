/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_exchange.c - forwards one request and its response
 *
 * Theory of operation: both directions run at the same time, since a server may
 * answer before it has read everything (100, 413, streams). Each moves in
 * steps: bytes are read, the framing determines how many belong to the message,
 * these are sent; no more is read before they are gone. So a slow reader stops
 * its writer, and at most HTTP_IO_MAX bytes of a direction are held. Bytes are
 * sent at once: streams of events must not wait.
 */
#include "ottergate/conn/plain_http.h"

#include <string.h>
#include <sys/socket.h>

#define ROUNDS_MAX 64u /* steps before other connections have their turn */
#define READ_MAX (16u * 1024)

/* Returns the bytes sent, 0 if it would block, or -errno. */
static ssize_t send_some(int fd, struct slice s)
{
	ssize_t n;

	do
		n = send(fd, s.ptr, s.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	return n;
}

static enum http_step gone(struct conn *c)
{
	conn_close(c);
	return HTTP_GONE;
}

/* Resets, so that no peer takes a part of a body for the whole. */
static enum http_step cut(struct conn *c)
{
	conn_reset(c);
	return HTTP_GONE;
}

/* @rest: a result of usage_bytes(). */
static enum http_step limit_step(struct conn *c, bool up, int rest)
{
	struct http_conn *h = c->proto;
	struct worker *w = c->worker;

	if (rest < 0) {
		conn_limit(c, rest == -EDQUOT ? REASON_LIMIT_VOLUME :
						REASON_LIMIT_KILLED);
		return HTTP_GONE;
	}
	if (rest > 0) {
		worker_count(w, COUNTER_THROTTLED, 1);
		*(up ? &h->rest_up : &h->rest_down) = w->now_ms + rest;
	}
	return HTTP_GO;
}

/* Returns HTTP_GO if the direction need not rest (any more). */
static enum http_step rest_step(struct conn *c, bool up)
{
	struct http_conn *h = c->proto;
	uint64_t *rest = up ? &h->rest_up : &h->rest_down;
	uint64_t now = c->worker->now_ms;
	int rc;

	if (*rest == 0)
		return HTTP_GO;
	if (*rest > now)
		return HTTP_WAIT;
	*rest = 0;
	rc = usage_rested(&c->agent->usage, agent_policy_limits(c->policy), up,
			  now);
	if (limit_step(c, up, rc) == HTTP_GONE)
		return HTTP_GONE;
	return rc > 0 ? HTTP_WAIT : HTTP_GO;
}

/* Counts @n sent bytes against the limits. */
static enum http_step account(struct conn *c, bool up, size_t n)
{
	struct worker *w = c->worker;
	int rest = usage_bytes(&c->agent->usage, agent_policy_limits(c->policy),
			       up, n, w->now_ms);

	worker_count(w, up ? COUNTER_BYTES_UP : COUNTER_BYTES_DOWN, n);
	*(up ? &c->up : &c->down) += n;
	c->active_ms = w->now_ms;
	return limit_step(c, up, rest);
}

/* A server may close a kept connection while the next request is on its way
 * (RFC 9112 §9.3.1). If nothing of a response has come, a request that may be
 * sent twice is sent again on a new connection, once. */
static enum http_step no_answer(struct conn *c)
{
	struct http_conn *h = c->proto;

	if (buf_len(&h->again) == 0)
		return http_refuse(c, 502, REASON_CONNECT_FAILED);
	buf_done(&h->up);
	h->up = h->again;
	buf_init(&h->again, 2 * HTTP_IO_MAX);
	h->rq.refused = false;
	if (c->name)
		c->dialled.family = 0; /* it may be another one now */
	return http_dial(c);
}

/* --- up ----------------------------------------------------------------- */

/* The upstream reads no more; its answer may still come. */
static enum http_step up_refused(struct http_conn *h)
{
	h->rq.refused = true;
	buf_done(&h->up);
	return HTTP_GO;
}

/* Asked before bytes go up, since account() comes after that. */
static enum http_step up_may(struct conn *c)
{
	return usage_is_killed(&c->agent->usage) ?
		       limit_step(c, true, -ECONNABORTED) :
		       HTTP_GO;
}

static enum http_step up_head(struct conn *c)
{
	struct http_conn *h = c->proto;
	ssize_t n;

	if (up_may(c) == HTTP_GONE)
		return HTTP_GONE;
	n = send_some(c->upstream.fd, buf_slice(&h->up));
	if (n == 0)
		return HTTP_WAIT;
	if (n < 0)
		return up_refused(h);
	buf_consume(&h->up, (size_t)n);
	return account(c, true, (size_t)n);
}

/* Determines how much of what the client sent belongs to the body. */
static enum http_step up_check(struct conn *c)
{
	struct http_conn *h = c->proto;
	ssize_t n;

	if (conn_pending(c).len == 0) {
		n = conn_fill(c, HTTP_IO_MAX);
		if (n == -EAGAIN)
			return HTTP_WAIT;
		if (n <= 0) /* half a request: the upstream sees the end */
			return gone(c);
	}
	n = http1_body_feed(&h->rq.body, conn_pending(c));
	if (n < 0)
		return http_refuse(c, 400, REASON_BAD_HTTP);
	h->rq.ready = (size_t)n;
	return HTTP_GO;
}

static enum http_step up_body(struct conn *c)
{
	struct http_conn *h = c->proto;
	struct slice in = conn_pending(c);
	ssize_t n;

	if (up_may(c) == HTTP_GONE)
		return HTTP_GONE;
	n = send_some(c->upstream.fd, slice_of(in.ptr, h->rq.ready));
	if (n == 0)
		return HTTP_WAIT;
	if (n < 0)
		return up_refused(h);
	buf_done(&h->again); /* a sent part cannot be repeated */
	h->rq.ready -= (size_t)n;
	c->in.start += (uint32_t)n;
	return account(c, true, (size_t)n);
}

static enum http_step up_step(struct conn *c)
{
	const struct http_conn *h = c->proto;

	enum http_step rest = rest_step(c, true);

	if (rest != HTTP_GO)
		return rest;
	if (h->rq.refused)
		return HTTP_WAIT;
	if (buf_len(&h->up) > 0)
		return up_head(c);
	if (h->rq.ready > 0)
		return up_body(c);
	return h->rq.body.done ? HTTP_WAIT : up_check(c);
}

/* --- down --------------------------------------------------------------- */

static enum http_step down_queue(struct conn *c, struct buf *b, size_t len)
{
	struct slice s = buf_slice(b);
	ssize_t n = send_some(c->client.fd, slice_of(s.ptr, len));

	if (n == 0)
		return HTTP_WAIT;
	if (n < 0)
		return gone(c);
	buf_consume(b, (size_t)n);
	return account(c, false, (size_t)n);
}

static enum http_step down_body(struct conn *c)
{
	struct http_conn *h = c->proto;
	size_t before = buf_len(&h->from);
	enum http_step step = down_queue(c, &h->from, h->rs.ready);

	if (step == HTTP_GO)
		h->rs.ready -= before - buf_len(&h->from);
	return step;
}

/* Sends the bytes that came with a 101 first; then it is a tunnel. */
static enum http_step down_switched(struct conn *c)
{
	struct http_conn *h = c->proto;

	if (buf_len(&h->from) > 0)
		return down_queue(c, &h->from, buf_len(&h->from));
	conn_relay(c);
	return HTTP_GONE;
}

/* Forwards 1xx to a client that knows them (RFC 9110 §15.2). A 101 that was not
 * asked for would turn a request connection into a tunnel (H6). */
static enum http_step interim(struct conn *c, const struct http1_response *rs)
{
	struct http_conn *h = c->proto;

	if (rs->status == 101) {
		if (!h->rq.websocket || !rs->websocket)
			return http_refuse(c, 502, REASON_UPSTREAM_HTTP);
		h->rs.switched = true;
	} else if (h->rs.interim++ == HTTP_INTERIM_MAX) {
		return http_refuse(c, 502, REASON_UPSTREAM_HTTP);
	}
	if (h->rq.old)
		return HTTP_GO;
	h->answered = true;
	if (http1_response_write(rs, h->rs.switched ? "Upgrade" : NULL,
				 &h->down) < 0)
		return gone(c);
	return HTTP_GO;
}

static enum http_step final_head(struct conn *c,
				 const struct http1_response *rs)
{
	struct http_conn *h = c->proto;

	http1_body_of_response(&h->rs.body, rs);
	h->rs.begun = true;
	h->rs.keep = rs->m.keep_alive;
	/* While the request is incomplete, the start of the next one is
	 * unknown; and the rest of its body must not be taken for a request to
	 * another host. */
	h->rs.keep_client = h->rq.keep && !rs->until_close && h->rq.body.done &&
			    h->rq.ready == 0 && buf_len(&h->up) == 0 &&
			    !h->rq.refused;
	h->answered = true;
	if (http1_response_write(rs, h->rs.keep_client ? "keep-alive" : "close",
				 &h->down) < 0)
		return gone(c);
	return HTTP_GO;
}

static enum http_step down_head(struct conn *c)
{
	struct http_conn *h = c->proto;
	struct slice from = buf_slice(&h->from);
	ssize_t rc = http1_head_end(from, &h->rs.scanned);
	struct http1_response rs;
	enum http_step step;

	if (rc == -EAGAIN)
		return HTTP_WAIT;
	if (rc >= 0)
		rc = http1_response_read(from, h->rq.head, &rs);
	if (rc < 0)
		return http_refuse(c, 502, REASON_UPSTREAM_HTTP);
	h->rs.scanned = 0;
	step = rs.status < 200 ? interim(c, &rs) : final_head(c, &rs);
	if (step == HTTP_GO)
		buf_consume(&h->from, rs.m.head_len);
	return step;
}

static enum http_step down_check(struct conn *c)
{
	struct http_conn *h = c->proto;
	ssize_t n;

	if (!h->rs.begun)
		return down_head(c);
	n = http1_body_feed(&h->rs.body, buf_slice(&h->from));
	if (n < 0)
		return http_refuse(c, 502, REASON_UPSTREAM_HTTP);
	h->rs.ready = (size_t)n;
	return HTTP_GO;
}

static enum http_step down_end(struct conn *c)
{
	struct http_conn *h = c->proto;

	if (!h->rs.begun)
		return no_answer(c);
	if (h->rs.body.kind != BODY_UNTIL_CLOSE)
		return cut(c);
	h->rs.body.done = true;
	return HTTP_GO;
}

size_t http_held(const struct conn *c)
{
	const struct http_conn *h = c->proto;

	return sizeof(*h) + h->up.cap + h->again.cap + h->down.cap +
	       h->from.cap;
}

/* Returns true if no more is read because the sandbox does not read. */
static bool down_rests(struct conn *c)
{
	struct http_conn *h = c->proto;

	if (conn_may_read(c, buf_len(&h->from) + buf_len(&h->down)))
		return false;
	worker_count(c->worker, COUNTER_THROTTLED, 1);
	h->room_due = c->worker->now_ms + CONN_ROOM_MS;
	return true;
}

static enum http_step down_read(struct conn *c)
{
	struct http_conn *h = c->proto;
	uint8_t mem[READ_MAX];
	size_t room = buf_room(&h->from);
	ssize_t n;

	if (down_rests(c))
		return HTTP_WAIT;
	do
		n = recv(c->upstream.fd, mem,
			 room < sizeof(mem) ? room : sizeof(mem), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return down_end(c);
	if (n < 0 && errno == EAGAIN)
		return HTTP_WAIT;
	if (n < 0 && h->rs.begun)
		return cut(c);
	if (n < 0)
		return no_answer(c);
	buf_done(&h->again);
	c->active_ms = c->worker->now_ms;
	return buf_append(&h->from, mem, (size_t)n) < 0 ? gone(c) : HTTP_GO;
}

static enum http_step down_step(struct conn *c)
{
	struct http_conn *h = c->proto;

	enum http_step rest = rest_step(c, false);

	if (rest != HTTP_GO)
		return rest;
	if (buf_len(&h->down) > 0)
		return down_queue(c, &h->down, buf_len(&h->down));
	if (h->rs.switched)
		return down_switched(c);
	if (h->rs.ready > 0)
		return down_body(c);
	if (h->rs.begun && h->rs.body.done)
		return http_next(c);
	if (buf_len(&h->from) > 0) {
		enum http_step step = down_check(c);

		if (step != HTTP_WAIT)
			return step;
	}
	return down_read(c);
}

enum http_step http_exchange(struct conn *c)
{
	const struct http_conn *h = c->proto;

	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		enum http_step up, down;

		if (i > 0 && shares_spent(c->worker->shares))
			break;
		up = up_step(c);

		if (up == HTTP_GONE)
			return HTTP_GONE;
		down = down_step(c);
		if (down == HTTP_GONE)
			return HTTP_GONE;
		if (h->state != HTTP_EXCHANGE)
			return HTTP_GO;
		if (up == HTTP_WAIT && down == HTTP_WAIT)
			return HTTP_WAIT;
	}
	return HTTP_YIELD;
}
