/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_up.c - requests, from the client's bytes to the upstream's
 *
 * Theory of operation: `up` gets nothing of a request before ireq.h has allowed
 * it. While its body has to be held, `up` gets nothing at all, not even the
 * head. The body's framing is removed and written again, so an upstream sees
 * only chunks and lengths that were written here (H1).
 */
#include "ottergate/inspect/h1.h"

#include <string.h>
#include <strings.h>

/* Appends content to `up`, in the framing that the head announced. */
static int body_put(struct h1 *h, struct slice data)
{
	char head[24];
	int n, rc;

	if (data.len == 0)
		return 0;
	if (!h->rq.chunked)
		return buf_append(&h->up, data.ptr, data.len);
	n = snprintf(head, sizeof(head), "%zx\r\n", data.len);
	rc = buf_append(&h->up, head, (size_t)n);
	if (rc == 0)
		rc = buf_append(&h->up, data.ptr, data.len);
	return rc == 0 ? buf_append(&h->up, "\r\n", 2) : rc;
}

/* Appends the final head to `up`. */
static int head_put(struct h1 *h)
{
	struct h1_request *rq = &h->rq;
	struct slice s;
	int rc = h1_request_write(rq, &h->up);

	if (rc < 0)
		return rc;
	rq->written = true;
	s = buf_slice(&h->up);
	/* Without memory for the copy, the request is not sent twice. */
	if (h->served > 0 && !rq->head->has_body && !rq->websocket &&
	    buf_reserve(&h->again, s.len) &&
	    buf_append(&h->again, s.ptr, s.len) < 0)
		h1_wipe(&h->again);
	ihead_done(rq->head);
	free(rq->head);
	rq->head = NULL;
	return 0;
}

/* The whole request has been read. */
static enum h1_step request_whole(struct h1 *h)
{
	struct h1_request *rq = &h->rq;
	int status = ireq_body_end(&rq->r), rc = 0;

	if (status != 0)
		return h1_deny(h, status, true);
	if (!rq->written)
		rc = head_put(h);
	if (rc == 0 && rq->r.hold)
		rc = body_put(h, buf_slice(&rq->r.held));
	if (rc == 0 && rq->chunked)
		rc = buf_append(&h->up, "0\r\n\r\n", 5);
	return rc < 0 ? h1_refuse(h, 503, REASON_NO_MEMORY) : H1_GO;
}

/* --- the head ------------------------------------------------------------- */

/* Refuses forms and targets before any rule is asked. Returns 0, or the status
 * with *why. */
static int form_refused(const struct h1 *h, const struct http1_request *rq,
			enum reason *why)
{
	const char *scheme = h->in->plain ? "http" : "https";
	struct name name;
	struct addr addr;
	uint16_t port;
	int rc;

	*why = REASON_BAD_HTTP;
	if (rq->form == HTTP1_AUTHORITY)
		return 405; /* CONNECT inside a tunnel */
	if (rq->form == HTTP1_ABSOLUTE &&
	    (rq->scheme.len != strlen(scheme) ||
	     strncasecmp((const char *)rq->scheme.ptr, scheme,
			 strlen(scheme)) != 0))
		return 400;
	rc = http1_request_authority(rq, h->in->c->port, &name, &addr, &port);
	if (rc == -EPROTO)
		*why = REASON_HOST_MISMATCH;
	else if (rc == -EBADMSG)
		*why = REASON_BAD_NAME;
	return rc < 0 ? 400 : 0;
}

static int status_of(enum reason why)
{
	switch (why) {
	case REASON_AUDIT_FULL:
	case REASON_NO_MEMORY:
		return 503;
	default:
		return reason_is_limit(why) ? 429 : 403;
	}
}

static void request_reset(struct h1 *h, const struct http1_request *rq)
{
	h->rq = (struct h1_request){
		.chunked = rq->m.chunked,
		.old = rq->m.minor == 0,
		.keep = rq->m.keep_alive,
		.expect = rq->expect_continue,
	};
	http1_body_of_request(&h->rq.body, rq);
	buf_done(&h->rs.trailers);
	h->rs = (struct h1_response){ 0 };
	buf_init(&h->rs.trailers, HTTP1_TRAILERS_MAX);
}

/* Makes h->rq.head. Returns 0, or the status of a refusal with *why. */
static int head_make(struct h1 *h, const struct http1_request *rq,
		     enum reason *why)
{
	struct ihead *head = malloc(sizeof(*head));
	int rc;

