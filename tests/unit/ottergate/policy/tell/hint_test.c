/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hint_test.c - the command that a denial names: to push is another than
 * to reach
 */
#include <string.h>

#include "lib/buf.h"
#include "ottergate/policy/load.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#define AGENT                            \
	"version: 1\nagents:\n- id: x\n" \
	"  match: { address: 172.20.0.9 }\n"
#define DENIALS                                             \
	AGENT                                               \
	"  deny:\n"                                         \
	"  - { id: deny-1, names: [\"+com\"] }\n"           \
	"  - { id: deny-2, names: [\".co.uk\"] }\n"         \
	"  - { id: deny-3, names: [\"+b.example.org\"] }\n" \
	"  - { id: deny-4, names: [\"b\\u00fccher.example\"] }\n"

static void test_push(const struct agent_policy *a)
{
	static const struct {
		const char *url, *want;
	} rows[] = {
		{ "POST https://b.test/o/r.git/git-receive-pack",
		  "\"hint\":\"ac policy push x allow\"" },
		{ "https://b.test/o/r/info/refs?service=git-receive-pack",
		  "\"hint\":\"ac policy push x allow\"" },
		{ "POST https://b.test/login", "\"hint\":null" },
	};
	const struct rule rule = { .id = "own-1", .credential = "github" };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct verdict v = { .reason = REASON_METHOD,
					   .rule = &rule };
		struct check_target t = { 0 };
		struct buf out;

		buf_init(&out, 65536);
		ok(check_target_parse(rows[i].url, &t, NULL) == 0 &&
			   verdict_json(a, &t, &v, &out) == 0 &&
			   buf_append(&out, "", 1) == 0 &&
			   strstr((const char *)buf_slice(&out).ptr,
				  rows[i].want),
		   "%s", rows[i].url);
		buf_done(&out);
	}
}

/* What a bare HOST:PORT is, by its port; and a denial of one's own. */
static void test_allow(const struct agent_policy *a)
{
	static const struct rule own = { .id = "deny-1",
					 .source = "agent",
					 .host = "b.test" };
	static const struct rule below = { .id = "deny-1",
					   .source = "agent",
					   .host = "+b.test" };
	static const struct rule base = { .id = "deny-1",
					  .source = "blueprint",
					  .host = "b.test" };
	static const struct rule all = { .id = "no-paste", .source = "deny" };
	static const struct {
		const char *url;
		enum reason why;
		const struct rule *rule;
		const char *want;
	} rows[] = {
		{ "b.test:22", REASON_NOT_ALLOWED, NULL,
		  "\"hint\":\"ac policy allow x tcp://b.test:22\"" },
		{ "tcp://b.test:2222", REASON_NOT_ALLOWED, NULL,
		  "\"hint\":\"ac policy allow x tcp://b.test:2222\"" },
		{ "b.test:8443", REASON_NOT_ALLOWED, NULL,
		  "\"hint\":\"ac policy allow x b.test:8443\"" },
		{ "b.test", REASON_DENY_RULE, &own,
		  "\"hint\":\"ac policy allow x b.test:443\"" },
		{ "b.test", REASON_DENY_RULE, &below,
		  "\"hint\":\"ac policy allow x +b.test\"" },
		{ "b.test", REASON_DENY_RULE, &base, "\"hint\":null" },
		{ "b.test", REASON_DENY_RULE, &all, "\"hint\":null" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct verdict v = { .reason = rows[i].why,
					   .rule = rows[i].rule };
		struct check_target t = { 0 };
		struct buf out;

		buf_init(&out, 65536);
		ok(check_target_parse(rows[i].url, &t, NULL) == 0 &&
			   verdict_json(a, &t, &v, &out) == 0 &&
			   buf_append(&out, "", 1) == 0 &&
			   strstr((const char *)buf_slice(&out).ptr,
				  rows[i].want),
		   "%s %s", rows[i].url, rows[i].want);
		buf_done(&out);
	}
}

/* No rule may allow all below a public suffix, so no hint says to. */
static void test_denied(const struct agent_policy *a)
{
	static const struct {
		const char *url, *rule, *hint;
	} rows[] = {
		{ "a.com", "\"rule\":\"deny-1\"", "\"hint\":null" },
		{ "a.co.uk", "\"rule\":\"deny-2\"", "\"hint\":null" },
		{ "a.b.example.org", "\"rule\":\"deny-3\"",
		  "\"hint\":\"ac policy allow x +b.example.org\"" },
		{ "b\u00fccher.example", "\"rule\":\"deny-4\"",
		  "\"hint\":\"ac policy allow x xn--bcher-kva.example:443\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct check_target t = { 0 };
		struct verdict v = { 0 };
		struct buf out;

		if (!is_int(check_target_parse(rows[i].url, &t, NULL), 0, "%s",
			    rows[i].url))
			continue;
		v = decide(a, &(struct request){ .path = t.path,
						 .name = &t.name,
						 .port = t.port });
		buf_init(&out, 65536);
		ok(verdict_json(a, &t, &v, &out) == 0 &&
			   buf_append(&out, "", 1) == 0 &&
			   strstr((const char *)buf_slice(&out).ptr,
				  rows[i].rule) &&
			   strstr((const char *)buf_slice(&out).ptr,
				  rows[i].hint),
		   "%s %s", rows[i].url, rows[i].hint);
		buf_done(&out);
	}
}

int main(void)
{
	static const char *const none[] = { NULL };
	struct policy *p = NULL;
	struct agent_policy *a = NULL, *denying = NULL;
	struct lint lint = { 0 };
	struct err err = { 0 };

	if (ok(policy_load(none, &p, &lint, &err) == 0 &&
		       policy_load_agent(p, AGENT, strlen(AGENT), "x", &a,
					 &lint, &err) == 0,
	       "a policy %s", err.msg)) {
		test_push(a);
		test_allow(a);
		if (ok(policy_load_agent(p, DENIALS, strlen(DENIALS), "x",
					 &denying, &lint, &err) == 0,
		       "denials %s", err.msg))
			test_denied(denying);
	}
	agent_policy_unref(denying);
	agent_policy_unref(a);
	policy_unref(p);
	lint_done(&lint);
	return done_testing();
}
