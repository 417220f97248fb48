/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deny_test.c - the command that a denial names, and how often a sandbox
 * at its limit gets a line
 */
#include <string.h>

#include "ottergate/conn/conn.h"
#include "ottergate/conn/worker_impl.h"
#include "ottergate/policy/tell/deny.h"
#include "tests/unit/tap.h"

static void test_hints(void)
{
	static const struct {
		const char *name;
		uint16_t port;
		enum rule_proto proto;
		enum reason why;
		const char *want; /* behind the agent's name; "": no hint */
	} rows[] = {
		{ "gh.test", 443, RULE_TLS, REASON_NOT_ALLOWED, "gh.test:443" },
		{ "gh.test", 8443, RULE_TLS, REASON_PORT, "gh.test:8443" },
		{ "gh.test", 2222, RULE_TLS, REASON_NOT_ALLOWED,
		  "gh.test:2222 (tcp://gh.test:2222 if it is neither TLS nor "
		  "HTTP)" },
		{ "gh.test", 2222, RULE_TCP, REASON_NOT_ALLOWED,
		  "tcp://gh.test:2222" },
		{ "gh.test", 2222, RULE_HTTP, REASON_NOT_ALLOWED,
		  "http://gh.test:2222" },
		{ "1.1.1.1", 80, RULE_HTTP, REASON_ADDRESS_LITERAL,
		  "1.1.1.1:80" },
		{ "2606:4700::1", 443, RULE_TLS, REASON_ADDRESS_LITERAL,
		  "[2606:4700::1]:443" },
		{ "--json.test", 443, RULE_TLS, REASON_NOT_ALLOWED,
		  "https://--json.test:443" },
		{ "--json.test", 80, RULE_HTTP, REASON_NOT_ALLOWED,
		  "http://--json.test:80" },
		{ "10.0.0.1", 443, RULE_TLS, REASON_BUILTIN_ADDRESS, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct verdict v = { .reason = rows[i].why,
					   .proto = rows[i].proto };
		char text[1024], want[256] = "";
		size_t len = deny_text(text, sizeof(text), 403, "a",
				       rows[i].name, rows[i].port, &v);
		const char *second = strchr(text, '\n');

		if (*rows[i].want)
			snprintf(want, sizeof(want),
				 "allow it with: ac policy allow a %s\n",
				 rows[i].want);
		is_int((ssize_t)len, (ssize_t)strlen(text), "its length");
		is_str(second ? second + 1 : "?", want, "%s:%u", rows[i].name,
		       (unsigned)rows[i].port);
	}
}

static void test_denials(void)
{
	static const struct {
		const char *source, *host, *name, *want;
	} rows[] = {
		{ "agent", "y.test", "y.test",
		  "take it back with: ac policy allow a y.test:443\n" },
		{ "agent", "2606:4700::1", "2606:4700::1",
		  "take it back with: ac policy allow a [2606:4700::1]:443\n" },
		{ "agent", "+test", "y.test",
		  "the rule denies all of +test; allow all of it with: ac "
		  "policy allow a +test\n" },
		{ "agent", NULL, "y.test",
		  "the rule is its own: ac policy show a\n" },
		{ "blueprint", "y.test", "y.test",
		  "the rule is in the blueprint: change it there, for the next "
		  "run\n" },
		{ "deny", "y.test", "y.test",
		  "the rule is in $AC_HOME/policy/policy.yaml: change it "
		  "there, then ac policy reload\n" },
		{ "builtin", "y.test", "y.test", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct rule rule = { .id = "no-paste",
					   .source = rows[i].source,
					   .host = rows[i].host };
		const struct verdict v = { .reason = REASON_DENY_RULE,
					   .rule = &rule };
		char text[1024];
		const char *second;

		deny_text(text, sizeof(text), 403, "a", rows[i].name, 443, &v);
		ok(strstr(text, "; rule no-paste)\n"), "which rule");
		second = strchr(text, '\n');
		is_str(second ? second + 1 : "?", rows[i].want, "%s %s",
		       rows[i].source, rows[i].name);
	}
}

/* Two lines, whatever the name: there is no room for a long one twice. */
static void test_long(void)
{
	const struct verdict v = { .reason = REASON_NOT_ALLOWED };
	char name[201], text[1024];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	deny_text(text, sizeof(text), 403, "a", name, 2222, &v);
	ok(strstr(text, "a:2222 (tcp://... if it is neither TLS nor HTTP)\n"),
	   "a long name is given once");
}

static void test_quiet(void)
{
	struct worker_impl impl = { .running = false };
	struct worker w = { .now_ms = 10, .impl = &impl };
	/* Both were at place 1 of 64: 0 ^ 1, and 1 ^ 64. */
	struct addr a = addr_v4(0xac140001), b = addr_v4(0xac140041);
	/* The same place of 256. */
	struct addr c = addr_v4(0xac140100);

	ok(worker_may_tell(&w, &a), "a line");
	ok(!worker_may_tell(&w, &a), "one in a second");
	ok(worker_may_tell(&w, &b), "a neighbour has its own");
	ok(worker_may_tell(&w, &c), "so has one at the same place");
	ok(!worker_may_tell(&w, &c), "one in a second, too");
	w.now_ms += WORKER_QUIET_MS;
	ok(worker_may_tell(&w, &b), "the next second");
}

int main(void)
{
	test_hints();
	test_denials();
	test_long();
	test_quiet();
	return done_testing();
}
