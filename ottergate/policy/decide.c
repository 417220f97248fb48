/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.c - may this sandbox reach this name, on this port, by this path?
 *
 * The one place that says yes. Its order is that of policy.h, and each step
 * ends the search: what is denied by a built-in or a `deny` rule is denied,
 * whatever allows it further down. Allowing rules are sought from the whole
 * name towards its shortest suffix; a rule that does not take the port or the
 * protocol is no match, so that a narrower rule for other ports does not
 * hide a wider one.
 *
 * An inspect rule allows the name; its requests are judged one by one, by
 * decide_http(). It is never let through as a tunnel and never observed. Over
 * plain HTTP no server proves that it has that name: there it needs `insecure`,
 * and a service.
 *
 * A service is a name and a port that have one address. That holds whichever
 * rule allows them, so that a rule with a credential for the same name and port
 * goes where the service is.
 */
#include "ottergate/policy/policy_impl.h"

#include "ottergate/policy/limits.h"

bool rule_has_port(const struct rule *r, uint16_t port)
{
	for (unsigned i = 0; i < r->n_ports; i++) {
		if (port >= r->ports[2 * i] && port <= r->ports[2 * i + 1])
			return true;
	}
	return false;
}

static enum rule_proto rule_proto_at(const struct rule *r, uint16_t port)
{
	if (r->proto_set)
		return r->proto;
	return port == 80 ? RULE_HTTP : RULE_TLS;
}

bool rule_takes_path(const struct rule *r, uint16_t port, enum path path)
{
	enum rule_proto proto = rule_proto_at(r, port);

	if (proto == RULE_TCP) /* any bytes at all */
		return true;
	switch (path) {
	case PATH_DNS:
	case PATH_CHECK:
		return true;
	case PATH_TLS:
	case PATH_CONNECT:
		return proto == RULE_TLS;
	case PATH_HTTP:
	case PATH_PROXY:
		return proto == RULE_HTTP;
	default:
		return false;
	}
}

static bool rule_takes(const struct rule *r, const struct request *rq)
{
	if (rq->path == PATH_DNS && rq->port == 0)
		return true; /* a name is asked for before the port is known */
	return rule_has_port(r, rq->port) &&
	       rule_takes_path(r, rq->port, rq->path);
}

static bool rule_denies_port(const struct rule *r, uint16_t port)
{
	return r->n_ports == 0 || rule_has_port(r, port);
}

const struct rule *rule_set_denies(const struct rule_set *s,
				   const struct match_key *k, uint16_t port)
{
	for (unsigned i = 0; i < k->n; i++) {
		const struct match_entry *e =
			match_first(&s->names, k, i, MATCH_AT(i));

		for (; e; e = match_next(&s->names, e, MATCH_AT(i))) {
			const struct rule *r = &s->rules[e->rule]->r;

			if (rule_denies_port(r, port))
				return r;
		}
	}
	return NULL;
}

const struct rule *policy_builtin_name(const struct policy *p,
				       const struct match_key *k)
{
	return rule_set_denies(&p->builtin, k, 0);
}

/* @port 0 (not known): every rule that has the address counts. */
static const struct rule *denies_address(const struct rule_set *s,
					 const struct addr *addr, uint16_t port)
{
	for (uint32_t i = 0; i < s->n_ips; i++) {
		const struct rule *r = &s->rules[s->ips[i].rule]->r;

		if ((port == 0 || rule_denies_port(r, port)) &&
		    cidr_has(&s->ips[i].cidr, addr))
			return r;
	}
	return NULL;
}

static const struct rule *agent_denies_address(const struct agent_policy *a,
					       const struct addr *addr,
					       uint16_t port)
{
	const struct rule *r = denies_address(&a->policy->deny, addr, port);

	return r ? r : denies_address(&a->deny, addr, port);
}

static void verdict_deny(struct verdict *v, enum reason why,
			 const struct rule *r)
{
	v->allow = false;
	v->reason = why;
	v->rule = r;
}

/* Returns the service of @s that has the key's name and @port, or NULL. */
static const struct rule *service_in(const struct rule_set *s,
				     const struct match_key *k, uint16_t port)
{
	const struct match_entry *e = match_first(&s->names, k, 0, MATCH_EXACT);

	for (; e; e = match_next(&s->names, e, MATCH_EXACT)) {
		const struct rule *r = &s->rules[e->rule]->r;

		if (rule_has_port(r, port))
			return r;
	}
	return NULL;
}

