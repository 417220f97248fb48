/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_down.c - responses, from the upstream's bytes to the client's
 *
 * Theory of operation: content goes through ireq.h, which masks it, and is
 * framed anew; what one read has brought is one piece for the client, at
 * once. A body that ends with its connection is whole only if the upstream
 * says so (close_notify, RFC 9112 §9.8); otherwise the client's ends without
 * that as well.
 */
#include "ottergate/inspect/h1.h"

/* Nothing of a response has come, and nothing will. */
static enum h1_step no_answer(struct h1 *h)
{
	struct slice again = buf_slice(&h->again);

	if (again.len == 0 || h->served == 0)
		return h1_refuse(h, 502, REASON_CONNECT_FAILED);
	h1_wipe(&h->up);
	h->up = h->again;
	h->up.max = H1_QUEUE_MAX;
	buf_init(&h->again, IHEAD_BYTES_MAX);
	buf_secret(&h->again);
	h->rq.refused = false;
	h->upstream_end = false;
	h->served = 0; /* what then fails has failed */
	inspect_redial(h->in);
	return H1_STOP;
}

/* Less than what the head has promised: what is there goes, and the end shows
 * that it is none. */
static enum h1_step cut_short(struct h1 *h)
{
	h->cut = true;
	h->state = H1_ENDING;
	return H1_GO;
}

/* --- heads ---------------------------------------------------------------- */

/* 1xx: on to the client, if it knows them (RFC 9110 §15.2). A 101 that was not
 * asked for would make frames of requests (H6). */
static enum h1_step interim(struct h1 *h, const struct ihead *head)
{
	const char *connection = NULL;

	if (head->status == 101) {
		if (!h->rq.websocket || !head->websocket)
			return h1_refuse(h, 502, REASON_BAD_HTTP);
		connection = "Upgrade: websocket\r\nConnection: Upgrade\r\n";
		h->state = H1_FRAMES;
		h->rs.status = 101;
		h->rs.answered = true;
	} else if (h->rs.interim++ == H1_INTERIM_MAX) {
		return h1_refuse(h, 502, REASON_BAD_HTTP);
	}
	if (h->rq.old)
		return H1_GO;
	if (h1_response_write(head, &h->rs, connection, &h->down) == 0)
		return H1_GO;
	inspect_cut(h->in);
	return H1_STOP;
}

static enum h1_step final_head(struct h1 *h, const struct ihead *head,
			       const struct http1_response *rs)
{
	const struct h1_request *rq = &h->rq;

	http1_body_of_response(&h->rs.body, rs);
	h->rs.status = head->status;
	h->rs.chunked = rs->m.chunked && !rs->no_body && !rq->old;
	/* HTTP/1.0 knows no chunks: there the end of the connection is the
	 * end of the body. */
	h->rs.keep = rq->keep && rs->m.keep_alive && rq->body.done &&
		     rq->written && buf_len(&h->up) == 0 && !rq->refused &&
		     !(rs->m.chunked && rq->old);
	h->rs.answered = true;
	if (h1_response_write(head, &h->rs,
			      h->rs.keep ? "Connection: keep-alive\r\n" :
					   "Connection: close\r\n",
			      &h->down) == 0)
		return H1_GO;
	inspect_cut(h->in);
	return H1_STOP;
}

static enum h1_step head_pass(struct h1 *h, const struct http1_response *rs,
			      struct ihead *head)
{
	int r = h1_response_head(rs, head), status;

	if (r < 0)
		return h1_refuse(h, 502, REASON_BAD_HTTP);
	status = ireq_response(&h->rq.r, head);
	if (status != 0)
		return h1_deny(h, status, true);
	return rs->status < 200 ? interim(h, head) : final_head(h, head, rs);
}

static enum h1_step head_step(struct h1 *h)
{
	struct slice from = buf_slice(&h->uin);
	ssize_t r = http1_head_end(from, &h->uin_scanned);
	struct http1_response rs;
	struct ihead head;
	enum h1_step step;

