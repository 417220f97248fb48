/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presume.c - what the policy says of a place before any byte is seen
 */
#include "ottergate/policy/presume.h"

#include "lib/attr.h"
#include "ottergate/policy/policy_impl.h"
#include "ottergate/policy/net/synthetic.h"

enum rule_proto presume_proto(uint16_t port)
{
	static const uint16_t tcp[] = {
		20,   21,   22,   23,   25,   110,  143,   389,   587,
		1433, 1521, 1883, 3306, 3389, 5222, 5432,  5672,  5900,
		6379, 6667, 9000, 9042, 9092, 9418, 11211, 27017,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tcp); i++) {
		if (tcp[i] == port)
			return RULE_TCP;
	}
	return port == 80 || port == 8080 ? RULE_HTTP : RULE_TLS;
}

/* Could a rule for this port allow the name that a hello or a request says, or
 * the address in a request's Host? Both count wherever they were sent; a hello
 * says no address but the one it was sent to (conn/tls_front.c). */
static bool may_say_other(const struct agent_policy *a, uint16_t port)
{
	for (size_t s = 0; s < a->n_sets; s++) {
		const struct rule_set *set = a->sets[s];

		for (uint32_t i = 0; i < set->n; i++) {
			const struct rule_entry *e = set->rules[i];

			if (rule_has_port(&e->r, port) &&
			    (e->n_names > 0 ||
			     (e->n_ips > 0 &&
			      rule_takes_path(&e->r, port, PATH_HTTP))))
				return true;
		}
	}
	return false;
}

/* Of two denials the one that says more: that the port is there, but for the
 * other protocol, is true of both only if neither is allowed. */
static struct verdict nearer(const struct verdict *tls,
			     const struct verdict *http, uint16_t port)
{
	const struct verdict *v = port == 80 ? http : tls;
	const struct verdict *other = port == 80 ? tls : http;

	return v->reason == REASON_PROTO ? *other : *v;
}

static enum presumption denied(const struct agent_policy *a,
			       const struct verdict *v, uint16_t port,
			       struct verdict *ret)
{
	if (a->mode == POLICY_OBSERVE)
		return PRESUME_PASS;
	*ret = *v;
	ret->proto = presume_proto(port);
	return PRESUME_DENY;
}

/* The first bytes decide which protocol it is. */
static enum presumption by_bytes(const struct agent_policy *a,
				 struct request *rq, struct verdict *ret)
{
	struct verdict tls, http, v;

	rq->path = PATH_TLS;
	tls = decide(a, rq);
	rq->path = PATH_HTTP;
	http = decide(a, rq);
	if (tls.allow || http.allow)
		return (tls.allow && !tls.observed) ||
				       (http.allow && !http.observed) ?
			       PRESUME_ALLOW :
			       PRESUME_PASS;
	v = nearer(&tls, &http, rq->port);
	return denied(a, &v, rq->port, ret);
}

/* As conn/accept.c has it: to the address of a `proto: tcp` name no byte is
 * waited for, unless it has other rules for other ports. */
static enum presumption by_name(const struct agent_policy *a,
				const struct place *at, struct verdict *ret)
{
	struct request rq = {
		.path = PATH_TCP,
		.name = at->name,
		.port = at->port,
	};
	struct verdict v;

	if (!agent_policy_synthetic_name(a, &at->addr))
		return by_bytes(a, &rq, ret);
	v = decide(a, &rq);
	if (v.allow)
		return PRESUME_ALLOW;
	if (v.reason == REASON_PORT || v.reason == REASON_PROTO)
		return by_bytes(a, &rq, ret);
	return denied(a, &v, at->port, ret);
}

enum presumption presume(const struct agent_policy *a, const struct place *at,
			 struct verdict *ret)
{
	struct name none = { .len = 0 };
	struct request rq = {
		.name = &none,
		.addr = at->addr,
		.port = at->port,
	};
	enum presumption what;
	struct verdict v = { 0 };

	/* Redirected to the gateway's own server, wherever it is sent to. */
	if (at->port == DNS_PORT)
		return PRESUME_PASS;
	if (at->expired) {
		*ret = (struct verdict){
			.reason = REASON_EXPIRED,
			.proto = presume_proto(at->port),
			.port = at->port,
		};
		return PRESUME_DENY;
	}
	if (at->name && at->name->len > 0)
		return by_name(a, at, ret);
	/* One that stands for nothing any more, and ours, which stands for
	 * what found no place: a client may still have it for a name. */
	if (addr_eq(&at->addr, &at->self) || synthetic_has(&at->addr))
		return PRESUME_PASS;
	if (a->mode == POLICY_OBSERVE)
		return PRESUME_PASS;
	what = by_bytes(a, &rq, &v);
	if (what == PRESUME_DENY && may_say_other(a, at->port))
		return PRESUME_PASS;
	if (what == PRESUME_DENY)
		*ret = v;
	return what;
}
