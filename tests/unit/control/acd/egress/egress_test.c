/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress_test.c - what users write about egress, and the policy it becomes
 *
 * The policy is judged by the gateway's own loader: what is accepted here and
 * cannot be loaded there would be a run that fails late.
 */
#include "control/acd/egress/egress.h"

#include "control/acd/blueprint/blueprint.h"
#include "ottergate/policy/load.h"
#include "tests/unit/tap.h"

static const struct {
	const char *target;
	bool good;
	const char *line; /* in the policy file; NULL: not looked at */
} targets[] = {
	{ "example.org", true,
	  "- { id: allow-1, names: [\"example.org\"], risk_ok:" },
	{ "example.org:8443", true,
	  "names: [\"example.org\"], ports: [\"8443\"]" },
	{ "example.org:8000-8010", true, "ports: [\"8000-8010\"]" },
	{ ".example.org", true, "names: [\".example.org\"]" },
	{ "*.example.org", true, "names: [\".example.org\"]" },
	{ "+example.org", true, "names: [\"+example.org\"]" },
	{ "http://example.org", true, "ports: [\"80\"], proto: http" },
	{ "http://example.org:8080/", true, "ports: [\"8080\"], proto: http" },
	{ "https://example.org/", true, "ports: [\"443\"], risk_ok" },
	{ "tcp://example.org:22", true, "ports: [\"22\"], proto: tcp" },
	{ "b\303\274cher.example", true, NULL },
	{ "198.51.100.7", true, "ips: [\"198.51.100.7\"]" },
	{ "198.51.100.0/24:443", true, "ips: [\"198.51.100.0/24\"]" },
	{ "2001:4860::8888", true, "ips: [\"2001:4860::8888\"]" },
	{ "[2001:4860::8888]:853", true,
	  "ips: [\"2001:4860::8888\"], ports: [\"853\"]" },
	{ "", false, NULL },
	{ "tcp://example.org", false, NULL },
	{ "example.org:", false, NULL },
	{ "example.org:0", false, NULL },
	{ "example.org:65536", false, NULL },
	{ "example.org:20-10", false, NULL },
	{ "example.org:http", false, NULL },
	{ "https://example.org/path", false, NULL },
	{ "example.org?x", false, NULL },
	{ "user@example.org", false, NULL },
	{ "exam ple.org", false, NULL },
	{ "example.org\n", false, NULL },
	{ "a\"b.org", false, NULL },
	{ "a\\b.org", false, NULL },
	{ "a]b.org", false, NULL },
	{ "[2001:db8::1", false, NULL },
	{ "[2001:db8::1]x", false, NULL },
	{ "ftp://example.org", false, NULL },
	{ "HTTP://example.org", true, "ports: [\"80\"], proto: http" },
	{ "wss://example.org", true, "ports: [\"443\"], risk_ok" },
	{ "[2001:4860::/32]:853", true,
	  "ips: [\"2001:4860::/32\"], ports: [\"853\"]" },
	/* Once taken, and then refused by the gateway at the run. */
	{ "10.0.0.1.2", false, NULL },
	{ "a..b", false, NULL },
	{ "[example.org]:443", false, NULL },
	{ "198.51.100.7/24", false, NULL },
	{ "example.org:0443", false, NULL },
	{ "a:b:c", false, NULL },
};

/* The file, ended by a NUL; "" when there is none. */
static const char *yaml(const struct egress *e)
{
	static char text[8192];
	struct buf b;

	buf_init(&b, sizeof(text) - 1);
	memset(text, 0, sizeof(text));
	if (egress_yaml(e, "work", "172.20.1.7", &b) == 0)
		memcpy(text, buf_slice(&b).ptr, buf_len(&b));
	buf_done(&b);
	return text;
}

static struct policy *shared;

static bool loads(const char *text)
{
	struct agent_policy *a = NULL;
	struct err err = { 0 };
	int rc = policy_load_agent(shared, text, strlen(text), "x", &a, NULL,
				   &err);

	if (rc < 0)
		printf("# %s\n%s\n", err.msg, text);
	agent_policy_unref(a);
	return rc == 0;
}

