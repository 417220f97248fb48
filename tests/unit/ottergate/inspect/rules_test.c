/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_test.c - what new requests are judged by while old ones are
 * open: the policy and secrets of now, or none
 */
#include "ottergate/inspect/inspect_impl.h"

#include "ottergate/conn/table.h"
#include "ottergate/conn/worker_impl.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/ottergate/known_secrets.h"
#include "tests/unit/tap.h"

#define CHANGES 32u

static const char agent_text[] = "version: 1\n"
				 "agents:\n"
				 "  - id: coder\n"
				 "    match: { address: 172.20.0.7 }\n"
				 "    allow:\n"
				 "      - { id: a, names: [a.test],"
				 " use: inspect }\n";

static unsigned open_requests;

static unsigned busy(const struct inspect *in)
{
	(void)in;
	return open_requests;
}

static struct {
	struct policy *policy;
	struct agent_policy *agents[2];
	struct secret_set *secrets;
	struct worker worker;
	struct worker_impl impl;
	struct conn conn;
	struct inspect in;
} w;

static bool world_up(void)
{
	static const struct inspect_engine engine = { .busy = busy };
	struct err err = { 0 };

	w.impl.realtime_ms = 1;
	w.worker.impl = &w.impl;
	w.conn.worker = &w.worker;
	w.conn.source_v4 = htonl(0xac140007); /* 172.20.0.7 */
	w.in.c = &w.conn;
	w.in.engine = &engine;
	w.in.state = &w;
	return ok(sodium_init() >= 0 &&
			  policy_of("version: 1\n", &w.policy, NULL, &err) ==
				  0 &&
			  agent_of_text(w.policy, agent_text, &w.agents[0],
					NULL, &err) == 0 &&
			  agent_of_text(w.policy, agent_text, &w.agents[1],
					NULL, &err) == 0 &&
			  secrets_of("", &w.secrets, &err) == 0,
		  "two policies, secrets: %s", err.msg);
}

/* The sandbox's policy becomes @p. */
static void change(struct agent_policy *p, struct secret_set *s)
{
	const struct addr from = addr_v4(0xac140007);
	struct agent *a = w.conn.agent ? w.conn.agent :
					 agent_new("coder", &from);
	struct table_entry e = { .agent = a, .policy = p, .secrets = s };

	table_unref(w.worker.table);
	w.worker.table = NULL;
	w.conn.agent = a;
	w.conn.policy = p;
	if (!a || table_make(&e, 1, 1, &w.worker.table) < 0)
		ok(false, "a table");
}

static void test_changes(void)
{
	unsigned stale = 0, refused = 0;
	struct ireq_ctx ctx;

	open_requests = 1;
	for (unsigned i = 0; i < CHANGES; i++) {
		struct agent_policy *now = w.agents[i % 2];

		change(now, i % 3 ? w.secrets : NULL);
		ctx = inspect_ctx(&w.in);
		stale += ctx.policy && ctx.policy != now;
		stale += ctx.secrets && !(i % 3);
		refused += !ctx.policy;
	}
	is_int(stale, 0, "no request is judged by what held before");
	ok(refused > 0 && refused < CHANGES, "but by nothing at last: %u",
	   refused);
	ok(!ctx.policy && !ctx.secrets, "so it stays");
	open_requests = 0;
	ctx = inspect_ctx(&w.in);
	ok(ctx.policy == w.conn.policy, "until no request is open");
}

int main(void)
{
	if (world_up())
		test_changes();
	inspect_retired_free(&w.in);
	agent_policy_unref(w.in.policy);
	secret_set_unref(w.in.secrets);
	table_unref(w.worker.table);
	agent_unref(w.conn.agent);
	for (unsigned i = 0; i < 2; i++)
		agent_policy_unref(w.agents[i]);
	policy_unref(w.policy);
	secret_set_unref(w.secrets);
	return done_testing();
}