	*why = REASON_NO_MEMORY;
	if (!head)
		return 503;
	ihead_init(head);
	h->rq.head = head;
	rc = h1_request_head(rq, head);
	if (rc == 0)
		return 0;
	*why = rc == -ENOMEM ? REASON_NO_MEMORY : REASON_BAD_HTTP;
	return rc == -ENOMEM ? 503 : rc == -E2BIG ? 431 : 400;
}

/* RFC 9110 §10.1.1: we answer 100 ourselves, since the upstream must not see
 * the request yet. */
static int hold_begin(struct h1 *h)
{
	bool ask = h->rq.expect && !h->rq.body.done;

	h->rq.expect = false;
	return ask ? buf_append(&h->down, "HTTP/1.1 100 Continue\r\n\r\n", 25) :
		     0;
}

/* The request was judged and may go on. */
static enum h1_step request_go(struct h1 *h)
{
	struct h1_request *rq = &h->rq;
	const struct rule *rule = rq->r.verdict.rule;
	int rc;

	rq->websocket = rq->head->websocket && rule && rule->websocket;
	/* Frames that the server compresses cannot be searched. */
	if (rq->websocket && rq->r.mask)
		ihead_drop(rq->head, "sec-websocket-extensions");
	h->state = H1_EXCHANGE;
	rc = rq->r.hold ? hold_begin(h) : head_put(h);
	if (rc < 0)
		return rc == -EBADMSG ? h1_refuse(h, 400, REASON_BAD_HTTP) :
					h1_refuse(h, 503, REASON_NO_MEMORY);
	if (rq->body.done && request_whole(h) == H1_STOP)
		return H1_STOP;
	/* The upstream has closed while idle and has seen nothing of this. */
	if (h->upstream_end && h->state == H1_EXCHANGE) {
		h1_wipe(&h->again);
		h->upstream_end = false;
		h->served = 0;
		inspect_redial(h->in);
		return H1_STOP;
	}
	return H1_GO;
}

static enum h1_step request_judge(struct h1 *h, struct slice method)
{
	const struct ireq_ctx ctx = inspect_ctx(h->in);
	struct h1_request *rq = &h->rq;
	int status = ireq_begin(&rq->r, &ctx, rq->head);

	rq->open = true;
	if (status != 0)
		rq->r.verdict.allow = false;
	if (!inspect_judged(h->in, &rq->r, method) && status == 0)
		status = status_of(rq->r.verdict.reason);
	return status == 0 ? request_go(h) : h1_deny(h, status, false);
}

static enum h1_step request_serve(struct h1 *h, const struct http1_request *rq)
{
	char method[16];
	size_t n = rq->method.len < sizeof(method) ? rq->method.len :
						     sizeof(method);
	enum reason why;
	int status;

	request_reset(h, rq);
	status = form_refused(h, rq, &why);
	if (status == 0)
		status = head_make(h, rq, &why);
	memcpy(method, rq->method.ptr, n);
	h1_consume(&h->cin, rq->m.head_len); /* ends @rq's views */
	if (status != 0)
		return h1_refuse(h, status, why);
	return request_judge(h, slice_of(method, n));
}

/* The client has ended. @said: by close_notify, which ends what it sends and
 * not what it reads (RFC 8446 §6.1). If it has gone, writing to it will
 * fail. */
static enum h1_step client_end(struct h1 *h, bool said)
{
	if (said && h->state == H1_EXCHANGE && h->rq.body.done)
		return H1_WAIT;
	if (h->state != H1_HEAD) {
		inspect_cut(h->in); /* so that half a request shows */
		return H1_STOP;
	}
	/* The last response may still be queued. */
	if (buf_len(&h->down) > 0) {
		h->state = H1_ENDING;
		return H1_GO;
	}
	inspect_close(h->in);
	return H1_STOP;
}

static enum h1_step client_fill(struct h1 *h, size_t max)
{
	struct inspect *in = h->in;
	ssize_t n;

	if (!inspect_may_read(in, buf_len(&h->cin) + buf_len(&h->up)))
		return H1_WAIT;
	n = h1_fill(&in->client, &h->cin, max);
	if (n == -EAGAIN || n == -ENOBUFS)
		return H1_WAIT;
	if (n <= 0)
		return client_end(h, n == 0);
	in->c->active_ms = in->c->worker->now_ms;
	return H1_GO;
}

