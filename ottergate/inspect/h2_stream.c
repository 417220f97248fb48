/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_stream.c - a stream's flows, its denial, and its end
 *
 * A stream is freed when neither side has it any more. Both report that in
 * callbacks only, so a function that submits a frame may still use the stream.
 */
#include "ottergate/inspect/h2.h"
#include "ottergate/policy/tell/deny.h"

#include <string.h>

#define TEXT_MAX 1024u

static bool is_up(const struct h2_stream *s, const struct h2_flow *f)
{
	return f == &s->up;
}

static enum h2_side_id sender(const struct h2_stream *s,
			      const struct h2_flow *f)
{
	return is_up(s, f) ? H2_FRONT : H2_BACK;
}

static enum h2_side_id receiver(const struct h2_stream *s,
				const struct h2_flow *f)
{
	return is_up(s, f) ? H2_BACK : H2_FRONT;
}

/* --- flows ---------------------------------------------------------------- */

void h2_credit(struct h2 *h, struct h2_stream *s, struct h2_flow *f, size_t n)
{
	enum h2_side_id from = sender(s, f);

	if (n > f->owed)
		n = f->owed;
	f->owed -= (uint32_t)n;
	if (n == 0)
		return;
	/* A closed stream still owes to the connection's window. */
	if (s->id[from] > 0)
		nghttp2_session_consume(h2_ng(h, from), s->id[from], n);
	else
		nghttp2_session_consume_connection(h2_ng(h, from), n);
}

void h2_flow_off(struct h2 *h, struct h2_stream *s, struct h2_flow *f)
{
	f->off = true;
	buf_done(&f->bytes);
	h2_head_free(ptr_take(&f->trailers));
	h2_credit(h, s, f, f->owed);
}

void h2_flow_kick(struct h2 *h, struct h2_stream *s, struct h2_flow *f)
{
	enum h2_side_id to = receiver(s, f);

	if (!f->waits || s->id[to] <= 0 || h->side[to].rests)
		return;
	f->waits = false;
	nghttp2_session_resume_data(h2_ng(h, to), s->id[to]);
}

