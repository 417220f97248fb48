/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_test.c - `check`: what people ask for, and the answer
 */
#include "ottergate/policy/load.h"

#include "lib/buf.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#define V "version: 1\n"
#define AGENT V "agents:\n- id: x\n  match: { address: 172.20.0.9 }\n"

static void test_target(void)
{
	static const struct {
		const char *text, *name, *target;
		int port;
		enum path path;
	} rows[] = {
		{ "https://A.test/x?y#z", "a.test", "/x?y", 443, PATH_TLS },
		{ "http://a.test:8080", "a.test", "/", 8080, PATH_HTTP },
		{ "a.test", "a.test", "/", 443, PATH_CHECK },
		{ "a.test:22", "a.test", "/", 22, PATH_CHECK },
		{ "a.test.", "a.test", "/", 443, PATH_CHECK },
		{ "tcp://a.test:22", "a.test", "/", 22, PATH_TCP },
		{ "https://1.2.3.4/", "", "/", 443, PATH_TLS },
		{ "[2606:4700::1]:443", "", "/", 443, PATH_CHECK },
		{ "2606:4700:0::1", "", "/", 443, PATH_CHECK },
		{ "wss://a.test/x?to=https://b.test/", "a.test",
		  "/x?to=https://b.test/", 443, PATH_TLS },
		{ "b\xc3\xbc"
		  "cher.example",
		  "xn--bcher-kva.example", "/", 443, PATH_CHECK },
		{ "https://B\xc3\xbc"
		  "cher.example:8443/\xc3\xbc",
		  "xn--bcher-kva.example", "/\xc3\xbc", 8443, PATH_TLS },
		{ "0x7f.1", NULL, NULL, 0, PATH_CHECK },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct check_target t = { 0 };
		struct err err = { 0 };
		int rc = check_target_parse(rows[i].text, &t, &err);

		if (!rows[i].name)
			ok(rc == -EINVAL && err.msg[0], "no target: '%s'",
			   rows[i].text);
		else
			ok(rc == 0 && strcmp(t.name.s, rows[i].name) == 0 &&
				   t.port == rows[i].port &&
				   t.path == rows[i].path &&
				   strcmp(t.target, rows[i].target) == 0,
			   "target: '%s'", rows[i].text);
	}
}

static void test_target_faults(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "the host is missing" },
		{ "https:///x", "the host is missing" },
		{ ":443", "the host is missing" },
		{ "https://EXAMPLE.org:99999/", "the port must be 1 to 65535" },
		{ "a.test:0", "the port must be 1 to 65535" },
		{ "a.test:080", "the port must be 1 to 65535" },
		{ "a.test:", "the port must be 1 to 65535" },
		{ "[2606:4700::1]:x", "the port must be 1 to 65535" },
		{ "tcp://a.test", "the port is missing" },
		{ "https://u:p@github.com/x", "no user name in a URL" },
		{ "git@github.com:x/y", "tcp://HOST:22 for SSH" },
		{ "[2606:4700::1", "'[2606:4700::1' is no host name" },
		{ "*.a.test", "'*.a.test' is no host name or address" },
		{ "a..b", "'a..b' is no host name or address" },
		{ "a b:80", "'a b' is no host name or address" },
		{ "b\xc3\xbc..x", "is no host name" },
		{ "\xc3\xbc_.x", "'_' goes with ASCII letters only" },
		{ "\xff.x", "is no host name" },
		{ "ftp://a.test", "https, http and tcp are what can be" },
	};
	struct check_target t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		is_int(check_target_parse(rows[i].text, &t, &err), -EINVAL,
		       "no target: '%s'", rows[i].text);
		if (!ok(strstr(err.msg, rows[i].want) != NULL, "says: %s",
			rows[i].want))
			printf("# but %s\n", err.msg);
	}
}

static bool verdict_says(const struct agent_policy *a, const char *url,
			 const char *want)
{
	struct check_target t = { 0 };
	struct verdict v;
	struct buf out;
	bool found;

	if (check_target_parse(url, &t, NULL) < 0)
		return false;
	v = decide(a, &(struct request){ .path = t.path,
					 .name = &t.name,
					 .addr = t.addr,
					 .port = t.port });
	buf_init(&out, 65536);
	found = verdict_json(a, &t, &v, &out) == 0 &&
		memmem(buf_slice(&out).ptr, buf_len(&out), want, strlen(want));
	if (!found)
		printf("# got %.*s\n", (int)buf_len(&out),
		       (const char *)buf_slice(&out).ptr);
	buf_done(&out);
	return found;
}

static void test_answers(void)
{
	struct agent_policy *a = NULL;
	struct policy *p = NULL;

	if (policy_of(V, &p, NULL, NULL) < 0 ||
	    agent_of_text(p, AGENT, &a, NULL, NULL) < 0)
		return;
	ok(verdict_says(a, "https://b.test/",
			"\"hint\":\"ac policy allow x b.test:443\""),
	   "a hint");
	ok(verdict_says(a, "tcp://b.test:22",
			"\"hint\":\"ac policy allow x tcp://b.test:22\""),
	   "for tcp");
	ok(verdict_says(a, "http://b.test:8080/",
			"\"hint\":\"ac policy allow x http://b.test:8080\""),
	   "for HTTP on a port of its own");
	ok(verdict_says(a, "http://b.test/",
			"\"hint\":\"ac policy allow x b.test:80\""),
	   "not where the port says it");
	ok(verdict_says(a, "https://dns.google/", "\"hint\":null"),
	   "no hint for built-ins");
	ok(verdict_says(a, "https://dns.google/", "\"rule\":\"builtin-doh\""),
	   "their rule is named");
	policy_unref(p);
	agent_policy_unref(a);
}

int main(void)
{
	test_target();
	test_target_faults();
	test_answers();
	return done_testing();
}
