/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_down.c - responses: from the back session to the front one
 *
 * A response ends for the client as it ended here: by its end, its trailers, or
 * the upstream's reset after the last byte. A GOAWAY is passed on, and open
 * requests are allowed to finish.
 */
#include "ottergate/inspect/h2.h"

static void interim(struct h2 *h, struct h2_stream *s, const struct ihead *head)
{
	struct h2_nvs nvs;

	if (s->interim++ == H2_INTERIM_MAX) {
		h2_refuse(h, s, 502, REASON_BAD_HTTP);
		return;
	}
	h2_nvs_response(&nvs, head);
	nghttp2_submit_headers(h2_ng(h, H2_FRONT), NGHTTP2_FLAG_NONE,
			       s->id[H2_FRONT], NULL, nvs.v, nvs.n, NULL);
}

static void final(struct h2 *h, struct h2_stream *s, const struct ihead *head)
{
	const nghttp2_data_provider body = h2_flow_provider(s);
	struct h2_nvs nvs;

	s->answered = true;
	s->status = head->status;
	s->down.begun = true;
	h2_nvs_response(&nvs, head);
	if (nghttp2_submit_response(h2_ng(h, H2_FRONT), s->id[H2_FRONT], nvs.v,
				    nvs.n, head->has_body ? &body : NULL) != 0)
		h2_reset(h, s, H2_FRONT, NGHTTP2_INTERNAL_ERROR);
}

void h2_response(struct h2 *h, struct h2_stream *s, bool end)
{
	struct h2_head *hd = ptr_take(&s->response);
	int status;

	if (!hd || s->down.off || s->id[H2_FRONT] < 0) {
		h2_head_free(hd);
		return;
	}
	s->r.ctx.now_ms = h->in->c->worker->now_ms;
	hd->h.has_body = !end;
	if (hd->status != 0 || hd->h.status < 100)
		status = -1;
	else
		status = ireq_response(&s->r, &hd->h);
	if (status < 0)
		h2_refuse(h, s, 502, REASON_BAD_HTTP);
	else if (status > 0)
		h2_deny(h, s, status, true);
	else if (hd->h.status < 200)
		interim(h, s, &hd->h);
	else
		final(h, s, &hd->h);
	h2_head_free(hd);
}

/* The rest of a response could not be cleaned (@r is -EPERM) or kept: resets
 * the stream, so that the client does not take what it got for all of it. */
static void spoilt(struct h2 *h, struct h2_stream *s, int rc)
{
	if (rc == -EPERM)
		h2_refused(h, s);
	else
		conn_refuse(h->in->c, REASON_NO_MEMORY, NULL);
	h2_flow_off(h, s, &s->down);
	h2_reset(h, s, H2_FRONT, NGHTTP2_INTERNAL_ERROR);
	h2_reset(h, s, H2_BACK, NGHTTP2_CANCEL);
}

void h2_response_data(struct h2 *h, struct h2_stream *s, struct slice in)
{
	struct h2_flow *f = &s->down;
	int rc;

	f->owed += (uint32_t)in.len;
	if (f->off) {
		h2_credit(h, s, f, in.len);
		return;
	}
	s->r.ctx.now_ms = h->in->c->worker->now_ms;
	rc = ireq_response_body(&s->r, in, false, &f->bytes);
	if (s->r.rest_due > 0 &&
	    (h->in->hold_due == 0 || s->r.rest_due < h->in->hold_due))
		h->in->hold_due = s->r.rest_due;
	if (rc < 0)
		spoilt(h, s, rc);
	else
		h2_flow_kick(h, s, f);
}

bool h2_response_rests(struct h2 *h)
{
	uint64_t now = h->in->c->worker->now_ms, next = 0;
	bool did = false;

	if (h->in->hold_due == 0 || now < h->in->hold_due)
		return false;
	for (struct h2_stream *s = h->streams; s; s = s->next) {
		uint64_t due = s->down.off || s->down.end ? 0 : s->r.rest_due;
		int rc;

		if (due > now && (next == 0 || due < next))
			next = due;
		if (due == 0 || due > now)
			continue;
		rc = ireq_response_rest(&s->r, &s->down.bytes);
		if (rc < 0)
			spoilt(h, s, rc);
		else
			h2_flow_kick(h, s, &s->down);
		did = true;
	}
	h->in->hold_due = next;
	return did;
}

void h2_response_trailers(struct h2 *h, struct h2_stream *s)
{
	struct h2_head *hd = ptr_take(&s->response);

	if (!hd || s->down.off) {
		h2_head_free(hd);
		return;
	}
	if (hd->status != 0 || ireq_trailers(&s->r, &hd->h) != 0)
		spoilt(h, s, -EPERM);
	else if (hd->h.n_fields > 0 && !s->down.trailers)
		s->down.trailers = ptr_take(&hd);
	h2_head_free(hd);
}

void h2_response_end(struct h2 *h, struct h2_stream *s)
{
	struct h2_flow *f = &s->down;
	int rc;

	if (f->off || !s->answered)
		return;
	rc = ireq_response_body(&s->r, slice_of(NULL, 0), true, &f->bytes);
	if (rc < 0) {
		spoilt(h, s, rc);
		return;
	}
	f->end = true;
	h2_flow_kick(h, s, f);
}

/* If the client has its complete response and the upstream is done, resets a
 * request that is still being sent (RFC 9113 §8.1). */
static void settle(struct h2 *h, struct h2_stream *s)
{
	if (s->response_sent && s->id[H2_BACK] < 0 && s->id[H2_FRONT] > 0 &&
	    nghttp2_session_get_stream_remote_close(h2_ng(h, H2_FRONT),
						    s->id[H2_FRONT]) == 0)
		h2_reset(h, s, H2_FRONT, NGHTTP2_NO_ERROR);
}

void h2_response_sent(struct h2 *h, struct h2_stream *s)
{
	s->response_sent = true;
	settle(h, s);
}

void h2_back_closed(struct h2 *h, struct h2_stream *s, uint32_t error)
{
	s->id[H2_BACK] = -1;
	h2_flow_off(h, s, &s->up);
	h2_credit(h, s, &s->down, s->down.off ? s->down.owed : 0);
	if (s->id[H2_FRONT] < 0) {
		h2_stream_free(h, s);
		return;
	}
	if (s->down.end || s->down.off)
		settle(h, s);
	else
		h2_cut(h, s,
		       error == NGHTTP2_NO_ERROR ? NGHTTP2_INTERNAL_ERROR :
						   error);
}

void h2_drain(struct h2 *h, uint32_t error)
{
	nghttp2_session *ng = h2_ng(h, H2_FRONT);

	if (h->goaway)
		return;
	h->goaway = true;
	nghttp2_submit_goaway(ng, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(ng),
			      error, NULL, 0);
}

void h2_lost(struct h2 *h)
{
	struct h2_stream *next;

	if (h->lost)
		return;
	h->lost = true;
	h2_drain(h, NGHTTP2_NO_ERROR);
	for (struct h2_stream *s = h->streams; s; s = next) {
		next = s->next;
		/* Its frames are not sent yet: it may be retried. */
		if (s->id[H2_BACK] > 0)
			h2_back_closed(h, s,
				       s->request_sent ?
					       NGHTTP2_INTERNAL_ERROR :
					       NGHTTP2_REFUSED_STREAM);
	}
}
