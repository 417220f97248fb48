/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_up.c - requests: from the front session to the back one
 *
 * A request is judged when its head is complete, and its head goes up at once.
 * There are two exceptions. A request without a body goes up as a whole. A
 * request whose body has to be held (ireq.hold) waits for it, head and all, so
 * an upstream sees nothing of what is denied in the end.
 */
#include "ottergate/inspect/h2.h"

#include <string.h>

struct h2_stream *h2_stream_new(struct h2 *h, int32_t id)
{
	struct h2_stream *s = NULL;

	if (h->n_streams < H2_STREAMS_KEPT_MAX)
		s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	if (nghttp2_session_set_stream_user_data(h2_ng(h, H2_FRONT), id, s) !=
	    0) {
		free(s);
		return NULL;
	}
	s->id[H2_FRONT] = id;
	s->id[H2_BACK] = -1;
	s->error = H2_ERROR_NONE;
	/* More than the window, since masking holds back a little. */
	buf_init(&s->up.bytes, 2 * H2_WINDOW);
	buf_init(&s->down.bytes, 2 * H2_WINDOW);
	s->next = h->streams;
	s->link = &h->streams;
	if (s->next)
		s->next->link = &s->next;
	h->streams = s;
	h->n_streams++;
	return s;
}

/* --- the head ------------------------------------------------------------- */

static int limit_status(enum reason why)
{
	if (why == REASON_AUDIT_FULL || why == REASON_NO_MEMORY)
		return 503;
	return reason_is_limit(why) ? 429 : 403;
}

/* Judges the request. Returns false if it was answered or reset. */
static bool judge(struct h2 *h, struct h2_stream *s)
{
	struct ireq_ctx ctx = inspect_ctx(h->in);
	struct ihead *head = &s->request->h;
	struct slice method = head->method; /* stays valid */
	enum reason why;
	int status = h2_head_request(s->request, &why);

	s->head_request = slice_eq(method, slice_str("HEAD"));
	if (status == 0 && h->in->fail_why) {
		h2_unreachable(h, s);
		return false;
	}
	if (status != 0) {
		h2_refuse(h, s, status, why);
		return false;
	}
	status = ireq_begin(&s->r, &ctx, head);
	s->judged = true;
	if (status != 0)
		s->r.verdict.allow = false;
	if (!inspect_judged(h->in, &s->r, method) && status == 0)
		status = limit_status(s->r.verdict.reason);
	if (status != 0)
		h2_deny(h, s, status, false);
	return status == 0;
}

static void to_upstream(struct h2 *h, struct h2_stream *s)
{
	const nghttp2_data_provider body = h2_flow_provider(s);
	struct h2_head *hd = ptr_take(&s->request);
	bool bare = s->up.end && buf_len(&s->up.bytes) == 0 && !s->up.trailers;
	struct h2_nvs nvs;
	int32_t id = -1;

	if (!h->lost && hd) {
		h2_nvs_request(&nvs, &hd->h);
		id = nghttp2_submit_request(h2_ng(h, H2_BACK), NULL, nvs.v,
					    nvs.n, bare ? NULL : &body, s);
	}
	h2_head_free(hd);
	s->up.begun = true;
	if (id > 0) {
		s->id[H2_BACK] = id;
		return;
	}
	/* The upstream has seen nothing of it: the client may send it again on
	 * another connection (RFC 9113 §8.7). */
	h2_flow_off(h, s, &s->up);
	h2_cut(h, s, NGHTTP2_REFUSED_STREAM);
}

/* Sends 100 to a client that waits for it before it sends the body. The
 * upstream cannot: it has not seen the request yet (RFC 9110 §10.1.1). */
static void send_continue(struct h2 *h, struct h2_stream *s)
{
	struct h2_head *hd = h2_head_new();
	struct h2_nvs nvs;

	if (!hd)
		return;
	hd->h.status = 100;
	h2_nvs_response(&nvs, &hd->h);
	nghttp2_submit_headers(h2_ng(h, H2_FRONT), NGHTTP2_FLAG_NONE,
			       s->id[H2_FRONT], NULL, nvs.v, nvs.n, NULL);
	h2_head_free(hd);
}

