/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - what the requests of a connection are judged by
 *
 * A new request is judged by the policy and the credentials of that moment. An
 * open one keeps using those that it began with, so these are kept until none
 * is open.
 */
#include "ottergate/inspect/inspect_impl.h"

#define RETIRED_MAX 16u /* policies that one connection holds on to */

struct inspect_retired {
	struct inspect_retired *next;
	struct agent_policy *policy;
	struct secret_set *secrets;
};

void inspect_retired_free(struct inspect *in)
{
	struct inspect_retired *r;

	while ((r = in->retired)) {
		in->retired = r->next;
		agent_policy_unref(r->policy);
		secret_set_unref(r->secrets);
		free(r);
	}
	in->n_retired = 0;
}

bool inspect_rules_take(struct inspect *in, struct agent_policy *p,
			struct secret_set *s)
{
	struct inspect_retired *r;

	if (in->policy == p && in->secrets == s)
		return true;
	if (!in->state || in->engine->busy(in) == 0)
		inspect_retired_free(in);
	r = in->n_retired < RETIRED_MAX ? malloc(sizeof(*r)) : NULL;
	if (!r)
		return false;
	*r = (struct inspect_retired){ in->retired, in->policy, in->secrets };
	in->retired = r;
	in->n_retired++;
	in->policy = agent_policy_ref(p);
	in->secrets = secret_set_ref(s);
	return true;
}

const struct table_entry *inspect_entry(const struct conn *c)
{
	struct addr source = conn_source(c);
	const struct table_entry *e = table_find(c->worker->table, &source);

	return e && e->agent == c->agent ? e : NULL;
}

struct ireq_ctx inspect_ctx(struct inspect *in)
{
	const struct conn *c = in->c;
	const struct table_entry *e = inspect_entry(c);
	/* Without room to keep the old ones, new requests are refused: the old
	 * rules may allow what is no longer allowed. */
	bool taken = inspect_rules_take(in, c->policy, e ? e->secrets : NULL);

	return (struct ireq_ctx){
		.policy = taken ? in->policy : NULL,
		.secrets = taken ? in->secrets : NULL,
		.name = &in->name,
		.port = c->port,
		.plain = in->plain,
		.now_ms = c->worker->now_ms,
		.now_s = worker_realtime(c->worker) / 1000,
	};
}