static void test_targets(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		struct egress e = { .mode = EGRESS_BALANCED };
		struct err err = { 0 };
		int rc = egress_add_target(&e.allow, targets[i].target, &err);

		is_int(rc, targets[i].good ? 0 : -EINVAL, "%s %s",
		       targets[i].good ? "a target:" : "none:", err.msg);
		if (rc == 0) {
			is_int(egress_add_target(&e.allow, targets[i].target,
						 &err),
			       0, "twice is once");
			is_int(e.allow.n, 1, "indeed");
			ok(loads(yaml(&e)), "the gateway takes %s",
			   targets[i].target);
		}
		if (targets[i].line)
			ok(strstr(yaml(&e), targets[i].line), "%s",
			   targets[i].line);
		egress_done(&e);
	}
}

static void test_allowable(void)
{
	static const struct {
		const char *target;
		bool good;
	} rows[] = {
		{ "10.0.0.1", false },
		{ "tcp://192.168.1.1:22", false },
		{ "172.31.255.255:443", false },
		{ "172.32.0.1", true },
		{ "169.254.169.254", false },
		{ "127.0.0.1:80", false },
		{ "100.64.0.1", false },
		{ "100.128.0.1", true },
		{ "239.1.1.1", false },
		{ "10.1.0.0/16", false },
		{ "0.0.0.0/0", true },
		{ "8.0.0.0/7", true }, /* half of it can be had */
		{ "198.51.100.7", true },
		{ "[::1]:443", false },
		{ "fd00::1", false },
		{ "fe80::1", false },
		{ "::ffff:10.0.0.1", false },
		{ "2606:4700::1", true },
		{ "2001:db8::1", false },
		{ "64:ff9b::1", false },
		{ "168.63.129.16", false },
		{ "10.example.org", true },
		{ "localhost:8088", false },
		{ "http://LOCALHOST.", false },
		{ "app.localhost", false },
		{ "+local", false },
		{ ".docker.internal", false },
		{ "metadata", false },
		{ ".metadata", true }, /* the linter's: a whole domain */
		{ "metadata.google.internal", false },
		{ "dns.google:443", false },
		{ "nodns.google", true },
		{ "com", false },
		{ "intranet:8080", false },
		{ "localhost.example.org", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct egress e = { 0 };
		struct err err = { 0 };

		is_int(egress_allow(&e, rows[i].target, &err),
		       rows[i].good ? 0 : -EINVAL, "%s %s", rows[i].target,
		       err.msg);
		ok(rows[i].good || strstr(err.msg, "ac service add") ||
			   strstr(err.msg, "cloud metadata") ||
			   strstr(err.msg, "resolver of the sandbox"),
		   "the way");
		is_int(egress_deny(&e, rows[i].target, &err), 0,
		       "it can be denied");
		egress_done(&e);
	}
}

/* Those of the machine are public ones as well. */
static void test_own(void)
{
	static const char own[] = "198.51.100.7\n2606:4700::1\n";
	static const struct {
		const char *target;
		bool good;
	} rows[] = {
		{ "198.51.100.7:8088", false },    { "198.51.100.8", true },
		{ "[2606:4700:0::1]:443", false }, { "2606:4700::2", true },
		{ "198.51.100.0/24", true },       { "x.example.org", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		is_int(egress_check_own(rows[i].target, own, &err),
		       rows[i].good ? 0 : -EINVAL, "%s %s", rows[i].target,
		       err.msg);
	}
}

/* One host, however it is written. */
static void test_scripts(void)
{
	static const struct {
		const char *typed, *stored;
	} rows[] = {
		{ "b\u00fccher.example", "xn--bcher-kva.example" },
		{ "B\u00dcCHER.example:8443", "xn--bcher-kva.example:8443" },
		{ "*.b\u00fccher.example", ".xn--bcher-kva.example" },
		{ "+b\u00fccher.example", "+xn--bcher-kva.example" },
		{ "tcp://b\u00fccher.example:22",
		  "tcp://xn--bcher-kva.example:22" },
		{ "https://b\u00fccher.example/", "xn--bcher-kva.example:443" },
		{ "\u5317\u4eac\u3002example", "xn--1lq90i.example" },
		/* No host name, for the gateway to refuse. */
		{ "b\u00fccher_.example", "b\u00fccher_.example" },
		{ "\uff02.example", "\uff02.example" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct egress e = { 0 };
		struct err err = { 0 };

		is_int(egress_deny(&e, rows[i].typed, &err), 0, "denied: %s",
		       err.msg);
		is_str(e.deny.n == 1 ? e.deny.v[0] : "", rows[i].stored,
		       "%s as it is stored", rows[i].typed);
		is_int(egress_deny(&e, rows[i].stored, &err), 0, "again");
		is_int(e.deny.n, 1, "in the other form, is the same");
		is_int(egress_allow(&e, rows[i].stored, &err), 0,
		       "allowed as the gateway names it: %s", err.msg);
		is_int(e.deny.n, 0, "is not denied any more");
		egress_done(&e);
		is_int(egress_deny(&e, rows[i].stored, &err), 0, "denied so");
		is_int(egress_allow(&e, rows[i].typed, &err), 0, "and allowed");
		is_int(e.deny.n, 0, "as it was typed");
		egress_done(&e);
	}
}

static void test_stored_scripts(void)
{
	struct egress e = { 0 };
	struct err err = { 0 };

	is_int(egress_load("{\"deny\":[\"b\\u00fccher.example\"]}", &e, &err),
	       0, "stored by an older acd %s", err.msg);
	is_str(e.deny.n == 1 ? e.deny.v[0] : "", "xn--bcher-kva.example",
	       "is the gateway's form from now on");
	egress_done(&e);
}

static void test_words(void)
{
	struct egress e = { 0 };
	struct err err = { 0 };

	is_int(egress_add_word(&e, "open", &err), 0, "a mode");
	is_int(egress_add_word(&e, "open", &err), 0, "again");
	is_int(egress_add_word(&e, "locked", &err), -EINVAL, "another: %s",
	       err.msg);
	is_int(egress_add_word(&e, "anthropic", &err), 0, "a preset");
	is_int(egress_add_word(&e, "no such\"", &err), -EINVAL, "none: %s",
	       err.msg);
	ok(e.mode == EGRESS_OPEN && e.presets.n == 1, "both are there");
	egress_done(&e);
}

static void test_store(void)
{
	struct egress e = { 0 }, back = { 0 };
	struct err err = { 0 };
	SCOPED_STR text = NULL;

	ok(egress_is_empty(&e), "empty");
	is_int(egress_load(NULL, &back, &err), 0, "nothing stored");
	ok(egress_is_empty(&back), "is empty");
	egress_add_word(&e, "locked", &err);
	egress_add_word(&e, "github", &err);
	egress_add_target(&e.allow, "a.example:80", &err);
	egress_add_target(&e.deny, "b.example", &err);
	text = egress_store(&e);
	is_str(text,
	       "{\"mode\":\"locked\",\"presets\":[\"github\"],"
	       "\"allow\":[\"a.example:80\"],\"deny\":[\"b.example\"]}",
	       "as text");
	is_int(egress_load(text, &back, &err), 0, "and back %s", err.msg);
	ok(back.mode == EGRESS_LOCKED && back.allow.n == 1 && back.deny.n == 1,
	   "the same");
	is_int(egress_allow(&back, "http://B.example", &err), 0, "allowed");
	is_int(back.deny.n, 0, "so no longer denied, whatever the port");
	is_int(egress_deny(&back, "b.example:443", &err), 0, "443 denied");
	is_int(back.allow.n, 2, "what was allowed is another port");
	is_int(egress_deny(&back, "b.example", &err), 0, "all denied");
	is_int(back.allow.n, 1, "nothing of it is allowed");
	is_int(egress_allow(&back, "x.b.example", &err), 0, "below it");
	is_int(back.deny.n, 2, "is another host");
	is_int(egress_allow(&back, "b.example", &err), 0, "the host again");
	is_int(back.deny.n, 0, "both denials have gone");
	egress_deny(&back, "2606:4700:0::1", &err);
	is_int(egress_allow(&back, "[2606:4700::1]:443", &err), 0,
	       "allowed in another spelling: %s", err.msg);
	is_int(back.deny.n, 0, "is the same address");
	egress_deny(&back, "2606:4700::/32", &err);
	is_int(egress_allow(&back, "2606:4700::/48", &err), 0, "a part: %s",
	       err.msg);
	is_int(back.deny.n, 1, "is another range");
	is_int(egress_allow(&back, "2606:4700::/32", &err), 0, "all of it: %s",
	       err.msg);
	is_int(back.deny.n, 0, "is the same range");
	is_int(egress_add_target(&back.deny, "d.example", &err), 0, "put in");
	egress_done(&back);
	is_int(egress_load("{\"mode\":\"x\"}", &back, &err), -EINVAL, "%s",
	       err.msg);
	is_int(egress_load("{\"allow\":[\"a b\"]}", &back, &err), -EINVAL, "%s",
	       err.msg);
	is_int(egress_load("x", &back, &err), -EINVAL, "%s", err.msg);
	egress_done(&e);
}

/* Services and the model's URL are the instance's own, as names. */
static void test_services(void)
{
	struct egress e = { 0 }, back = { 0 }, all = { 0 };
	static const char place[] = "    services:\n      - { id: svc-llm, ";
	const struct egress base = { .mode = EGRESS_LOCKED };
	struct err err = { 0 };
	SCOPED_STR text = NULL;
	struct buf out;
	struct slice s;

	is_int(egress_add_service(&e, "llm", &err), 0, "a service");
	is_int(egress_add_service(&e, "llm", &err), 0, "once");
	is_int(egress_add_service(&e, "db", &err), 0, "and another");
	is_int(egress_add_service(&e, "a b", &err), -EINVAL, "%s", err.msg);
	ok(!egress_is_empty(&e) && e.services.n == 2, "two");
	e.model_url = strdup("http://llm.internal:11434");
	text = egress_store(&e);
	is_str(text,
	       "{\"mode\":\"\",\"presets\":[],\"allow\":[],\"deny\":[],"
	       "\"services\":[\"llm\",\"db\"],"
	       "\"model_url\":\"http://llm.internal:11434\"}",
	       "as text");
	is_int(egress_load(text, &back, &err), 0, "and back %s", err.msg);
	is_int(egress_merge(&base, &back, false, &all), 0, "merged");
	ok(all.services.n == 2 && strcmp(all.model_url, e.model_url) == 0,
	   "they are the instance's");
	all.places = strdup("      - { id: svc-llm, name: llm.internal, "
			    "ip: 10.1.2.3, port: 11434, proto: http }\n");
	buf_init(&out, 4096);
	is_int(egress_yaml(&all, "one", "172.20.0.9", &out), 0, "its policy");
	s = buf_slice(&out);
	ok(memmem(s.ptr, s.len, place, strlen(place)) != NULL, "has the place");
	buf_done(&out);
	is_int(egress_add_service(&back, "none", &err), 0, "none");
	is_int(back.services.n, 0, "takes them back");
	egress_done(&e);
	egress_done(&back);
	egress_done(&all);
}

static void test_merge(void)
{
	static const struct {
		enum egress_mode base, own, want;
		bool packages;
		const char *presets;
	} cases[] = {
		{ EGRESS_UNSET, EGRESS_UNSET, EGRESS_BALANCED, true,
		  "base own packages " },
		{ EGRESS_UNSET, EGRESS_UNSET, EGRESS_BALANCED, false,
		  "base own " },
		{ EGRESS_OPEN, EGRESS_UNSET, EGRESS_OPEN, true,
		  "base own packages " },
		{ EGRESS_OPEN, EGRESS_LOCKED, EGRESS_LOCKED, true, "own " },
		{ EGRESS_LOCKED, EGRESS_UNSET, EGRESS_LOCKED, true, "own " },
		{ EGRESS_LOCKED, EGRESS_BALANCED, EGRESS_BALANCED, true,
		  "base own packages " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct egress base = { .mode = cases[i].base };
		struct egress own = { .mode = cases[i].own };
		struct egress all = { 0 };
		struct err err = { 0 };
		char text[64] = "";

		egress_add_preset(&base, "base", &err);
		egress_add_preset(&own, "own", &err);
		egress_add_target(&base.allow, "both.example", &err);
		egress_add_target(&own.allow, "both.example", &err);
		egress_add_target(&own.deny, "no.example", &err);
		is_int(egress_merge(&base, &own, cases[i].packages, &all), 0,
		       "merged");
		is_int(all.mode, cases[i].want, "the mode");
		for (size_t k = 0; k < all.presets.n; k++)
			snprintf(text + strlen(text),
				 sizeof(text) - strlen(text), "%s ",
				 all.presets.v[k]);
		is_str(text, cases[i].presets, "its presets");
		ok(all.allow.n == 1 && all.deny.n == 1, "its targets");
		egress_done(&base);
		egress_done(&own);
		egress_done(&all);
	}
}

/* Whose denial it is goes into the policy, and comes out of it. */
static void test_whose(void)
{
	struct egress base = { 0 }, own = { 0 }, all = { 0 };
	struct agent_policy *a = NULL;
	struct err err = { 0 };
	struct buf out;
	const char *text, *json = "";

	buf_init(&out, 65536);
	egress_add_target(&base.deny, ".base.example", &err);
	egress_add_target(&own.deny, "own.example", &err);
	is_int(egress_merge(&base, &own, false, &all), 0, "merged");
	text = yaml(&all);
	ok(strstr(text, "[\".base.example\"], from: blueprint }") &&
		   strstr(text, "[\"own.example\"] }"),
	   "the blueprint's is marked");
	is_int(policy_load_agent(shared, text, strlen(text), "x", &a, NULL,
				 &err),
	       0, "it loads: %s", err.msg);
	if (a && agent_policy_json(a, &out) == 0 &&
	    buf_append(&out, "", 1) == 0)
		json = (const char *)buf_slice(&out).ptr;
	ok(strstr(json, "\"id\":\"deny-1\",\"source\":\"blueprint\"") &&
		   strstr(json, "\"id\":\"deny-2\",\"source\":\"agent\""),
	   "the gateway knows whose each is");
	agent_policy_unref(a);
	buf_done(&out);
	egress_done(&base);
	egress_done(&own);
	egress_done(&all);
}

#define HEAD "version: 1\nimage: base\negress:\n"

static void test_blueprint(void)
{
	static const char good[] = HEAD
		"  mode: locked\n  presets: [github]\n"
		"  allow: [\"a.example:443\", .b.example]\n"
		"  deny: [c.example]\n"
		"  limits: { conns: 256, new_conns: 50/s,\n"
		"    bandwidth: { up: 2MiB/s }, dns: { qps: 50 } }\n";
	static const struct {
		const char *text, *want;
	} bad[] = {
		{ HEAD "  - x\n", "f:4:3: a map" },
		{ HEAD "  mode: wide\n", "f:4:9: mode must be" },
		{ HEAD "  host: x\n", "f:4:9: egress has mode" },
		{ HEAD "  allow: x\n", "f:4:10: a list" },
		{ HEAD "  allow: [yes]\n", "f:4:11: " },
		{ HEAD "  allow: [\"a b\"]\n", "f:4:11: 'a b' is no HOST" },
		{ HEAD "  allow: [\"10.0.0.1\"]\n",
		  "f:4:11: '10.0.0.1' is a private" },
		{ HEAD "  presets: [\"A B\"]\n", "f:4:13: 'A B' is neither" },
		{ HEAD "  limits: 5\n", "f:4:11: a map" },
		{ HEAD "  limits: { a: [b] }\n", "f:4:16: a limit must" },
		{ HEAD "  limits: { a: \"b }\" }\n", "f:4:16: a limit must" },
		{ HEAD "  limits: { a: { b: { c: d } } }\n",
		  "f:4:21: a limit must" },
	};
	struct blueprint bp = { 0 };
	struct egress all = { 0 }, none = { 0 };
	struct err err = { 0 };

	is_int(blueprint_parse(good, strlen(good), "f", "x", &bp, &err), 0,
	       "a blueprint with egress %s", err.msg);
	ok(bp.egress.mode == EGRESS_LOCKED && bp.egress.allow.n == 2 &&
		   bp.egress.deny.n == 1 && bp.egress.presets.n == 1,
	   "is read");
	is_str(bp.egress.limits,
	       "{ conns: 256, new_conns: 50/s, bandwidth: { up: 2MiB/s }, "
	       "dns: { qps: 50 } }",
	       "and so are its limits");
	egress_merge(&bp.egress, &none, true, &all);
	ok(loads(yaml(&all)), "and the gateway takes it");
	egress_done(&all);
	blueprint_done(&bp);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		is_int(blueprint_parse(bad[i].text, strlen(bad[i].text), "f",
				       "x", &bp, &err),
		       -EINVAL, "refused");
		ok(str_starts(err.msg, bad[i].want), "%s", err.msg);
	}
}

int main(void)
{
	static const char *const paths[] = { "blueprints/presets/egress",
					     NULL };
	struct err err = { 0 };

	if (!ok(policy_load(paths, &shared, NULL, &err) == 0,
		"the presets that are shipped %s", err.msg))
		return done_testing();
	test_targets();
	test_allowable();
	test_own();
	test_scripts();
	test_stored_scripts();
	test_words();
	test_store();
	test_services();
	test_merge();
	test_whose();
	test_blueprint();
	policy_unref(shared);
	return done_testing();
}