	if (r == -EAGAIN)
		return H1_WAIT;
	/* An answer to a request that was not sent is none. */
	if (r >= 0 && !h->rq.written)
		r = -EBADMSG;
	if (r >= 0)
		r = http1_response_read(from, h->rq.r.head_request, &rs);
	if (r < 0)
		return h1_refuse(h, 502, REASON_BAD_HTTP);
	h->uin_scanned = 0;
	ihead_init(&head);
	step = head_pass(h, &rs, &head);
	ihead_done(&head);
	if (step == H1_GO)
		buf_consume(&h->uin, rs.m.head_len);
	return step;
}

/* --- bodies --------------------------------------------------------------- */

static int trailers_put(struct h1 *h)
{
	struct ihead fields;
	int r;

	ihead_init(&fields);
	r = h1_trailers_read(buf_slice(&h->rs.trailers), &fields);
	if (r == 0 && ireq_trailers(&h->rq.r, &fields) != 0)
		r = -EPERM;
	if (r == 0)
		r = buf_append(&h->down, "0\r\n", 3);
	if (r == 0)
		r = h1_fields_write(&fields, &h->down);
	if (r == 0)
		r = buf_append(&h->down, "\r\n", 2);
	ihead_done(&fields);
	return r;
}

/* Takes the framing off what is there, and appends what may go on: a slice, and
 * as many more as the turn has time for. */
static int content_take(struct h1 *h, struct buf *out)
{
	bool spent = false;
	struct slice data;

	while (buf_len(&h->uin) > 0 && !h->rs.body.done && !spent) {
		ssize_t n = http1_body_take(&h->rs.body, h1_slice(&h->uin),
					    &data, &h->rs.trailers);
		int r = n < 0 ? (int)n : 0;

		if (r == 0 && data.len > 0)
			r = ireq_response_body(&h->rq.r, data, false, out);
		if (r < 0)
			return r;
		buf_consume(&h->uin, (size_t)n);
		spent = inspect_spent(h->in);
	}
	if (!h->rs.body.done || h->rs.body.kind == BODY_NONE)
		return 0;
	return ireq_response_body(&h->rq.r, slice_of(NULL, 0), true, out);
}

static int content_pass(struct h1 *h)
{
	struct buf piece;
	int r;

	if (!h->rs.chunked)
		return content_take(h, &h->down);
	buf_init(&piece, H1_QUEUE_MAX);
	r = content_take(h, &piece);
	if (r == 0)
		r = h1_chunk_write(buf_slice(&piece), &h->down);
	buf_done(&piece);
	if (r == 0 && h->rs.body.done)
		r = trailers_put(h);
	return r;
}

/* The answer is whole. */
static enum h1_step answered(struct h1 *h)
{
	bool keep = h->rs.keep && buf_len(&h->uin) == 0;

	h1_request_end(h, h->rs.status);
	h->rs.answered = false; /* of the next one, nothing */
	h->served++;
	h->state = keep ? H1_HEAD : H1_ENDING;
	return H1_GO;
}

static enum h1_step body_step(struct h1 *h)
{
	int r = content_pass(h);

	if (r == 0)
		return h->rs.body.done ? answered(h) : H1_GO;
	/* Framing that lies, or what cannot be cleaned: nothing more of it. */
	if (r == -EPERM)
		inspect_refused(h->in, &h->rq.r);
	else
		conn_refuse(h->in->c,
			    r == -EBADMSG ? REASON_BAD_HTTP : REASON_NO_MEMORY,
			    NULL);
	return cut_short(h);
}

static enum h1_step frames_step(struct h1 *h)
{
	do {
		struct slice s = h1_slice(&h->uin);
		int r = ireq_response_body(&h->rq.r, s, false, &h->down);

		if (r == -EPERM)
			inspect_refused(h->in, &h->rq.r);
		if (r < 0)
			return cut_short(h);
		buf_consume(&h->uin, s.len);
	} while (buf_len(&h->uin) > 0 && !inspect_spent(h->in));
	return H1_GO;
}

/* --- the end of what the upstream says ------------------------------------ */

