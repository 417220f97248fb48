/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_effect_test.c - keys that would have no effect are refused with the reason
 */
#include <string.h>

#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#define V "version: 1\n"
#define RULE(words)                                                          \
	V "credentials: { gh: {} }\n"                                        \
	  "presets: { p: { rules: [ { id: r, names: [a.test], use: inspect," \
	  " paths: [/v1], " words " } ] } }\n"

static const struct {
	const char *text, *want; /* NULL: it is taken */
} rows[] = {
	{ V "audit: { fields: { body: none } }\n",
	  "'fields' would have no effect: the audit has no query" },
	{ V "metrics: { per_agent: true }\n",
	  "'per_agent' would have no effect: what the metrics have" },
	{ V "metrics: { per_rule: false }\n", "'per_rule' would have no" },
	{ V "metrics: { listen: x }\n", "decided by acd" },
	{ V "metrics: {}\n", NULL },
	{ V "inspect: { host_must_equal_sni: true }\n", NULL },
	{ V "inspect: { host_must_equal_sni: false }\n",
	  "'host_must_equal_sni' can only be true: another host" },
	{ V "credentials: { a: { source: \"env:A\" } }\n",
	  "'source' would have no effect: the values come from the vault" },
	{ V "credentials: { a: { kind: bearer } }\n", "'kind' would have no" },
	{ V "credentials: { a: { header: x } }\n", "'header' would have no" },
	{ V "credentials: { a: { reload: x } }\n", "'reload' would have no" },
	{ V "credentials: { a: { region: x } }\n", "'region' would have no" },
	{ V "credentials: { a: { service: x } }\n", "'service' would have" },
	{ V "credentials: { a: { ttl: 1m } }\n", "'ttl' would have no effect" },
	{ V "credentials: { a: {} }\n", NULL },
	{ RULE("auth: { use: gh }"), NULL },
	{ RULE("auth: { use: gh, surrogate: x }"),
	  "'surrogate' would have no effect: acd makes one" },
	{ RULE("stream: { sse: true }"), NULL },
	{ RULE("stream: { sse: false }"),
	  "'sse' can only be true: an answer that is a stream" },
	{ RULE("response: { redact: injected }"), NULL },
	{ RULE("response: { redact: none }"), "'none' is not known here" },
	{ RULE("limits: { requests: 60/m }"), NULL },
	{ RULE("limits: { tokens_header: x }"),
	  "'tokens_header' would have no effect: no field" },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy *p = NULL;
		struct err err = { 0 };
		int rc = policy_of(rows[i].text, &p, NULL, &err);

		if (rows[i].want)
			ok(rc < 0 && strstr(err.msg, rows[i].want), "%s",
			   err.msg);
		else
			is_int(rc, 0, "taken %s", err.msg);
		if (rc == 0)
			policy_unref(p);
	}
	return done_testing();
}
