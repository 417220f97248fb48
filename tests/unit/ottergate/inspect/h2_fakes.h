/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_fakes.h - what stands for TLS, the connection and the judge
 *
 * Included by h2_world.h alone, which has the `w` that all of this works on.
 * Link-time fakes: the archives' own are not taken then.
 */
#ifndef TESTS_UNIT_OTTERGATE_INSPECT_H2_FAKES_H
#define TESTS_UNIT_OTTERGATE_INSPECT_H2_FAKES_H

#include "ottergate/policy/tell/deny.h"

/* --- fakes: TLS ----------------------------------------------------------- */

/* The client is "descriptor" 0, the upstream 1. */
static inline struct pipe *pipe_of(const struct itls *t, bool in)
{
	if (t->fd == 0)
		return in ? &w.up_in : &w.down_out;
	return in ? &w.down_in : &w.up_out;
}

ssize_t itls_read(struct itls *t, void *mem, size_t len)
{
	struct pipe *p = pipe_of(t, true);
	struct slice s = buf_slice(&p->b);

	if (s.len == 0)
		return p->closed ? 0 : -EAGAIN;
	if (s.len < len)
		len = s.len;
	memcpy(mem, s.ptr, len);
	buf_consume(&p->b, len);
	w.slices += t->fd == 0;
	if (len > w.slice_max)
		w.slice_max = len;
	return (ssize_t)len;
}

ssize_t itls_write(struct itls *t, const void *mem, size_t len)
{
	struct pipe *p = pipe_of(t, false);
	size_t used = buf_len(&p->b), room = p->cap > used ? p->cap - used : 0;

	if (p->closed)
		return -EPIPE;
	if (room == 0)
		return -EAGAIN;
	if (len > room)
		len = room;
	return buf_append(&p->b, mem, len) < 0 ? -EPIPE : (ssize_t)len;
}

/* --- fakes: the connection ------------------------------------------------ */

struct ireq_ctx inspect_ctx(struct inspect *in)
{
	return (struct ireq_ctx){ .name = &in->name, .port = 443 };
}

bool inspect_judged(struct inspect *in, struct ireq *r, struct slice method)
{
	(void)in;
	(void)method;
	w.judged++;
	if (w.judge_deny) {
		r->verdict.allow = false;
		r->verdict.reason = (enum reason)w.judge_deny;
	}
	w.denied += !r->verdict.allow;
	return r->verdict.allow;
}

void inspect_refused(struct inspect *in, struct ireq *r)
{
	conn_refuse(in->c, r->verdict.reason, NULL);
}

void inspect_finished(struct inspect *in, struct ireq *r, unsigned status)
{
	(void)in;
	(void)r;
	(void)status;
	w.finished++;
}

int inspect_account(struct inspect *in, bool up, size_t n)
{
	(void)in;
	*(up ? &w.accounted_up : &w.accounted_down) += n;
	return 0;
}

bool inspect_may_read(struct inspect *in, size_t mine)
{
	(void)in;
	w.most = mine > w.most ? mine : w.most;
	return !w.scarce || mine < CONN_ROOM_LITTLE;
}

bool inspect_is_full(const struct inspect *in)
{
	(void)in;
	return w.full;
}

bool inspect_is_killed(struct inspect *in)
{
	(void)in;
	return false;
}

int inspect_rest(struct inspect *in, bool up)
{
	(void)in;
	return up ? w.rest_up : w.rest_down;
}

void conn_refuse(struct conn *c, enum reason why, const struct name *name)
{
	(void)c;
	(void)why;
	(void)name;
	w.refused++;
}

size_t deny_text(char *out, size_t size, int status, const char *agent,
		 const char *name, uint16_t port, const struct verdict *v)
{
	(void)agent;
	(void)name;
	(void)port;
	return (size_t)snprintf(out, size, "refused: %d %s\n", status,
				reason_code(v->reason));
}

const char *agent_policy_id(const struct agent_policy *a)
{
	(void)a;
	return "t";
}

