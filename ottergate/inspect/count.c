/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.c - requests, bytes and audit of an inspected connection
 *
 * Each request has a record in the audit, written before a byte of it goes up.
 * A request that got a credential has a second one; one that used a model has
 * another when it is over. Records have paths without queries, and never any
 * content.
 */
#include "ottergate/inspect/inspect.h"

#include <string.h>

#include "lib/str.h"
#include "ottergate/conn/worker_impl.h"

/* --- records -------------------------------------------------------------- */

static struct audit_record record_of(const struct inspect *in,
				     const struct ireq *r, enum audit_event e)
{
	struct audit_record rec = conn_record(in->c, e, r->verdict.reason);

	audit_rule(&rec, r->verdict.rule);
	str_copy(rec.target, sizeof(rec.target), r->path_log);
	str_copy(rec.credential, sizeof(rec.credential), r->credential);
	return rec;
}

static void put_method(struct audit_record *rec, struct slice method)
{
	size_t len = method.len < sizeof(rec->method) - 1 ?
			     method.len :
			     sizeof(rec->method) - 1;

	if (len > 0)
		memcpy(rec->method, method.ptr, len);
	rec->method[len] = '\0';
}

/* Writes a record. Returns false if that is impossible; then nothing may
 * pass. */
static bool audit_one(struct inspect *in, const struct ireq *r,
		      enum audit_event e, struct slice method)
{
	struct audit_record rec = { .event = (uint8_t)e };

	if (!in->c->worker->audit)
		return true;
	if (conn_wants(in->c, e)) {
		rec = record_of(in, r, e);
		put_method(&rec, method);
	}
	return audit_put(in->c->worker->audit, &rec);
}

/* --- requests ------------------------------------------------------------- */

/* Applies expiry and usage limits to each request. The decision for the
 * connection has counted the first one. */
static enum reason request_limits(struct inspect *in, const struct ireq *r)
{
	const struct rule *rule = r->verdict.rule;
	struct conn *c = in->c;
	enum reason why = REASON_ALLOWED;

	if (conn_expires_in(c) == 0)
		return REASON_EXPIRED;
	if (in->requests++ > 0)
		why = usage_again(&c->agent->usage,
				  agent_policy_limits(c->policy),
				  c->worker->now_ms);
	if (why == REASON_ALLOWED && r->verdict.allow && rule)
		why = usage_inspected(&c->agent->usage, rule->id,
				      r->requests_min, c->worker->now_ms);
	return why;
}

bool inspect_judged(struct inspect *in, struct ireq *r, struct slice method)
{
	struct verdict *v = &r->verdict;
	enum reason why = request_limits(in, r);
	struct conn *c = in->c;
	bool kept;

	if (v->allow && why != REASON_ALLOWED) {
		v->allow = false;
		v->reason = why;
	}
	kept = audit_one(in, r,
			 v->allow                   ? AUDIT_ALLOW :
			 r->canary                  ? AUDIT_ALARM :
			 reason_is_limit(v->reason) ? AUDIT_LIMIT :
						      AUDIT_DENY,
			 method);
	if (v->allow && kept && r->secret)
		kept = audit_one(in, r, AUDIT_INJECT, method);
	if (v->allow && !kept) {
		v->allow = false;
		v->reason = REASON_AUDIT_FULL;
	}
	if (!v->allow) {
		conn_count_denial(c);
		return false;
	}
	worker_count(c->worker, COUNTER_ALLOWED, 1);
	atomic_fetch_add_explicit(&c->agent->usage.allowed, 1,
				  memory_order_relaxed);
	return true;
}

void inspect_refused(struct inspect *in, struct ireq *r)
{
	struct audit_record rec;

	if (!r->reflected) {
		conn_refuse(in->c, r->verdict.reason, NULL);
		return;
	}
	secret_revoke(r->guarded);
	str_copy(r->credential, sizeof(r->credential), r->guarded->id);
	conn_count_denial(in->c);
	rec = record_of(in, r, AUDIT_ALARM);
	if (in->c->worker->audit)
		audit_put(in->c->worker->audit, &rec);
}

void inspect_finished(struct inspect *in, struct ireq *r, unsigned status)
{
	const struct llm_counts *n;
	struct audit_record rec;

	if (!r->usage || !conn_wants(in->c, AUDIT_USAGE))
		return;
	n = llm_usage_counts(r->usage, in->c->worker->now_ms);
	if (n->api == LLM_NONE)
		return;
	rec = record_of(in, r, AUDIT_USAGE);
	rec.status = (uint16_t)(n->status ? n->status : status);
	rec.duration_ms = n->total_ms;
	rec.first_ms = n->first_ms;
	rec.tokens_in = n->tokens_in;
	rec.tokens_out = n->tokens_out;
	rec.tokens_cached = n->tokens_cached;
	rec.stream = n->stream;
	str_copy(rec.api, sizeof(rec.api), llm_api_name(n->api));
	str_copy(rec.model, sizeof(rec.model), n->model);
	/* This has happened already: the log takes it or counts a loss. */
	audit_put(in->c->worker->audit, &rec);
}

/* --- bytes ---------------------------------------------------------------- */

/* @rest: the result of usage_bytes(). */
static int rest_set(struct inspect *in, bool up, int rest)
{
	struct worker *w = in->c->worker;

	if (rest < 0) {
		conn_limit(in->c, rest == -EDQUOT ? REASON_LIMIT_VOLUME :
						    REASON_LIMIT_KILLED);
	} else if (rest > 0) {
		worker_count(w, COUNTER_THROTTLED, 1);
		*(up ? &in->rest_up : &in->rest_down) =
			w->now_ms + (uint64_t)rest;
	}
	return rest;
}

int inspect_account(struct inspect *in, bool up, size_t n)
{
	struct conn *c = in->c;
	struct worker *w = c->worker;

	if (in->gone)
		return -ECONNABORTED;
	worker_count(w, up ? COUNTER_BYTES_UP : COUNTER_BYTES_DOWN, n);
	*(up ? &c->up : &c->down) += n;
	c->active_ms = w->now_ms;
	return rest_set(in, up,
			usage_bytes(&c->agent->usage,
				    agent_policy_limits(c->policy), up, n,
				    w->now_ms));
}

bool inspect_may_read(struct inspect *in, size_t mine)
{
	struct worker *w;

	if (in->gone)
		return false;
	if (conn_may_read(in->c, mine))
		return true;
	w = in->c->worker;
	worker_count(w, COUNTER_THROTTLED, 1);
	in->room_due = w->now_ms + CONN_ROOM_MS;
	return false;
}

bool inspect_is_full(const struct inspect *in)
{
	return !in->gone && !conn_may_read(in->c, SIZE_MAX) &&
	       !conn_may_read(in->c, 1);
}

bool inspect_is_killed(struct inspect *in)
{
	if (in->gone)
		return true;
	if (!usage_is_killed(&in->c->agent->usage))
		return false;
	conn_limit(in->c, REASON_LIMIT_KILLED);
	return true;
}

int inspect_rest(struct inspect *in, bool up)
{
	uint64_t *rest = up ? &in->rest_up : &in->rest_down;
	struct conn *c = in->c;

	if (in->gone)
		return -ECONNABORTED;
	if (*rest == 0)
		return 0;
	if (*rest > c->worker->now_ms)
		return 1;
	*rest = 0;
	return rest_set(in, up,
			usage_rested(&c->agent->usage,
				     agent_policy_limits(c->policy), up,
				     c->worker->now_ms));
}
