/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_http.c - plain HTTP, transparent and through the explicit proxy
 *
 * Theory of operation: each request is read whole up to its body, decided on
 * its own (H4: earlier decisions on the connection do not count), and written
 * again for an upstream that was dialled for exactly its name and port. That
 * upstream is kept for the next request to the same, and closed if the next one
 * is for another. CONNECT continues in conn/tls_front.c or, by a `proto: tcp`
 * rule, in relay.c. Requests that were sent ahead wait in c->in until the
 * previous one is answered.
 *
 * A request that a rule inspects, which only one to a service can be, hands the
 * connection over to inspect.c with all that was read.
 *
 * Every handler ends in run(), which tries everything that could continue until
 * nothing does: so an edge-triggered event that came too early is never missed,
 * and a stale one does no harm.
 */
#include "ottergate/conn/plain_http.h"

#include "ottergate/inspect/inspect.h"
#include "ottergate/policy/tell/deny.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

static void http_free(struct conn *c)
{
	struct http_conn *h = ptr_take(&c->proto);

	buf_done(&h->up);
	buf_done(&h->again);
	buf_done(&h->down);
	buf_done(&h->from);
	free(h);
}

/* --- answers of our own ------------------------------------------------- */

static int status_of(enum reason why)
{
	switch (why) {
	case REASON_LIMIT_CONNS:
	case REASON_LIMIT_HALF_OPEN:
	case REASON_LIMIT_RATE:
	case REASON_LIMIT_VOLUME:
	case REASON_LIMIT_NAMES:
	case REASON_LIMIT_LOOKUPS:
		return 429;
	case REASON_DNS_FAILED:
	case REASON_NO_ADDRESS:
	case REASON_CONNECT_FAILED:
	case REASON_CONNECT_REFUSED:
	case REASON_NO_ROUTE:
	case REASON_DENIED_BY_PROXY:
	case REASON_EDGE_DOWN:
		return 502;
	case REASON_AUDIT_FULL:
	case REASON_NO_MEMORY:
		return 503;
	case REASON_CONNECT_TIMEOUT:
		return 504;
	case REASON_BAD_NAME:
		return 400;
	default:
		return 403;
	}
}

/* Sends the answer to what conn_decide() or conn_refuse() has audited. */
static enum http_step answer(struct conn *c, int status,
			     const struct verdict *v)
{
	const struct http_conn *h = c->proto;
	const struct http_target *t = &h->target;
	char addr[ADDR_TEXT_MAX] = "", out[1024];
	const char *name = t->name.len > 0 ? t->name.s :
			   t->addr.family  ? addr_text(&t->addr, addr) :
					     c->name;
	size_t len;

	/* After the first byte of a response, an answer would be taken for its
	 * body; the early end must show the failure. */
	if (h->answered) {
		conn_close(c);
		return HTTP_GONE;
	}
	len = deny_response(out, sizeof(out), status,
			    agent_policy_id(c->policy), name, t->port, v);
	conn_say_and_close(c, out, len);
	return HTTP_GONE;
}

enum http_step http_refuse(struct conn *c, int status, enum reason why)
{
	const struct http_conn *h = c->proto;
	struct verdict v = { .reason = why };

	conn_refuse_host(c, why, &h->target.name, &h->target.addr);
	return answer(c, status, &v);
}

/* --- to the upstream ---------------------------------------------------- */

static void upstream_drop(struct conn *c)
{
	fd_closep(&c->upstream.fd);
	c->upstream_eof = false;
}

/* Returns true if the idle upstream is open and silent. Unrequested bytes would
 * be taken for the answer to the next request. */
