/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.c - a connection's decisions: made, counted, audited
 *
 * Theory of operation: decide() of policy.h has no state; what depends on time
 * and use (expiry, budgets, a full audit) is added here, and can only deny. An
 * allowance is audited before a byte is sent upstream. When the table changes,
 * every allowed connection is decided on again. A dial keeps the policy it
 * began with, so a connection that is dialling is decided on at once, but gets
 * the new policy when the dial has ended.
 */
#include "ottergate/conn/conn_impl.h"

#include <string.h>

#include "lib/str.h"
#include "ottergate/dns/lease.h"
#include "ottergate/conn/worker_impl.h"

/* how often a date is checked: clocks can be set */
#define EXPIRY_LOOK_MS 60000u

/* --- records -------------------------------------------------------------- */

struct audit_record conn_record(const struct conn *c, enum audit_event e,
				enum reason why)
{
	struct worker *w = c->worker;
	struct audit_record rec = {
		.time_ms = worker_realtime(w),
		.conn = c->id,
		.duration_ms = (uint32_t)(w->now_ms - c->started_ms),
		.event = (uint8_t)e,
		.path = c->path,
		.reason = (uint8_t)why,
		.use = c->use,
		.observed = c->observed,
		.port = c->port,
		.source_port = c->source_port,
		.generation = (uint16_t)table_generation(w->table),
		.source = conn_source(c),
		.original = c->original,
		.dialled = c->dialled,
	};

	if (c->agent)
		str_copy(rec.agent, sizeof(rec.agent), c->agent->id);
	audit_rule(&rec, c->rule);
	str_copy(rec.name, sizeof(rec.name), c->name);
	rec.name_len = (uint8_t)strlen(rec.name);
	if (c->program) {
		rec.pid = c->program->pid;
		str_copy(rec.exe, sizeof(rec.exe), c->program->exe);
	}
	return rec;
}

bool conn_wants(const struct conn *c, enum audit_event e)
{
	return c->worker->audit && audit_wants(c->worker->audit, e);
}

void conn_count_denial(struct conn *c)
{
	worker_count_denial(c->worker, c->agent);
}

static void audit_refusal(struct conn *c, enum reason why,
			  const struct name *name, const struct addr *addr)
{
	enum audit_event e = why == REASON_CANARY ? AUDIT_ALARM :
			     reason_is_limit(why) ? AUDIT_LIMIT :
						    AUDIT_DENY;
	struct audit_record rec;

	if (!conn_wants(c, e))
		return;
	conn_find_program(c);
	rec = conn_record(c, e, why);
	if (name && name->len > 0) {
		str_copy(rec.name, sizeof(rec.name), name->s);
		rec.name_len = (uint8_t)strlen(rec.name);
	} else if (addr && addr->family) {
		rec.name[0] = '\0';
		rec.name_len = 0;
		rec.dialled = *addr;
	} else if (!c->name && c->dialled.family == 0 &&
		   why != REASON_ADDRESS_LITERAL) {
		/* It has not asked for an address either. */
		conn_meant(c, &rec);
	}
	/* denied even if the log does not accept the line */
	audit_put(c->worker->audit, &rec);
}

void conn_refuse(struct conn *c, enum reason why, const struct name *name)
{
	conn_count_denial(c);
	audit_refusal(c, why, name, NULL);
}

void conn_refuse_host(struct conn *c, enum reason why, const struct name *name,
		      const struct addr *addr)
{
	conn_count_denial(c);
	audit_refusal(c, why, name, addr);
}

void conn_reached(const struct conn *c, enum reason why)
{
	const struct lease_host host = {
		.name = c->name,
		.addr = c->dialled,
		.port = c->port,
	};

	/* A failure by our own limits says nothing about the host. */
	if (c->agent && !reason_is_limit(why) && why != REASON_NO_MEMORY)
		lease_reached(c->agent, &host, why, c->worker->now_ms);
}

void conn_turn_away(struct conn *c, enum reason why)
{
	struct addr source = conn_source(c);

	conn_count_denial(c);
	if (worker_may_tell(c->worker, &source))
		audit_refusal(c, why, NULL, NULL);
}

void conn_limit(struct conn *c, enum reason why)
{
	conn_refuse(c, why, NULL);
	conn_close(c);
}

void conn_audit_close(const struct conn *c)
{
	struct audit_record rec;

	if (!c->allowed || !conn_wants(c, AUDIT_CLOSE))
		return;
	rec = conn_record(c, AUDIT_CLOSE, REASON_ALLOWED);
	rec.up = c->up;
	rec.down = c->down;
	audit_put(c->worker->audit, &rec);
}

void conn_audit_stranger(struct worker *w, const struct addr *source,
			 uint16_t source_port, enum reason why)
{
	struct worker_impl *im = w->impl;
	struct audit_record rec;

	worker_count(w, COUNTER_DENIED, 1);
	if (!w->audit || !audit_wants(w->audit, AUDIT_DENY) ||
	    w->now_ms < im->quiet_unknown_until)
		return;
	im->quiet_unknown_until = w->now_ms + WORKER_QUIET_MS;
	rec = (struct audit_record){
		.time_ms = worker_realtime(w),
		.event = AUDIT_DENY,
		.path = PATH_TCP,
		.reason = (uint8_t)why,
		.source = *source,
		.source_port = source_port,
		.generation = (uint16_t)table_generation(w->table),
	};
	audit_put(w->audit, &rec);
}

/* --- the decision --------------------------------------------------------- */