/* @n: 0 for close_notify, else cut off. */
static enum h1_step upstream_end(struct h1 *h, ssize_t n)
{
	struct h1_response *rs = &h->rs;

	h->upstream_end = true;
	if (h->state == H1_FRAMES) {
		int r = ireq_response_body(&h->rq.r, slice_of(NULL, 0), true,
					   &h->down);

		if (r == -EPERM)
			inspect_refused(h->in, &h->rq.r);
		if (r < 0)
			n = -EPIPE;
		h->cut = n != 0;
		h->state = H1_ENDING;
		return H1_GO;
	}
	if (rs->status == 0)
		return buf_len(&h->uin) > 0 ?
			       h1_refuse(h, 502, REASON_BAD_HTTP) :
			       no_answer(h);
	if (rs->body.kind != BODY_UNTIL_CLOSE)
		return cut_short(h);
	rs->body.done = true;
	h->cut = n != 0;
	return body_step(h);
}

/* Between two requests: it says nothing, or it ends. Words would be taken for
 * the next answer. */
static enum h1_step idle_step(struct h1 *h)
{
	uint8_t byte;
	ssize_t n;

	if (h->upstream_end || !itls_pending(&h->in->upstream))
		return H1_WAIT;
	n = itls_read(&h->in->upstream, &byte, 1);
	if (n == -EAGAIN)
		return H1_WAIT;
	h->upstream_end = true;
	if (n > 0 || (buf_len(&h->cin) == 0 && h->in->requests > 0))
		h->state = H1_ENDING;
	return H1_GO;
}

/* Nothing more has come for now. A few bytes at the end of what did may be held
 * back, and be what the client must have before it says more. */
static enum h1_step rest_step(struct h1 *h)
{
	struct ireq *rq = &h->rq.r;
	struct buf piece;
	int r;

	h->in->hold_due = rq->rest_due;
	if (rq->rest_due == 0 || h->in->c->worker->now_ms < rq->rest_due)
		return H1_WAIT;
	h->in->hold_due = 0;
	buf_init(&piece, MASK_BEGIN);
	r = ireq_response_rest(rq, &piece);
	if (r == 0)
		r = h->rs.chunked ?
			    h1_chunk_write(buf_slice(&piece), &h->down) :
			    buf_append(&h->down, buf_slice(&piece).ptr,
				       buf_len(&piece));
	buf_done(&piece);
	return r == 0 ? H1_GO : cut_short(h);
}

static enum h1_step exchange_step(struct h1 *h)
{
	enum h1_step step = H1_WAIT;
	ssize_t n;

	if (buf_len(&h->down) >= INSPECT_IO_MAX)
		return H1_WAIT;
	if (h->state == H1_FRAMES && buf_len(&h->uin) > 0)
		return frames_step(h);
	if (h->state == H1_EXCHANGE && h->rs.status >= 200 && h->rs.body.done)
		return body_step(h);
	if (buf_len(&h->uin) > 0)
		step = h->rs.status >= 200 ? body_step(h) : head_step(h);
	if (step != H1_WAIT)
		return step;
	if (h->upstream_end)
		return H1_WAIT;
	/* What the times of a model's answer are taken from. */
	h->rq.r.ctx.now_ms = h->in->c->worker->now_ms;
	if (!inspect_may_read(h->in, buf_len(&h->uin) + buf_len(&h->down)))
		return rest_step(h);
	n = h1_fill(&h->in->upstream, &h->uin, INSPECT_IO_MAX);
	if (n == -EAGAIN)
		return rest_step(h);
	if (n <= 0)
		return upstream_end(h, n);
	h1_wipe(&h->again);
	h->in->c->active_ms = h->in->c->worker->now_ms;
	return H1_GO;
}

enum h1_step h1_upstream_step(struct h1 *h)
{
	switch ((enum h1_state)h->state) {
	case H1_HEAD:
		return idle_step(h);
	case H1_EXCHANGE:
	case H1_FRAMES:
		return exchange_step(h);
	case H1_ENDING:
		break;
	}
	return H1_WAIT;
}
