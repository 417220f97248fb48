/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_up.c - requests, from the client's bytes to the upstream's
 *
 * Theory of operation: nothing of a request is in `up` before ireq.h has
 * allowed it, and nothing at all, the head included, while its body has to be
 * judged whole. The framing is taken off the body and put on again, so an
 * upstream meets only chunks and lengths that were written here (H1).
 */
#include "ottergate/inspect/h1.h"

#include <string.h>
#include <strings.h>

/* Content, in the framing that the head has said. */
static int body_put(struct h1 *h, struct slice data)
{
	char head[24];
	int n, r;

	if (data.len == 0)
		return 0;
	if (!h->rq.chunked)
		return buf_append(&h->up, data.ptr, data.len);
	n = snprintf(head, sizeof(head), "%zx\r\n", data.len);
	r = buf_append(&h->up, head, (size_t)n);
	if (r == 0)
		r = buf_append(&h->up, data.ptr, data.len);
	return r == 0 ? buf_append(&h->up, "\r\n", 2) : r;
}

/* The head is final: it goes up. */
static int head_put(struct h1 *h)
{
	struct h1_request *rq = &h->rq;
	struct slice s;
	int r = h1_request_write(rq, &h->up);

	if (r < 0)
		return r;
	rq->written = true;
	s = buf_slice(&h->up);
	/* Without memory for a copy there is no second try. */
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
	int status = ireq_body_end(&rq->r), r = 0;

	if (status != 0)
		return h1_deny(h, status, true);
	if (!rq->written)
		r = head_put(h);
	if (r == 0 && rq->r.hold)
		r = body_put(h, buf_slice(&rq->r.held));
	if (r == 0 && rq->chunked)
		r = buf_append(&h->up, "0\r\n\r\n", 5);
	return r < 0 ? h1_refuse(h, 503, REASON_NO_MEMORY) : H1_GO;
}

/* --- the head ------------------------------------------------------------- */

/* Forms and targets that no judge is asked about; 0: it may be. */
static int form_refused(const struct h1 *h, const struct http1_request *rq,
			enum reason *why)
{
	struct name name;
	struct addr addr;
	uint16_t port;
	int r;

	*why = REASON_BAD_HTTP;
	if (rq->form == HTTP1_AUTHORITY)
		return 405; /* CONNECT, within a tunnel of ours */
	if (rq->form == HTTP1_ABSOLUTE &&
	    (rq->scheme.len != 5 ||
	     strncasecmp((const char *)rq->scheme.ptr, "https", 5) != 0))
		return 400;
	r = http1_request_authority(rq, h->in->c->port, &name, &addr, &port);
	if (r == -EPROTO)
		*why = REASON_HOST_MISMATCH;
	else if (r == -EBADMSG)
		*why = REASON_BAD_NAME;
	return r < 0 ? 400 : 0;
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

/* 0; else the status of a refusal, and *why. */
static int head_make(struct h1 *h, const struct http1_request *rq,
		     enum reason *why)
{
	struct ihead *head = malloc(sizeof(*head));
	int r;

	*why = REASON_NO_MEMORY;
	if (!head)
		return 503;
	ihead_init(head);
	h->rq.head = head;
	r = h1_request_head(rq, head);
	if (r == 0)
		return 0;
	*why = r == -ENOMEM ? REASON_NO_MEMORY : REASON_BAD_HTTP;
	return r == -ENOMEM ? 503 : r == -E2BIG ? 431 : 400;
}

/* RFC 9110 §10.1.1: the upstream is not asked to go on with what it must not
 * see yet. */
static int hold_begin(struct h1 *h)
{
	bool ask = h->rq.expect && !h->rq.body.done;

	h->rq.expect = false;
	return ask ? buf_append(&h->down, "HTTP/1.1 100 Continue\r\n\r\n", 25) :
		     0;
}

/* It was judged, and may go on. */
static enum h1_step request_go(struct h1 *h)
{
	struct h1_request *rq = &h->rq;
	const struct rule *rule = rq->r.verdict.rule;
	int r;

	rq->websocket = rq->head->websocket && rule && rule->websocket;
	/* What a server of frames compresses cannot be searched. */
	if (rq->websocket && rq->r.mask)
		ihead_drop(rq->head, "sec-websocket-extensions");
	h->state = H1_EXCHANGE;
	r = rq->r.hold ? hold_begin(h) : head_put(h);
	if (r < 0)
		return r == -EBADMSG ? h1_refuse(h, 400, REASON_BAD_HTTP) :
				       h1_refuse(h, 503, REASON_NO_MEMORY);
	if (rq->body.done && request_whole(h) == H1_STOP)
		return H1_STOP;
	/* It went away while nothing was asked of it, and knows of nothing. */
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
	h1_consume(&h->cin, rq->m.head_len); /* @rq's views end here */
	if (status != 0)
		return h1_refuse(h, status, why);
	return request_judge(h, slice_of(method, n));
}

/* The client says no more; @said: by close_notify, which ends what it says and
 * not what it hears (RFC 8446 §6.1). One that has gone altogether is noticed
 * by what it does not take. */
static enum h1_step client_end(struct h1 *h, bool said)
{
	if (said && h->state == H1_EXCHANGE && h->rq.body.done)
		return H1_WAIT;
	if (h->state != H1_HEAD) {
		inspect_cut(h->in); /* half a request: it shows */
		return H1_STOP;
	}
	/* The answer that was made last may still be on its way. */
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

/* A part of it is here: the rest has until then. */
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
	ssize_t r = http1_head_end(in, &h->cin_scanned);
	struct http1_request rq;
	enum reason why;

	if (r == -EAGAIN) {
		if (in.len > 0)
			head_expect(h);
		return client_fill(h, HTTP1_HEAD_MAX);
	}
	h->in->head_due = 0;
	h->cin_scanned = 0;
	if (r >= 0)
		r = http1_request_read(in, &rq);
	if (r < 0) {
		int status = http1_bad_status((int)r, &why);

		h->rq.keep = false;
		return h1_refuse(h, status, why);
	}
	return request_serve(h, &rq);
}

/* --- the body ------------------------------------------------------------- */

static enum h1_step body_slice(struct h1 *h)
{
	struct h1_request *rq = &h->rq;
	struct buf blank; /* the line that ends chunks: there are no trailers */
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

/* A slice, and as many more as the turn has time for: one piece goes up. It ends
 * with a chunk of the client's, since what follows may be none. */
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

/* After 101: frames, as they are. */
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
		/* Answers that nobody takes are not made without end. */
		return buf_len(&h->down) < INSPECT_IO_MAX ? head_step(h) :
							    H1_WAIT;
	case H1_EXCHANGE:
		if (!h->rq.body.done)
			return body_step(h);
		/* What comes now is the next request's; that nobody waits for
		 * this one any more is seen only by reading. */
		return h->in->c->client_hup ? client_fill(h, INSPECT_IO_MAX) :
					      H1_WAIT;
	case H1_FRAMES:
		return frames_step(h);
	case H1_ENDING:
		break;
	}
	return H1_WAIT;
}