const struct timeouts *agent_policy_timeouts(const struct agent_policy *a)
{
	static const struct timeouts t = { .request_header = 1000 };

	(void)a;
	return &t;
}

void inspect_defer(struct inspect *in)
{
	(void)in;
	w.deferred = true;
}

bool inspect_spent(const struct inspect *in)
{
	(void)in;
	return w.spent;
}

void inspect_close(struct inspect *in)
{
	(void)in;
	w.closed = true;
}

void inspect_cut(struct inspect *in)
{
	(void)in;
	w.closed = w.cut = true;
}

/* --- fakes: the judge ----------------------------------------------------- */

static inline bool text_has(struct slice s, const char *word)
{
	return s.len > 0 && memmem(s.ptr, s.len, word, strlen(word));
}

static inline int fake_deny(struct ireq *r, enum reason why, int status)
{
	r->verdict.allow = false;
	r->verdict.reason = why;
	return status;
}

int ireq_begin(struct ireq *r, const struct ireq_ctx *ctx, struct ihead *head)
{
	r->ctx = *ctx;
	r->verdict.allow = true;
	w.begun++;
	if (w.on_begin)
		w.on_begin(head);
	snprintf(r->path_log, sizeof(r->path_log), "%.*s", (int)head->path.len,
		 (const char *)head->path.ptr);
	if (text_has(head->path, "/deny"))
		return fake_deny(r, REASON_METHOD, 403);
	r->hold = text_has(head->path, "/hold");
	buf_init(&r->held, IREQ_HOLD_MAX);
	if (text_has(head->path, "/secret")) {
		if (ihead_add_str(head, "authorization", "Bearer real") < 0)
			return 431;
		head->fields[head->n_fields - 1].sensitive = true;
	}
	if (text_has(head->path, "/key="))
		head->path_sensitive = true;
	return 0;
}

static inline void piece_note(struct slice in)
{
	w.pieces += in.len > 0;
	if (in.len > w.piece_max)
		w.piece_max = in.len;
}

int ireq_body(struct ireq *r, struct slice in)
{
	piece_note(in);
	w.bodies++;
	if (text_has(in, "too much"))
		return fake_deny(r, REASON_METHOD, 413);
	if (r->hold && buf_append(&r->held, in.ptr, in.len) < 0)
		return fake_deny(r, REASON_METHOD, 413);
	return 0;
}

int ireq_body_end(struct ireq *r)
{
	w.ended++;
	if (r->hold && text_has(buf_slice(&r->held), "mutation"))
		return fake_deny(r, REASON_METHOD, 403);
	return 0;
}

int ireq_response(struct ireq *r, struct ihead *head)
{
	if (ihead_find(head, "x-spoilt", 0))
		return fake_deny(r, REASON_BAD_HTTP, 502);
	ihead_drop(head, "alt-svc");
	return 0;
}

int ireq_response_body(struct ireq *r, struct slice in, bool end,
		       struct buf *out)
{
	(void)r;
	(void)end;
	piece_note(in);
	if (text_has(in, "spoilt"))
		return -EPERM;
	return in.len > 0 ? buf_append(out, in.ptr, in.len) : 0;
}

int ireq_response_rest(struct ireq *r, struct buf *out)
{
	(void)r;
	(void)out;
	return 0;
}

int ireq_trailers(struct ireq *r, struct ihead *fields)
{
	(void)r;
	ihead_drop(fields, "x-dirty");
	return 0;
}

void ireq_request_trailers(struct ireq *r, struct ihead *fields)
{
	(void)r;
	ihead_drop(fields, "authorization");
}

void ireq_end(struct ireq *r)
{
	buf_done(&r->held);
}

size_t ireq_denial(const struct ireq *r, const char *agent, char *out,
		   size_t size)
{
	(void)agent;
	return (size_t)snprintf(out, size, "no: %s\n",
				reason_code(r->verdict.reason));
}

#endif