void h2_request(struct h2 *h, struct h2_stream *s)
{
	s->request = ptr_take(&s->reading);
	s->request->h.has_body = !s->request_end;
	if (!judge(h, s))
		return;
	if (s->r.hold && ihead_drop(&s->request->h, "expect") > 0)
		send_continue(h, s);
	else if (!s->r.hold && !s->request_end)
		to_upstream(h, s);
}

/* --- the body ------------------------------------------------------------- */

/* Held bytes are bounded by H2_HELD_MAX and not by the window: else a few such
 * bodies would stop all streams forever. */
static void hold(struct h2 *h, struct h2_stream *s, size_t n)
{
	h2_credit(h, s, &s->up, n);
	s->held += (uint32_t)n;
	h->held += n;
	if (h->held > H2_HELD_MAX)
		h2_refuse(h, s, 413, REASON_BODY_LIMIT);
	else if (inspect_is_full(h->in))
		h2_refuse(h, s, 429, REASON_LIMIT_MEMORY);
}

void h2_request_data(struct h2 *h, struct h2_stream *s, struct slice in)
{
	struct h2_flow *f = &s->up;
	int status;

	f->owed += (uint32_t)in.len;
	if (f->off) {
		h2_credit(h, s, f, in.len);
		return;
	}
	status = ireq_body(&s->r, in);
	if (status != 0)
		h2_deny(h, s, status, true);
	else if (s->r.hold)
		hold(h, s, in.len);
	else if (buf_append(&f->bytes, in.ptr, in.len) < 0)
		h2_refuse(h, s, 503, REASON_NO_MEMORY);
	else
		h2_flow_kick(h, s, f);
}

void h2_request_trailers(struct h2 *h, struct h2_stream *s)
{
	struct h2_head *hd = ptr_take(&s->reading);

	(void)h;
	if (hd && hd->status == 0 && !s->up.off && !s->up.trailers) {
		ireq_request_trailers(&s->r, &hd->h);
		if (hd->h.n_fields > 0)
			s->up.trailers = ptr_take(&hd);
	} else if (hd && hd->status != 0 && !s->up.off) {
		h2_refuse(h, s, hd->status, REASON_BAD_HTTP);
	}
	h2_head_free(hd);
}

/* Queues the held body behind its head. */
static int release(struct h2 *h, struct h2_stream *s)
{
	struct slice held = buf_slice(&s->r.held);
	int rc = 0;

	if (held.len > 0)
		rc = buf_append(&s->up.bytes, held.ptr, held.len);
	buf_done(&s->r.held);
	h->held -= s->held;
	s->held = 0;
	return rc;
}

void h2_request_end(struct h2 *h, struct h2_stream *s)
{
	struct h2_flow *f = &s->up;
	int status;

	if (f->off)
		return;
	f->end = true;
	status = ireq_body_end(&s->r);
	if (status != 0)
		h2_deny(h, s, status, true);
	else if (release(h, s) < 0)
		h2_refuse(h, s, 503, REASON_NO_MEMORY);
	else if (!f->begun)
		to_upstream(h, s);
	else
		h2_flow_kick(h, s, f);
}

void h2_front_closed(struct h2 *h, struct h2_stream *s, uint32_t error)
{
	s->id[H2_FRONT] = -1;
	h2_flow_off(h, s, &s->down);
	if (error != NGHTTP2_NO_ERROR || !s->up.end) {
		h2_flow_off(h, s, &s->up);
		h2_reset(h, s, H2_BACK,
			 error == NGHTTP2_NO_ERROR ? NGHTTP2_CANCEL : error);
	} else {
		/* The request is complete; its rest still goes up. */
		h2_credit(h, s, &s->up, s->up.owed);
	}
	if (s->id[H2_BACK] < 0)
		h2_stream_free(h, s);
}
