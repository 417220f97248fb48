/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meant.c - finds the host that a connection was for, if it named none
 *
 * The address that the client dialled stands for a name that the sandbox had
 * asked for (lease.h). The name is for the log only, so that a line such as
 * "the hello did not come" says for which host, and whether a hello would have
 * been allowed. It never allows anything: only what the client itself says
 * decides what is dialled.
 */
#include "ottergate/conn/conn_impl.h"

#include <string.h>

#include "ottergate/dns/lease.h"
#include "ottergate/policy/presume.h"
#include "ottergate/conn/worker_impl.h"

void conn_find_program(struct conn *c)
{
	struct program p;

	if (!c->half_open || c->program || !c->agent ||
	    !lease_asker(c->agent, &c->original, c->port, c->started_ms, &p))
		return;
	c->program = malloc(sizeof(p)); /* out of memory: stays unknown */
	if (c->program)
		*c->program = p;
}

static enum presumption presumed(const struct conn *c, const struct name *name,
				 struct verdict *ret)
{
	const struct place at = {
		.name = name->len ? name : NULL,
		.addr = c->original,
		.port = c->port,
		.self = c->worker->opts->self,
		.expired = worker_expired(c->worker, c->policy),
	};

	return presume(c->policy, &at, ret);
}

/* Returns true if @why says that no whole request came. */
static bool lacks_request(enum reason why)
{
	switch (why) {
	case REASON_NO_SNI:
	case REASON_BAD_HELLO:
	case REASON_HELLO_RECORDS:
	case REASON_HELLO_LONG:
	case REASON_NOT_TLS:
	case REASON_TLS_VERSION:
	case REASON_HELLO_TIMEOUT:
	case REASON_NO_HELLO:
	case REASON_BAD_HTTP:
		return true;
	default:
		return false;
	}
}

/* Returns true if observe mode would have let a TLS client reach @name. */
static bool is_observed(const struct conn *c, const struct name *name)
{
	const struct request rq = {
		.path = PATH_TLS,
		.name = name,
		.port = c->port,
	};

	return name->len && decide(c->policy, &rq).observed;
}

/* Returns true if only the address is known, and a rule may allow it. */
static bool is_address(const struct audit_record *rec,
		       const struct addr *original)
{
	return rec->name_len == 0 && !rec->observed &&
	       (rec->reason == REASON_NO_SNI ||
		rec->reason == REASON_NO_HELLO ||
		rec->reason == REASON_NOT_TLS) &&
	       addr_classify(original) == ADDR_PUBLIC;
}

void conn_meant(struct conn *c, struct audit_record *rec)
{
	/* Not TLS, or no first byte came: probably a protocol that needs a rule
	 * with `proto: tcp`. */
	bool other = rec->reason == REASON_NOT_TLS ||
		     rec->reason == REASON_HELLO_TIMEOUT;
	struct name name = { .len = 0 };
	struct verdict v;

	if (!c->agent || c->original.family == 0)
		return;
	if (lease_name(c->agent, c->policy, &c->original, &name)) {
		memcpy(rec->name, name.s, name.len + 1u);
		rec->name_len = name.len;
		c->name = strdup(name.s); /* for the text of an answer */
	}
	if (!lacks_request(rec->reason))
		return;
	if (presumed(c, &name, &v) != PRESUME_DENY) {
		rec->observed = other && is_observed(c, &name);
		if (rec->observed)
			rec->path = PATH_TCP;
		if (is_address(rec, &c->original))
			rec->dialled = c->original;
		return;
	}
	if (other)
		rec->path = PATH_TCP;
	rec->reason = (uint8_t)v.reason;
	rec->use = (uint8_t)v.use;
	if (reason_is_limit(v.reason))
		rec->event = AUDIT_LIMIT;
	audit_rule(rec, v.rule);
	if (name.len == 0)
		rec->dialled = c->original;
}

void conn_left(struct conn *c)
{
	struct name name = { .len = 0 };
	enum presumption what;
	struct verdict v;

	if (!c->agent || c->original.family == 0)
		return;
	lease_name(c->agent, c->policy, &c->original, &name);
	what = presumed(c, &name, &v);
	if (what == PRESUME_DENY)
		conn_refuse(c, REASON_HELLO_TIMEOUT, NULL);
	/* No rule names this address. The connection was accepted only because
	 * its first bytes could have named an allowed host, and none came. */
	else if (what == PRESUME_PASS && name.len == 0 &&
		 agent_policy_mode(c->policy) != POLICY_OBSERVE)
		conn_refuse(c, REASON_NO_HELLO, NULL);
}