static const struct rule *service_of(const struct agent_policy *a,
				     const struct match_key *k, uint16_t port)
{
	const struct rule *r = service_in(&a->policy->services, k, port);

	return r ? r : service_in(&a->services, k, port);
}

const struct rule *agent_policy_service(const struct agent_policy *a,
					const struct name *name, uint16_t port)
{
	struct match_key key;

	if (name->len == 0)
		return NULL;
	match_key_init(&key, name, a->policy->seed);
	return service_of(a, &key, port);
}

/* Can the requests be read, and does the server prove its name? A credential
 * never goes over plain HTTP (H12), but where the user has said that it may: to
 * a service, which is at one address. */
static bool can_inspect(const struct request *rq, enum rule_proto proto,
			bool plain)
{
	if (!rq->name || rq->name->len == 0)
		return false;
	switch (rq->path) {
	case PATH_DNS:
		return true;
	case PATH_TLS:
	case PATH_CONNECT:
	case PATH_CHECK:
		return proto == RULE_TLS || plain;
	case PATH_HTTP:
	case PATH_PROXY:
		return plain;
	default:
		return false;
	}
}

static void verdict_rule(struct verdict *v, const struct rule *r,
			 const struct request *rq)
{
	v->rule = r;
	v->use = r->use;
	v->proto = rule_proto_at(r, v->port);
	v->allow =
		r->use == RULE_TUNNEL ||
		can_inspect(rq, v->proto,
			    v->proto == RULE_HTTP && r->insecure && v->service);
	v->reason = v->allow ? REASON_ALLOWED : REASON_NEEDS_INSPECT;
}

/* What is spoken on this path when no rule says it. */
static enum rule_proto path_proto(enum path path)
{
	switch (path) {
	case PATH_HTTP:
	case PATH_PROXY:
		return RULE_HTTP;
	case PATH_TCP:
		return RULE_TCP;
	default:
		return RULE_TLS;
	}
}

/* A rule that has the name, or the address, but does not take the request:
 * the one nearest to it is what people are told of. */
static void other_note(const struct rule **other, const struct rule *r,
		       const struct request *rq)
{
	if (!*other ||
	    (!rule_has_port(*other, rq->port) && rule_has_port(r, rq->port)))
		*other = r;
}

static void verdict_other(struct verdict *v, const struct rule *other)
{
	verdict_deny(v,
		     rule_has_port(other, v->port) ? REASON_PROTO : REASON_PORT,
		     other);
}

/* Nothing allows it: observe mode lets it pass, and says so. */
static void verdict_default(struct verdict *v, const struct agent_policy *a,
			    const struct request *rq)
{
	if (a->mode != POLICY_OBSERVE)
		return;
	v->allow = v->observed = true;
	v->reason = REASON_OBSERVED;
	v->rule = v->service = NULL;
	v->use = RULE_TUNNEL;
	v->below = 0;
	v->proto = path_proto(rq->path);
}

/* The best rule for the @i-th suffix: inspect before tunnel, else the first.
 * *ret_other: one that has the name, but does not take the request. */
static const struct rule *best_at(const struct agent_policy *a,
				  const struct match_key *k, unsigned i,
				  const struct request *rq,
				  const struct rule **ret_other)
{
	const struct rule *best = NULL;

	for (size_t s = 0; s < a->n_sets; s++) {
		const struct match *m = &a->sets[s]->names;
		const struct match_entry *e = match_first(m, k, i, MATCH_AT(i));

		for (; e; e = match_next(m, e, MATCH_AT(i))) {
			const struct rule *r = &a->sets[s]->rules[e->rule]->r;

			if (!rule_takes(r, rq)) {
				other_note(ret_other, r, rq);
			} else if (!best || (best->use == RULE_TUNNEL &&
					     r->use == RULE_INSPECT)) {
				best = r;
			}
		}
	}
	return best;
}

/* Long or many labels below a wildcard carry data out, not names (D2). */
static bool below_is_sane(const struct match_key *k, unsigned below)
{
	if (below > LIMIT_LABELS_BELOW)
		return false;
	for (unsigned i = 0; i < below; i++) {
		if (k->offset[i + 1] - k->offset[i] - 1 >
		    (int)LIMIT_LABEL_BELOW_LEN)
			return false;
	}
	return true;
}

