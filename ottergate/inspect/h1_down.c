/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_down.c - responses, from the upstream's bytes to the client's
 *
 * Theory of operation: ireq.h masks the content, which then gets framing of our
 * own. What one read has brought is passed on at once, as one piece. A body
 * that ends with its connection is complete only if the upstream sends
 * close_notify (RFC 9112 §9.8); if not, the client gets no close_notify either.
 */
#include "ottergate/inspect/h1.h"

/* The upstream has ended without a byte of a response: sends the request again
 * on a new connection if that is allowed, else answers 502. */
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
	h->served = 0; /* a second failure is final */
	inspect_redial(h->in);
	return H1_STOP;
}

/* The body is shorter than the head has promised: passes on what there is, then
 * ends so that this shows. */
static enum h1_step cut_short(struct h1 *h)
{
	h->cut = true;
	h->state = H1_ENDING;
	return H1_GO;
}

/* --- heads ---------------------------------------------------------------- */

/* Passes a 1xx on to a client that knows them (RFC 9110 §15.2). A 101 that was
 * not asked for would turn requests into frames (H6), so it is refused. */
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
	/* HTTP/1.0 has no chunks: the end of the connection ends the body. */
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
	int rc = h1_response_head(rs, head), status;

	if (rc < 0)
		return h1_refuse(h, 502, REASON_BAD_HTTP);
	status = ireq_response(&h->rq.r, head);
	if (status != 0)
		return h1_deny(h, status, true);
	return rs->status < 200 ? interim(h, head) : final_head(h, head, rs);
}

static enum h1_step head_step(struct h1 *h)
{
	struct slice from = buf_slice(&h->uin);
	ssize_t rc = http1_head_end(from, &h->uin_scanned);
	struct http1_response rs;
	struct ihead head;
	enum h1_step step;

	if (rc == -EAGAIN)
		return H1_WAIT;
	/* A response before the request was sent is none. */
	if (rc >= 0 && !h->rq.written)
		rc = -EBADMSG;
	if (rc >= 0)
		rc = http1_response_read(from, h->rq.r.head_request, &rs);
	if (rc < 0)
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
	int rc;

	ihead_init(&fields);
	rc = h1_trailers_read(buf_slice(&h->rs.trailers), &fields);
	if (rc == 0 && ireq_trailers(&h->rq.r, &fields) != 0)
		rc = -EPERM;
	if (rc == 0)
		rc = buf_append(&h->down, "0\r\n", 3);
	if (rc == 0)
		rc = h1_fields_write(&fields, &h->down);
	if (rc == 0)
		rc = buf_append(&h->down, "\r\n", 2);
	ihead_done(&fields);
	return rc;
}

/* Removes the framing and appends what may pass to @out: one slice, and more
 * while the turn lasts. Returns 0 or a negative errno. */
static int content_take(struct h1 *h, struct buf *out)
{
	bool spent = false;
	struct slice data;

	while (buf_len(&h->uin) > 0 && !h->rs.body.done && !spent) {
		ssize_t n = http1_body_take(&h->rs.body, h1_slice(&h->uin),
					    &data, &h->rs.trailers);
		int rc = n < 0 ? (int)n : 0;

		if (rc == 0 && data.len > 0)
			rc = ireq_response_body(&h->rq.r, data, false, out);
		if (rc < 0)
			return rc;
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
	int rc;

	if (!h->rs.chunked)
		return content_take(h, &h->down);
	buf_init(&piece, H1_QUEUE_MAX);
	rc = content_take(h, &piece);
	if (rc == 0)
		rc = h1_chunk_write(buf_slice(&piece), &h->down);
	buf_done(&piece);
	if (rc == 0 && h->rs.body.done)
		rc = trailers_put(h);
	return rc;
}

/* The response is complete. */
static enum h1_step answered(struct h1 *h)
{
	bool keep = h->rs.keep && buf_len(&h->uin) == 0;

	h1_request_end(h, h->rs.status);
	h->rs.answered = false; /* for the next request */
	h->served++;
	h->state = keep ? H1_HEAD : H1_ENDING;
	return H1_GO;
}

static enum h1_step body_step(struct h1 *h)
{
	int rc = content_pass(h);

	if (rc == 0)
		return h->rs.body.done ? answered(h) : H1_GO;
	/* Invalid framing, or it cannot be cleaned: stop here. */
	if (rc == -EPERM)
		inspect_refused(h->in, &h->rq.r);
	else
		conn_refuse(h->in->c,
			    rc == -EBADMSG ? REASON_BAD_HTTP : REASON_NO_MEMORY,
			    NULL);
	return cut_short(h);
}

static enum h1_step frames_step(struct h1 *h)
{
	do {
		struct slice s = h1_slice(&h->uin);
		int rc = ireq_response_body(&h->rq.r, s, false, &h->down);

		if (rc == -EPERM)
			inspect_refused(h->in, &h->rq.r);
		if (rc < 0)
			return cut_short(h);
		buf_consume(&h->uin, s.len);
	} while (buf_len(&h->uin) > 0 && !inspect_spent(h->in));
	return H1_GO;
}

/* --- the end of what the upstream says ------------------------------------ */

/* The upstream has ended; @n is 0 after close_notify, else negative. */
static enum h1_step upstream_end(struct h1 *h, ssize_t n)
{
	struct h1_response *rs = &h->rs;

	h->upstream_end = true;
	if (h->state == H1_FRAMES) {
		int rc = ireq_response_body(&h->rq.r, slice_of(NULL, 0), true,
					    &h->down);

		if (rc == -EPERM)
			inspect_refused(h->in, &h->rq.r);
		if (rc < 0)
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

/* Between two requests the upstream may only be silent or end; bytes would be
 * taken for the next response. */
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

/* Nothing more came for now. If a few bytes at the end were held back, passes
 * them on when they are due: the client may need them before it sends more. */
static enum h1_step rest_step(struct h1 *h)
{
	struct ireq *rq = &h->rq.r;
	struct buf piece;
	int rc;

	h->in->hold_due = rq->rest_due;
	if (rq->rest_due == 0 || h->in->c->worker->now_ms < rq->rest_due)
		return H1_WAIT;
	h->in->hold_due = 0;
	buf_init(&piece, MASK_BEGIN);
	rc = ireq_response_rest(rq, &piece);
	if (rc == 0)
		rc = h->rs.chunked ?
			     h1_chunk_write(buf_slice(&piece), &h->down) :
			     buf_append(&h->down, buf_slice(&piece).ptr,
					buf_len(&piece));
	buf_done(&piece);
	return rc == 0 ? H1_GO : cut_short(h);
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
	/* The times of a model's answer are taken from this. */
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