/* The last bytes were taken: END_STREAM goes with them, or trailers follow. */
static int flow_ends(struct h2_stream *s, struct h2_flow *f,
		     nghttp2_session *ng, uint32_t *flags)
{
	struct h2_nvs nvs;

	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (!f->trailers)
		return 0;
	*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	h2_nvs_trailers(&nvs, &f->trailers->h);
	if (nghttp2_submit_trailer(ng, s->id[receiver(s, f)], nvs.v, nvs.n) !=
	    0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	h2_head_free(ptr_take(&f->trailers));
	return 0;
}

/* Resets the client's stream after the last byte. */
static void flow_breaks(struct h2 *h, struct h2_stream *s)
{
	h2_reset(h, s, H2_FRONT, s->error);
	s->error = H2_ERROR_NONE;
}

/* nghttp2_data_source_read_callback */
static ssize_t provide(nghttp2_session *ng, int32_t id, uint8_t *to, size_t len,
		       uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct h2_stream *s = source->ptr;
	struct h2 *h = arg;
	struct h2_flow *f = ng == h2_ng(h, H2_BACK) ? &s->up : &s->down;
	struct slice in = buf_slice(&f->bytes);
	size_t n = in.len < len ? in.len : len;

	(void)id;
	if ((n == 0 && !f->end) || h->side[receiver(s, f)].rests) {
		f->waits = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	if (n > 0)
		memcpy(to, in.ptr, n);
	buf_consume(&f->bytes, n);
	h2_credit(h, s, f, n);
	if (buf_len(&f->bytes) > 0)
		return (ssize_t)n;
	if (f->end && flow_ends(s, f, ng, flags) != 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (!is_up(s, f) && s->error != H2_ERROR_NONE)
		flow_breaks(h, s);
	return (ssize_t)n;
}

nghttp2_data_provider h2_flow_provider(struct h2_stream *s)
{
	return (nghttp2_data_provider){
		.source.ptr = s,
		.read_callback = provide,
	};
}

/* --- the end -------------------------------------------------------------- */

void h2_reset(struct h2 *h, struct h2_stream *s, enum h2_side_id side,
	      uint32_t error)
{
	if (s->id[side] <= 0)
		return;
	if (side == H2_FRONT)
		s->ours = true;
	nghttp2_submit_rst_stream(h2_ng(h, side), NGHTTP2_FLAG_NONE,
				  s->id[side], error);
}

void h2_cut(struct h2 *h, struct h2_stream *s, uint32_t error)
{
	if (s->down.begun && !s->down.end && buf_len(&s->down.bytes) > 0)
		s->error = error;
	else
		h2_reset(h, s, H2_FRONT, error);
}

static const char *agent_of(const struct h2 *h)
{
	return agent_policy_id(h->in->c->policy);
}

/* Queues a response with @text, which is neither masked nor counted. */
static int answer_put(struct h2 *h, struct h2_stream *s, int status,
		      struct slice text)
{
	const nghttp2_data_provider body = h2_flow_provider(s);
	struct h2_head *hd = h2_head_new();
	struct h2_nvs nvs;
	int rc = -ENOMEM;

	if (hd && ihead_add_str(&hd->h, "content-type", "text/plain") == 0 &&
	    ihead_add_str(&hd->h, "x-ac-denied",
			  reason_code(s->r.verdict.reason)) == 0 &&
	    (s->head_request ||
	     buf_append(&s->down.bytes, text.ptr, text.len) == 0)) {
		hd->h.status = (unsigned)status;
		hd->h.length = text.len;
		h2_nvs_response(&nvs, &hd->h);
		rc = nghttp2_submit_response(h2_ng(h, H2_FRONT),
					     s->id[H2_FRONT], nvs.v, nvs.n,
					     s->head_request ? NULL : &body);
	}
	h2_head_free(hd);
	return rc;
}

static void answer(struct h2 *h, struct h2_stream *s, int status,
		   struct slice text)
{
	bool late = s->down.begun;

	h2_flow_off(h, s, &s->up);
	h2_reset(h, s, H2_BACK, NGHTTP2_CANCEL);
	h2_head_free(ptr_take(&s->request));
	/* What came of another response is not the answer: cut it. */
	h2_flow_off(h, s, &s->down);
	s->answered = true;
	s->down.begun = s->down.end = true;
	if (late) {
		h2_reset(h, s, H2_FRONT, NGHTTP2_CANCEL);
		return;
	}
	s->status = (unsigned)status;
	if (s->id[H2_FRONT] > 0 && answer_put(h, s, status, text) != 0)
		h2_reset(h, s, H2_FRONT, NGHTTP2_INTERNAL_ERROR);
}

void h2_refused(struct h2 *h, struct h2_stream *s)
{
	inspect_refused(h->in, &s->r);
	if (!s->r.reflected)
		return;
	h->alarmed = true;
	h2_drain(h, NGHTTP2_NO_ERROR);
}

void h2_deny(struct h2 *h, struct h2_stream *s, int status, bool audit)
{
	char text[TEXT_MAX];
	size_t n = ireq_denial(&s->r, agent_of(h), text, sizeof(text));

	if (audit)
		h2_refused(h, s);
	answer(h, s, status, slice_of(text, n));
}

/* Answers what was refused without a rule; audits nothing. */
static void tell(struct h2 *h, struct h2_stream *s, int status, enum reason why)
{
	const struct verdict v = inspect_refusal(h->in, why);
	char text[TEXT_MAX];
	size_t n = deny_text(text, sizeof(text), status, agent_of(h),
			     h->in->name.s, h->in->c->port, &v);

	s->r.verdict.allow = false;
	s->r.verdict.reason = why;
	answer(h, s, status, slice_of(text, n));
}

void h2_refuse(struct h2 *h, struct h2_stream *s, int status, enum reason why)
{
	conn_refuse(h->in->c, why, NULL);
	tell(h, s, status, why);
}

void h2_unreachable(struct h2 *h, struct h2_stream *s)
{
	tell(h, s, h->in->fail_status, (enum reason)h->in->fail_why);
	h2_drain(h, NGHTTP2_NO_ERROR);
}

void h2_stream_tell(struct h2 *h, struct h2_stream *s)
{
	if (s->judged && !s->told && !h->in->gone)
		inspect_finished(h->in, &s->r, s->status);
	s->told = true;
}

void h2_stream_free(struct h2 *h, struct h2_stream *s)
{
	h2_stream_tell(h, s);
	ireq_end(&s->r);
	buf_done(&s->up.bytes);
	buf_done(&s->down.bytes);
	h2_head_free(s->up.trailers);
	h2_head_free(s->down.trailers);
	h2_head_free(s->reading);
	h2_head_free(s->request);
	h2_head_free(s->response);
	h->held -= s->held;
	h->n_streams--;
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	free(s);
}