static bool upstream_quiet(const struct conn *c)
{
	uint8_t byte;
	ssize_t n = recv(c->upstream.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n < 0 && errno == EAGAIN;
}

static bool target_eq(const struct http_target *a, const struct http_target *b)
{
	return a->port == b->port && a->name.len == b->name.len &&
	       memcmp(a->name.s, b->name.s, a->name.len) == 0 &&
	       addr_eq(&a->addr, &b->addr);
}

enum http_step http_dial(struct conn *c)
{
	struct http_conn *h = c->proto;

	upstream_drop(c);
	h->peer = h->target;
	c->active_ms = c->worker->now_ms;
	if (conn_dial(c) < 0)
		return http_refuse(c, 503, REASON_NO_MEMORY);
	h->state = HTTP_DIAL;
	return HTTP_WAIT;
}

static enum http_step start_exchange(struct conn *c)
{
	struct http_conn *h = c->proto;
	struct slice head = buf_slice(&h->up);

	if (c->upstream.fd < 0 || !target_eq(&h->target, &h->peer) ||
	    !upstream_quiet(c))
		return http_dial(c);
	c->dialled = h->dialled; /* the decision knew no address */
	/* The upstream may be closing just now. Without memory for a copy there
	 * is no second try, and nothing else is lost. */
	if (h->rq.idempotent && buf_append(&h->again, head.ptr, head.len) < 0)
		buf_done(&h->again);
	h->state = HTTP_EXCHANGE;
	return HTTP_GO;
}

/* Writes Host as the decision read it, not as the client wrote it (H2, H3). */
static int write_head(struct http_conn *h, const struct http1_request *rq)
{
	const struct http_target *t = &h->target;
	char host[NAME_LEN_MAX + 1], addr[ADDR_TEXT_MAX], port[8] = "";
	char authority[NAME_LEN_MAX + 16];
	const char *connection = h->rq.websocket ? "Upgrade" :
				 h->rq.keep      ? "keep-alive" :
						   "close";

	if (t->name.len > 0)
		snprintf(host, sizeof(host), "%s", t->name.s);
	else if (t->addr.family == 6)
		snprintf(host, sizeof(host), "[%s]", addr_text(&t->addr, addr));
	else
		snprintf(host, sizeof(host), "%s", addr_text(&t->addr, addr));
	if (t->port != 80)
		snprintf(port, sizeof(port), ":%u", (unsigned)t->port);
	snprintf(authority, sizeof(authority), "%s%s", host, port);
	return http1_request_write(rq, authority, connection, &h->up);
}

/* --- requests ----------------------------------------------------------- */

static bool text_is(struct slice s, const char *text)
{
	return slice_eq(s, slice_str(text));
}

/* Returns the status for forms that are refused without a decision; 0: none. */
static int form_refused(const struct http_conn *h,
			const struct http1_request *rq, enum reason *why)
{
	*why = REASON_BAD_HTTP;
	switch (rq->form) {
	case HTTP1_AUTHORITY: /* CONNECT is for the explicit proxy only */
		return h->proxy ? 0 : 400;
	case HTTP1_ABSOLUTE: /* https: needs CONNECT: there is no TLS here */
		if (rq->scheme.len != 4 ||
		    strncasecmp((const char *)rq->scheme.ptr, "http", 4) != 0)
			return 400;
		break;
	case HTTP1_ORIGIN:
	case HTTP1_ASTERISK:
		if (h->proxy)
			return 400;
		break;
	}
	*why = REASON_METHOD; /* H12: would echo what we may have added */
	return text_is(rq->method, "TRACE") ? 405 : 0;
}

static enum http_step target_resolve(struct conn *c,
				     const struct http1_request *rq)
{
	struct http_conn *h = c->proto;
	struct http_target *t = &h->target;
	uint16_t port = h->proxy ? 80 : h->original_port;
	int rc;

	if (rq->form == HTTP1_AUTHORITY)
		port = 0; /* CONNECT must give it (RFC 9110 §9.3.6) */
	rc = http1_request_authority(rq, port, &t->name, &t->addr, &t->port);
	if (rc == -ENOENT)
		return http_refuse(c, 400, REASON_BAD_HTTP);
	if (rc == -EPROTO)
		return http_refuse(c, 400, REASON_HOST_MISMATCH);
	if (rc < 0)
		return http_refuse(c, 400, REASON_BAD_NAME);
	if (!h->proxy && t->port != h->original_port)
		return http_refuse(c, 400, REASON_HOST_MISMATCH);
	return HTTP_GO;
}

static struct request request_ask(const struct conn *c,
				  const struct http1_request *rq)
{
	const struct http_conn *h = c->proto;

	return (struct request){
		.path = !h->proxy                   ? PATH_HTTP :
			rq->form == HTTP1_AUTHORITY ? PATH_CONNECT :
						      PATH_PROXY,
		.name = &h->target.name,
		.addr = h->target.addr,
		.port = h->target.port,
		.method = rq->method,
		.target = rq->path,
	};
}

/* Hands the connection over, with all that the client has sent. */
static enum http_step request_inspect(struct conn *c)
{
	const struct http_conn *h = c->proto;
	struct name name = h->target.name;

	upstream_drop(c);
	inspect_begin(c, &name);
	return HTTP_GONE;
}

/* Removes the request from c->in, except its body. */
static enum http_step request_take(struct conn *c,
				   const struct http1_request *rq,
				   const struct verdict *v)
{
	struct http_conn *h = c->proto;
	int rc;

	h->rq = (struct http_request_state){
		.head = text_is(rq->method, "HEAD"),
		.old = rq->m.minor == 0,
		.keep = rq->m.keep_alive,
		.idempotent = http1_request_idempotent(rq),
		.websocket = v->rule && v->rule->websocket &&
			     http1_request_websocket(rq),
	};
	h->rs = (struct http_response_state){ 0 };
	http1_body_of_request(&h->rq.body, rq);
	rc = rq->form == HTTP1_AUTHORITY ? 0 : write_head(h, rq);
	/* invalidates the views of @rq */
	c->in.start += (uint32_t)rq->m.head_len;
	if (rc < 0)
		return http_refuse(c, 503, REASON_NO_MEMORY);
	return HTTP_GO;
}

static enum http_step request_serve(struct conn *c,
				    const struct http1_request *rq)
{
	struct http_conn *h = c->proto;
	struct request ask;
	bool inspected;
	enum reason why;
	struct verdict v;
	int status = form_refused(h, rq, &why);

	if (status > 0)
		return http_refuse(c, status, why);
	if (target_resolve(c, rq) == HTTP_GONE)
		return HTTP_GONE;
	ask = request_ask(c, rq);
	v = decide(c->policy, &ask);
	/* What CONNECT leads to is inspected behind its hello. */
	inspected = v.allow && v.use == RULE_INSPECT &&
		    rq->form != HTTP1_AUTHORITY;
	if (!inspected && http_canary(c, rq))
		return http_refuse(c, 403, REASON_CANARY);
	v = conn_settle(c, &ask, v);
	if (!v.allow)
		return answer(c, status_of(v.reason), &v);
	if (inspected)
		return request_inspect(c);
	if (request_take(c, rq, &v) == HTTP_GONE)
		return HTTP_GONE;
	if (rq->form == HTTP1_AUTHORITY)
		return http_connect(c, &v);
	return start_exchange(c);
}

/* Reads more of a request head, or the end of the connection. */
static enum http_step head_fill(struct conn *c)
{
	struct http_conn *h = c->proto;
	ssize_t n;

	chunk_compact(&c->in);
	n = conn_fill(c, HTTP1_HEAD_MAX);
	if (n == -EAGAIN)
		return HTTP_WAIT;
	if (n == -ENOMEM)
		return http_refuse(c, 503, REASON_NO_MEMORY);
	/* http1_head_end() reports a long head first, so never -ENOBUFS */
	if (n <= 0) {
		conn_close(c);
		return HTTP_GONE;
	}
	if (h->head_due == 0)
		h->head_due = c->worker->now_ms +
			      agent_policy_timeouts(c->policy)->request_header;
	return HTTP_GO;
}

/* Returns true if the first line is complete and no request line (SMTP's "EHLO
 * x"): its sender need not wait for the deadline (T9). */
static bool no_request_line(struct slice in)
{
	const uint8_t *end = in.len ? memchr(in.ptr, '\n', in.len) : NULL;

	return end && !memmem(in.ptr, (size_t)(end - in.ptr), " HTTP/", 6);
}

static enum http_step head_step(struct conn *c)
{
	struct http_conn *h = c->proto;
	struct slice in = conn_pending(c);
	ssize_t rc = http1_head_end(in, &h->scanned);
	struct http1_request rq;
	enum reason why;

	if (rc == -EAGAIN && no_request_line(in))
		rc = -EBADMSG;
	if (rc == -EAGAIN)
		return head_fill(c);
	h->target = (struct http_target){ 0 };
	h->head_due = 0;
	h->scanned = 0;
	if (rc >= 0)
		rc = http1_request_read(in, &rq);
	if (rc < 0) {
		int status = http1_bad_status((int)rc, &why);

		return http_refuse(c, status, why);
	}
	return request_serve(c, &rq);
}

enum http_step http_next(struct conn *c)
{
	struct http_conn *h = c->proto;
	bool waits = conn_pending(c).len > 0;

	if (!h->rs.keep_client || (c->client_eof && !waits)) {
		conn_say_and_close(c, "", 0);
		return HTTP_GONE;
	}
	if (!h->rs.keep || buf_len(&h->from) > 0)
		upstream_drop(c);
	buf_done(&h->from);
	if (!waits)
		chunk_drop(&c->in);
	h->state = HTTP_HEAD;
	h->answered = false;
	h->head_due =
		!waits ? 0 :
			 c->worker->now_ms + agent_policy_timeouts(c->policy)
						     ->request_header;
	return HTTP_GO;
}

/* --- events ------------------------------------------------------------- */

static void earlier(uint64_t *due, uint64_t other)
{
	if (other < *due)
		*due = other;
}

static void timer_set(struct conn *c)
{
	const struct timeouts *t = agent_policy_timeouts(c->policy);
	const struct http_conn *h = c->proto;
	uint64_t now = c->worker->now_ms, due = c->active_ms + t->idle;

	if (h->state == HTTP_HEAD && h->head_due > 0)
		due = h->head_due;
	if (t->tunnel_max > 0)
		earlier(&due, c->started_ms + t->tunnel_max);
	if (conn_expires_in(c) != UINT64_MAX)
		earlier(&due, now + conn_expires_in(c));
	if (h->room_due > now)
		earlier(&due, h->room_due);
	if (h->rest_up > now)
		earlier(&due, h->rest_up);
	if (h->rest_down > now)
		earlier(&due, h->rest_down);
	conn_deadline(c, due > now ? due - now : 1);
}

static void run(struct conn *c)
{
	struct http_conn *h = c->proto;
	enum http_step step;

	do {
		step = h->state == HTTP_HEAD     ? head_step(c) :
		       h->state == HTTP_EXCHANGE ? http_exchange(c) :
						   HTTP_WAIT;
	} while (step == HTTP_GO);
	if (step == HTTP_GONE)
		return;
	timer_set(c);
	if (step == HTTP_YIELD)
		conn_again(c, CONN_GO_ON);
}

static void on_client(struct conn *c, uint32_t events)
{
	/* Both directions are closed: no one to answer. A half close
	 * (EPOLLRDHUP) is not meant. */
	if (events & (EPOLLERR | EPOLLHUP))
		conn_close(c);
	else
		run(c);
}

static void on_upstream(struct conn *c, uint32_t events)
{
	const struct http_conn *h = c->proto;

	(void)events; /* may be stale: reading shows the truth */
	if (h->state == HTTP_EXCHANGE)
		run(c);
	else if (h->state == HTTP_HEAD && c->upstream.fd >= 0 &&
		 !upstream_quiet(c))
		upstream_drop(c);
}

static void on_timeout(struct conn *c)
{
	const struct timeouts *t = agent_policy_timeouts(c->policy);
	const struct http_conn *h = c->proto;
	uint64_t now = c->worker->now_ms;

	if (t->tunnel_max > 0 && now >= c->started_ms + t->tunnel_max) {
		conn_limit(c, REASON_LIMIT_AGE);
	} else if (conn_expires_in(c) == 0) {
		conn_limit(c, REASON_EXPIRED);
	} else if (h->state == HTTP_HEAD && h->head_due > 0) {
		if (now >= h->head_due)
			http_refuse(c, 408, REASON_HELLO_TIMEOUT);
		else
			run(c);
	} else if (now < c->active_ms + t->idle) {
		run(c);
	} else if (h->state == HTTP_HEAD) {
		conn_close(c);
	} else {
		http_refuse(c, 504, REASON_CONNECT_TIMEOUT);
	}
}

static void on_dialled(struct conn *c, enum reason why)
{
	struct http_conn *h = c->proto;

	c->active_ms = c->worker->now_ms;
	if (why != REASON_ALLOWED) {
		http_refuse(c, status_of(why), why);
	} else if (h->tcp) {
		http_connected(c);
	} else {
		h->dialled = c->dialled;
		h->state = HTTP_EXCHANGE;
		run(c);
	}
}

/* Between two requests only an idle upstream is held, which the new policy may
 * not allow for the next request: it is closed. */
static bool on_recheck(struct conn *c)
{
	const struct http_conn *h = c->proto;

	if (h->state == HTTP_HEAD)
		upstream_drop(c);
	return true;
}

static void on_again(struct conn *c, unsigned what)
{
	(void)what;
	run(c);
}

static const struct conn_ops http_ops = {
	.client = on_client,
	.upstream = on_upstream,
	.timeout = on_timeout,
	.dialled = on_dialled,
	.recheck = on_recheck,
	.free = http_free,
	.again = on_again,
	.held = http_held,
};

void http_begin(struct conn *c)
{
	struct http_conn *h = calloc(1, sizeof(*h));

	if (!h) {
		conn_close(c);
		return;
	}
	h->proxy = c->path == PATH_PROXY;
	h->original_port = c->port;
	h->head_due = c->started_ms +
		      agent_policy_timeouts(c->policy)->request_header;
	buf_init(&h->up, 2 * HTTP_IO_MAX);
	buf_init(&h->again, 2 * HTTP_IO_MAX);
	buf_init(&h->down, 2 * HTTP_IO_MAX);
	buf_init(&h->from, HTTP_IO_MAX);
	conn_become(c, &http_ops);
	c->proto = h;
	c->active_ms = c->worker->now_ms;
	run(c);
}