/* Part of a head is here: sets the deadline for the rest. */
static void head_expect(struct h1 *h)
{
	const struct conn *c = h->in->c;

	if (h->in->head_due == 0)
		h->in->head_due =
			c->worker->now_ms +
			agent_policy_timeouts(c->policy)->request_header;
}

static enum h1_step head_step(struct h1 *h)
{
	struct slice in = buf_slice(&h->cin);
	ssize_t rc = http1_head_end(in, &h->cin_scanned);
	struct http1_request rq;
	enum reason why;

	if (rc == -EAGAIN) {
		if (in.len > 0)
			head_expect(h);
		return client_fill(h, HTTP1_HEAD_MAX);
	}
	h->in->head_due = 0;
	h->cin_scanned = 0;
	if (rc >= 0)
		rc = http1_request_read(in, &rq);
	if (rc < 0) {
		int status = http1_bad_status((int)rc, &why);

		h->rq.keep = false;
		return h1_refuse(h, status, why);
	}
	return request_serve(h, &rq);
}

/* --- the body ------------------------------------------------------------- */

static enum h1_step body_slice(struct h1 *h)
{
	struct h1_request *rq = &h->rq;
	struct buf blank; /* takes the line after the last chunk */
	struct slice data;
	ssize_t n;
	int status;

	buf_init(&blank, HTTP1_TRAILERS_MAX);
	n = http1_body_take(&rq->body, h1_slice(&h->cin), &data, &blank);
	buf_done(&blank);
	if (n < 0)
		return h1_refuse(h, 400, REASON_BAD_HTTP);
	if (data.len > 0) {
		status = ireq_body(&rq->r, data);
		if (status != 0)
			return h1_deny(h, status, true);
		if (rq->r.hold && inspect_is_full(h->in))
			return h1_refuse(h, 429, REASON_LIMIT_MEMORY);
		if (!rq->r.hold && !rq->refused && body_put(h, data) < 0)
			return h1_refuse(h, 503, REASON_NO_MEMORY);
	}
	h1_consume(&h->cin, (size_t)n);
	if (!rq->body.done)
		return H1_GO;
	return rq->refused ? H1_GO : request_whole(h);
}

/* Takes one slice, and more while the turn lasts, so one piece goes up. Stops
 * at the end of a client's chunk, since what follows may be none. */
static enum h1_step body_step(struct h1 *h)
{
	enum h1_step step;
	size_t before;

	if (buf_len(&h->up) >= INSPECT_IO_MAX)
		return H1_WAIT;
	if (buf_len(&h->cin) == 0)
		return client_fill(h, INSPECT_IO_MAX);
	do {
		before = buf_len(&h->cin);
		step = body_slice(h);
	} while (step == H1_GO && h->state == H1_EXCHANGE && !h->rq.body.done &&
		 before > H1_SLICE && before - buf_len(&h->cin) == H1_SLICE &&
		 !inspect_spent(h->in));
	return step;
}

/* After 101: passes frames unchanged. */
static enum h1_step frames_step(struct h1 *h)
{
	struct slice s = buf_slice(&h->cin);

	if (buf_len(&h->up) >= INSPECT_IO_MAX)
		return H1_WAIT;
	if (s.len == 0)
		return client_fill(h, INSPECT_IO_MAX);
	if (buf_append(&h->up, s.ptr, s.len) < 0) {
		inspect_cut(h->in);
		return H1_STOP;
	}
	h1_consume(&h->cin, s.len);
	return H1_GO;
}

enum h1_step h1_client_step(struct h1 *h)
{
	switch ((enum h1_state)h->state) {
	case H1_HEAD:
		/* A client that takes no responses gets no more of them. */
		return buf_len(&h->down) < INSPECT_IO_MAX ? head_step(h) :
							    H1_WAIT;
	case H1_EXCHANGE:
		if (!h->rq.body.done)
			return body_step(h);
		/* Bytes that come now are the next request's. Reading them is
		 * the only way to see that the client has left. */
		return h->in->c->client_hup ? client_fill(h, INSPECT_IO_MAX) :
					      H1_WAIT;
	case H1_FRAMES:
		return frames_step(h);
	case H1_ENDING:
		break;
	}
	return H1_WAIT;
}