static struct verdict decide_name(const struct agent_policy *a,
				  const struct request *rq)
{
	struct verdict v = {
		.reason = REASON_NOT_ALLOWED,
		.proto = path_proto(rq->path),
		.port = rq->port,
	};
	const struct rule *r, *other = NULL;
	struct match_key key;

	match_key_init(&key, rq->name, a->policy->seed);
	r = policy_builtin_name(a->policy, &key);
	if (r) {
		verdict_deny(&v, REASON_BUILTIN_NAME, r);
		return v;
	}
	r = rule_set_denies(&a->policy->deny, &key, rq->port);
	if (!r)
		r = rule_set_denies(&a->deny, &key, rq->port);
	if (r) {
		verdict_deny(&v, REASON_DENY_RULE, r);
		return v;
	}
	for (unsigned i = 0; i < key.n; i++) {
		r = best_at(a, &key, i, rq, &other);
		if (!r)
			continue;
		v.service = service_of(a, &key, rq->port);
		verdict_rule(&v, r, rq);
		v.below = (uint8_t)i;
		if (below_is_sane(&key, i))
			return v;
		verdict_deny(&v, REASON_LIMIT_NAMES, r);
		if (r->use == RULE_INSPECT)
			return v; /* not to be observed as a tunnel */
		break;
	}
	if (!r && other)
		verdict_other(&v, other);
	verdict_default(&v, a, rq);
	return v;
}

enum addr_class agent_policy_addr_class(const struct agent_policy *a,
					const struct addr *addr)
{
	enum addr_class cls = addr_classify(addr);

	/* What no entry may open keeps the name that says more. */
	if (cls == ADDR_METADATA || cls == ADDR_LOOPBACK)
		return cls;
	return own_has(&a->policy->own, addr) ? ADDR_SELF : cls;
}

/* An address that was written in place of a name. */
static struct verdict decide_literal(const struct agent_policy *a,
				     const struct request *rq)
{
	struct verdict v = {
		.reason = REASON_ADDRESS_LITERAL,
		.proto = path_proto(rq->path),
		.port = rq->port,
	};
	const struct rule *r, *other = NULL;

	if (agent_policy_addr_class(a, &rq->addr) != ADDR_PUBLIC) {
		verdict_deny(&v, REASON_BUILTIN_ADDRESS, NULL);
		return v;
	}
	r = agent_denies_address(a, &rq->addr, rq->port);
	if (r) {
		verdict_deny(&v, REASON_DENY_RULE, r);
		return v;
	}
	for (size_t s = 0; s < a->n_sets; s++) {
		const struct rule_set *set = a->sets[s];

		for (uint32_t i = 0; i < set->n_ips; i++) {
			r = &set->rules[set->ips[i].rule]->r;
			if (!cidr_has(&set->ips[i].cidr, &rq->addr))
				continue;
			if (!rule_takes(r, rq)) {
				other_note(&other, r, rq);
				continue;
			}
			verdict_rule(&v, r, rq);
			return v;
		}
	}
	if (other)
		verdict_other(&v, other);
	verdict_default(&v, a, rq);
	return v;
}

struct verdict decide(const struct agent_policy *a, const struct request *rq)
{
	if (!rq->name || rq->name->len == 0)
		return decide_literal(a, rq);
	return decide_name(a, rq);
}

/* Of what class a service's address may be, beside ADDR_PUBLIC. */
static bool service_class_ok(const struct rule *service, enum addr_class cls)
{
	if (service->socket)
		return cls == ADDR_LOOPBACK;
	return cls == ADDR_PRIVATE || cls == ADDR_CGNAT;
}

enum reason decide_address(const struct agent_policy *a,
			   const struct verdict *v, const struct addr *addr)
{
	enum addr_class cls = agent_policy_addr_class(a, addr);
	const struct rule *service = v->service;

	/* A service is this address and no other; embedded forms of it are
	 * others. Loading refused those that no entry may open. */
	if (service && !addr_eq(addr, &service->service_ip))
		return REASON_BUILTIN_ADDRESS;
	if (cls != ADDR_PUBLIC && !(service && service_class_ok(service, cls)))
		return REASON_BUILTIN_ADDRESS;
	if (agent_denies_address(a, addr, v->port))
		return REASON_DENY_ADDRESS;
	return REASON_ALLOWED;
}

bool decide_alias(const struct agent_policy *a, const struct verdict *v,
		  const struct name *target)
{
	struct request rq = {
		.path = PATH_CHECK,
		.name = target,
		.port = v->port,
	};
	struct verdict of_target;

	if (!v->rule || !v->rule->cname_strict)
		return true;
	of_target = decide(a, &rq);
	return of_target.allow && !of_target.observed;
}