uint64_t conn_expires_in(const struct conn *c)
{
	uint64_t left;

	if (!agent_policy_expires(c->policy))
		return UINT64_MAX;
	left = agent_policy_left(c->policy, worker_realtime(c->worker),
				 c->worker->now_ms);
	return left < EXPIRY_LOOK_MS ? left : EXPIRY_LOOK_MS;
}

static void deny(struct verdict *v, enum reason why)
{
	v->allow = false;
	v->observed = false;
	v->reason = why;
}

/* Applies time and use to decide()'s verdict. */
static void restrict_verdict(struct conn *c, const struct request *rq,
			     struct verdict *v)
{
	enum reason why;

	if (worker_expired(c->worker, c->policy)) {
		v->rule = NULL;
		deny(v, REASON_EXPIRED);
		return;
	}
	if (!v->allow)
		return;
	why = usage_name(&c->agent->usage, agent_policy_limits(c->policy),
			 rq->name, v->rule, v->below, c->worker->now_ms);
	if (why == REASON_ALLOWED && !c->half_open)
		why = usage_again(&c->agent->usage,
				  agent_policy_limits(c->policy),
				  c->worker->now_ms);
	if (why != REASON_ALLOWED)
		deny(v, why);
}

static bool remember(struct conn *c, const struct request *rq,
		     const struct verdict *v)
{
	char *name = NULL;

	if (rq->name->len) {
		name = strdup(rq->name->s);
		if (!name)
			return false;
	}
	free(c->name);
	c->name = name;
	c->dialled = rq->addr; /* none if there is a name */
	if (name)
		c->dialled.family = 0;
	c->port = rq->port;
	c->path = (uint8_t)rq->path;
	c->rule = v->rule;
	c->use = (uint8_t)v->use;
	c->proto_kind = (uint8_t)v->proto;
	c->observed = v->observed;
	return true;
}

/* Returns false if it cannot be written and nothing may pass without that. */
static bool audit_verdict(struct conn *c, const struct request *rq,
			  const struct verdict *v)
{
	enum audit_event e = v->allow                   ? AUDIT_ALLOW :
			     reason_is_limit(v->reason) ? AUDIT_LIMIT :
							  AUDIT_DENY;
	struct audit_record rec;
	size_t len = rq->method.len;

	if (!c->worker->audit)
		return true;
	/* A full log refuses even events that are not recorded. */
	if (conn_wants(c, e))
		rec = conn_record(c, e, v->reason);
	else
		rec = (struct audit_record){ .event = (uint8_t)e };
	if (len > sizeof(rec.method) - 1)
		len = sizeof(rec.method) - 1;
	if (len)
		memcpy(rec.method, rq->method.ptr, len);
	return audit_put(c->worker->audit, &rec);
}

struct verdict conn_decide(struct conn *c, const struct request *rq)
{
	return conn_settle(c, rq, decide(c->policy, rq));
}

struct verdict conn_settle(struct conn *c, const struct request *rq,
			   struct verdict v)
{
	conn_find_program(c);
	restrict_verdict(c, rq, &v);
	if (!remember(c, rq, &v))
		deny(&v, REASON_NO_MEMORY);
	if (!audit_verdict(c, rq, &v) && v.allow)
		deny(&v, REASON_AUDIT_FULL);
	c->allowed = v.allow;
	if (c->half_open) {
		usage_request(&c->agent->usage);
		c->half_open = false;
	}
	if (!v.allow) {
		conn_count_denial(c);
		return v;
	}
	worker_count(c->worker, COUNTER_ALLOWED, 1);
	atomic_fetch_add_explicit(&c->agent->usage.allowed, 1,
				  memory_order_relaxed);
	return v;
}

/* --- another policy ------------------------------------------------------- */

/* Returns true if @p would allow what @c does, including the address it was
 * dialled at, unless that is a proxy's. */
static bool still_allowed(const struct conn *c, const struct agent_policy *p,
			  struct verdict *ret)
{
	struct name name = { 0 };
	struct request rq = {
		.path = c->path,
		.name = &name,
		.addr = c->dialled,
		.port = c->port,
	};
	struct verdict v;

	if (c->name) {
		name.len = (uint8_t)strnlen(c->name, NAME_LEN_MAX);
		memcpy(name.s, c->name, name.len);
	}
	v = decide(p, &rq);
	if (!v.allow || v.use != c->use || worker_expired(c->worker, p))
		return false;
	if (c->dialled.family &&
	    !(agent_policy_upstream(p, &name) &&
	      agent_policy_upstream(c->policy, &name)) &&
	    decide_address(p, &v, &c->dialled) != REASON_ALLOWED)
		return false;
	*ret = v;
	return true;
}

/* Moves @c to @p. Returns false if @p does not allow it. */
static bool conn_move(struct conn *c, struct agent_policy *p)
{
	struct verdict v = { 0 };

	if (c->allowed && !still_allowed(c, p, &v))
		return false;
	/* a dial keeps the policy it began with */
	if (c->dial)
		return true;
	agent_policy_unref(c->policy);
	c->policy = agent_policy_ref(p);
	c->rule = v.rule; /* none before a decision, or after a denial */
	if (c->allowed) {
		c->proto_kind = (uint8_t)v.proto;
		c->observed = v.observed;
	}
	return !c->ops->recheck || c->ops->recheck(c);
}

bool conn_recheck(struct conn *c)
{
	struct addr source = conn_source(c);
	const struct table_entry *e = table_find(c->worker->table, &source);

	if (e && e->agent == c->agent &&
	    (e->policy == c->policy || conn_move(c, e->policy)))
		return true;
	conn_refuse(c, REASON_POLICY_GONE, NULL);
	conn_close(c);
	return false;
}
