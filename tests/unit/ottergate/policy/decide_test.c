/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide_test.c - the one decision: its order, its ties, its limits
 */
#include "ottergate/policy/policy.h"

#include "ottergate/policy/net/own.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#define L40 "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"

static const char shared[] =
	"version: 1\n"
	"deny:\n"
	"  - { id: no-paste, names: [paste.test, .ngrok.test] }\n"
	"  - { id: no-range, ips: [203.0.113.0/24] }\n"
	"  - { id: no-mail, names: [+mail.test], ports: [25, 465] }\n"
	"services:\n"
	"  - { id: pg, name: db.internal, ip: 10.20.30.40, port: 5432,"
	"      proto: tcp }\n"
	"  - { id: wiki, name: wiki.internal, ip: 100.64.1.2, port: 443 }\n"
	"presets:\n"
	"  one:\n"
	"    rules:\n"
	"      - { id: web, names: [www.test, .cdn.test], use: tunnel }\n"
	"      - { id: both, names: [+both.test] }\n"
	"      - { id: tie-a, names: [tie.test] }\n"
	"  two:\n"
	"    rules:\n"
	"      - { id: tie-b, names: [tie.test, .seen.test],\n"
	"          use: inspect }\n"
	"      - { id: deeper, names: [.x.both.test], ports: [8443] }\n";

static const char agent[] =
	"version: 1\n"
	"agents:\n"
	"  - id: coder\n"
	"    match: { address: 172.20.0.7 }\n"
	"    use: [one, two]\n"
	"    services:\n"
	"      - { id: llm, name: llm.internal, ip: 10.1.2.3, port: 11434,"
	"          proto: http }\n"
	"      - { id: keyed, name: keyed.internal, ip: 10.1.2.4,"
	"          port: 11434, proto: http }\n"
	"      - { id: here, name: here.internal, ip: 127.0.0.1,"
	"          socket: here, port: 8000, proto: http }\n"
	"    allow:\n"
	"      - { id: key, names: [keyed.internal, else.test], ports: [11434],"
	"          use: inspect, proto: http, insecure: true }\n"
	"      - { id: clear, names: [clear.test], ports: [80], use: inspect "
	"}\n"
	"      - { id: plain, names: [plain.test], ports: [80] }\n"
	"      - { id: alt, names: [alt.test], ports: [8080], proto: http }\n"
	"      - { id: mixed, names: [mixed.test], ports: [80, 443,"
	"          \"8000-8010\"] }\n"
	"      - { id: ssh, names: [git.test], ports: [22], proto: tcp }\n"
	"      - { id: git, names: [git.test] }\n"
	"      - { id: lit, ips: [198.51.100.0/24], ports: [443] }\n"
	"      - { id: mail, names: [mail.test], ports: [25, 443] }\n"
	"      - { id: paste, names: [paste.test, a.ngrok.test, ngrok.test] }\n"
	"      - { id: strict, names: [strict.test], cname: strict }\n"
	"      - { id: doh, names: [dns.google] }\n"
	"    deny:\n"
	"      - { id: not-this, names: [bad.cdn.test] }\n";

struct row {
	const char *id, *name; /* name may be an address */
	uint16_t port;
	enum path path;
	enum reason want;
	const char *rule;
};

static const struct row rows[] = {
	/* Catalogue N5: whole labels only. */
	{ "N5", "www.test", 443, PATH_TLS, REASON_ALLOWED, "web" },
	{ "N5", "evil-www.test", 443, PATH_TLS, REASON_NOT_ALLOWED, NULL },
	{ "N5", "www.test.evil.io", 443, PATH_TLS, REASON_NOT_ALLOWED, NULL },
	{ "N5", "notwww.test", 443, PATH_TLS, REASON_NOT_ALLOWED, NULL },
	{ "N5", "a.cdn.test", 443, PATH_TLS, REASON_ALLOWED, "web" },
	{ "N5", "cdn.test", 443, PATH_TLS, REASON_NOT_ALLOWED, NULL },
	{ "N5", "acdn.test", 443, PATH_TLS, REASON_NOT_ALLOWED, NULL },
	{ "N5", "both.test", 443, PATH_TLS, REASON_ALLOWED, "both" },
	{ "N5", "a.both.test", 443, PATH_TLS, REASON_ALLOWED, "both" },
	{ "N5", "test", 443, PATH_TLS, REASON_NOT_ALLOWED, NULL },
	/* The order: built-in, deny, allow. */
	{ "K6", "metadata.google.internal", 443, PATH_TLS, REASON_BUILTIN_NAME,
	  "builtin-metadata" },
	{ "K6", "x.instance-data", 80, PATH_HTTP, REASON_BUILTIN_NAME,
	  "builtin-metadata" },
	{ "K7", "host.docker.internal", 443, PATH_CONNECT, REASON_BUILTIN_NAME,
	  "builtin-local" },
	{ "K7", "foo.localhost", 443, PATH_DNS, REASON_BUILTIN_NAME,
	  "builtin-local" },
	{ "D5", "dns.google", 443, PATH_TLS, REASON_BUILTIN_NAME,
	  "builtin-doh" },
	{ "D5", "mozilla.cloudflare-dns.com", 0, PATH_DNS, REASON_BUILTIN_NAME,
	  "builtin-doh" },
	{ "deny", "paste.test", 443, PATH_TLS, REASON_DENY_RULE, "no-paste" },
	{ "deny", "paste.test", 0, PATH_DNS, REASON_DENY_RULE, "no-paste" },
	{ "deny", "a.ngrok.test", 443, PATH_TLS, REASON_DENY_RULE, "no-paste" },
	{ "deny", "ngrok.test", 443, PATH_TLS, REASON_ALLOWED, "paste" },
	{ "deny", "bad.cdn.test", 443, PATH_TLS, REASON_DENY_RULE, "not-this" },
	{ "deny", "mail.test", 25, PATH_TLS, REASON_DENY_RULE, "no-mail" },
	{ "deny", "mail.test", 443, PATH_TLS, REASON_ALLOWED, "mail" },
	{ "deny", "mail.test", 0, PATH_DNS, REASON_ALLOWED, "mail" },
	/* Ports and protocols. */
	{ "port", "www.test", 8443, PATH_TLS, REASON_PORT, "web" },
	{ "port", "www.test", 0, PATH_DNS, REASON_ALLOWED, "web" },
	{ "port", "www.test", 0, PATH_TLS, REASON_PORT, "web" },
	{ "port", "www.test", 443, PATH_HTTP, REASON_PROTO, "web" },
	{ "port", "www.test", 80, PATH_HTTP, REASON_PORT, "web" },
	{ "port", "plain.test", 80, PATH_HTTP, REASON_ALLOWED, "plain" },
	{ "port", "plain.test", 80, PATH_PROXY, REASON_ALLOWED, "plain" },
	{ "port", "plain.test", 80, PATH_TLS, REASON_PROTO, "plain" },
	{ "port", "plain.test", 80, PATH_CONNECT, REASON_PROTO, "plain" },
	{ "port", "alt.test", 8080, PATH_HTTP, REASON_ALLOWED, "alt" },
	{ "port", "alt.test", 8080, PATH_TLS, REASON_PROTO, "alt" },
	{ "port", "mixed.test", 80, PATH_HTTP, REASON_ALLOWED, "mixed" },
	{ "port", "mixed.test", 443, PATH_TLS, REASON_ALLOWED, "mixed" },
	{ "port", "mixed.test", 8005, PATH_TLS, REASON_ALLOWED, "mixed" },
	{ "port", "mixed.test", 8011, PATH_TLS, REASON_PORT, "mixed" },
	{ "port", "mixed.test", 7999, PATH_TLS, REASON_PORT, "mixed" },
	{ "tcp", "git.test", 22, PATH_TCP, REASON_ALLOWED, "ssh" },
	{ "tcp", "git.test", 22, PATH_CONNECT, REASON_ALLOWED, "ssh" },
	{ "tcp", "git.test", 443, PATH_TLS, REASON_ALLOWED, "git" },
	/* Any bytes: those of TLS and HTTP do pass on the wire. */
	{ "tcp", "git.test", 22, PATH_TLS, REASON_ALLOWED, "ssh" },
	{ "tcp", "git.test", 22, PATH_PROXY, REASON_ALLOWED, "ssh" },
	{ "tcp", "git.test", 443, PATH_TCP, REASON_PROTO, "git" },
	{ "tcp", "git.test", 80, PATH_TCP, REASON_PORT, "ssh" },
	{ "tcp", "alt.test", 8080, PATH_TCP, REASON_PROTO, "alt" },
	{ "tcp", "alt.test", 22, PATH_TCP, REASON_PORT, "alt" },
	/* The most specific rule that takes the port. */
	{ "best", "a.x.both.test", 443, PATH_TLS, REASON_ALLOWED, "both" },
	{ "best", "a.x.both.test", 8443, PATH_TLS, REASON_ALLOWED, "deeper" },
	{ "tie", "tie.test", 443, PATH_TLS, REASON_ALLOWED, "tie-b" },
	{ "tie", "tie.test", 443, PATH_CONNECT, REASON_ALLOWED, "tie-b" },
	{ "tie", "tie.test", 443, PATH_CHECK, REASON_ALLOWED, "tie-b" },
	{ "tie", "tie.test", 0, PATH_DNS, REASON_ALLOWED, "tie-b" },
	{ "H12", "a.seen.test", 443, PATH_HTTP, REASON_PROTO, "tie-b" },
	/* D2: long and many labels below a wildcard. */
	{ "D2", "a.b.c.d.cdn.test", 443, PATH_TLS, REASON_ALLOWED, "web" },
	{ "D2", "a.b.c.d.e.cdn.test", 443, PATH_TLS, REASON_LIMIT_NAMES,
	  "web" },
	{ "D2", L40 ".cdn.test", 443, PATH_TLS, REASON_ALLOWED, "web" },
	{ "D2", L40 "e.cdn.test", 443, PATH_TLS, REASON_LIMIT_NAMES, "web" },
	{ "D2", "a." L40 "e.cdn.test", 0, PATH_DNS, REASON_LIMIT_NAMES, "web" },
	/* Services. */
	{ "service", "db.internal", 5432, PATH_TCP, REASON_ALLOWED, "pg" },
	{ "service", "db.internal", 443, PATH_TLS, REASON_PORT, "pg" },
	{ "service", "wiki.internal", 443, PATH_TLS, REASON_ALLOWED, "wiki" },
	{ "service", "llm.internal", 11434, PATH_HTTP, REASON_ALLOWED, "llm" },
	{ "service", "llm.internal", 11434, PATH_TLS, REASON_PROTO, "llm" },
	{ "service", "llm.internal", 11435, PATH_HTTP, REASON_PORT, "llm" },
	{ "service", "x.llm.internal", 11434, PATH_HTTP, REASON_NOT_ALLOWED,
	  NULL },
	{ "service", "10.1.2.3", 11434, PATH_HTTP, REASON_BUILTIN_ADDRESS,
	  NULL },
	/* H12: a credential goes in clear to a service alone. */
	{ "H12", "keyed.internal", 11434, PATH_HTTP, REASON_ALLOWED, "key" },
	{ "H12", "keyed.internal", 11434, PATH_PROXY, REASON_ALLOWED, "key" },
	{ "H12", "keyed.internal", 11434, PATH_CHECK, REASON_ALLOWED, "key" },
	{ "H12", "keyed.internal", 11434, PATH_TCP, REASON_PROTO, "keyed" },
	{ "H12", "else.test", 11434, PATH_HTTP, REASON_NEEDS_INSPECT, "key" },
	{ "H12", "else.test", 11434, PATH_CHECK, REASON_NEEDS_INSPECT, "key" },
	{ "H12", "clear.test", 80, PATH_HTTP, REASON_NEEDS_INSPECT, "clear" },
	/* N9: addresses in place of names. */
	{ "N9", "198.51.100.9", 443, PATH_CONNECT, REASON_ALLOWED, "lit" },
	{ "N9", "198.51.100.9", 80, PATH_PROXY, REASON_PORT, "lit" },
	{ "N9", "198.51.100.9", 443, PATH_TCP, REASON_PROTO, "lit" },
	{ "N8", "198.51.100.9", 443, PATH_TLS, REASON_ALLOWED, "lit" },
	{ "N8", "198.51.100.9", 8443, PATH_TLS, REASON_PORT, "lit" },
	{ "N8", "172.20.0.53", 443, PATH_TLS, REASON_BUILTIN_ADDRESS, NULL },
	{ "N8", "198.18.0.1", 443, PATH_TLS, REASON_BUILTIN_ADDRESS, NULL },
	{ "N9", "198.51.101.9", 443, PATH_CONNECT, REASON_ADDRESS_LITERAL,
	  NULL },
	{ "N9", "203.0.113.9", 443, PATH_CONNECT, REASON_DENY_RULE,
	  "no-range" },
	{ "N9", "10.20.30.40", 5432, PATH_CONNECT, REASON_BUILTIN_ADDRESS,
	  NULL },
	{ "K6", "169.254.169.254", 80, PATH_HTTP, REASON_BUILTIN_ADDRESS,
	  NULL },
	{ "K7", "172.20.0.53", 443, PATH_CONNECT, REASON_BUILTIN_ADDRESS,
	  NULL },
	{ "N9", "::1", 443, PATH_CONNECT, REASON_BUILTIN_ADDRESS, NULL },
};

static struct verdict ask(const struct agent_policy *a, const char *text,
			  uint16_t port, enum path path)
{
	struct name name = name_of(text);
	struct request rq = { .path = path, .name = &name, .port = port };

	if (name.len == 0 && addr_parse(slice_str(text), &rq.addr) < 0)
		rq.addr.family = 0;
	return decide(a, &rq);
}

static void check_row(const struct agent_policy *a, const struct row *row)
{
	struct verdict v = ask(a, row->name, row->port, row->path);
	const char *rule = v.rule ? v.rule->id : NULL;
	bool same =
		v.reason == row->want &&
		v.allow == (row->want == REASON_ALLOWED) &&
		v.port == row->port && !v.observed &&
		(rule ? row->rule && strcmp(rule, row->rule) == 0 : !row->rule);

	ok(same, "%s %s:%u by %s is %s, by %s", row->id, row->name, row->port,
	   path_name(row->path), reason_code(row->want),
	   row->rule ? row->rule : "none");
	if (!same)
		printf("# got %s by %s, allow %d\n", reason_code(v.reason),
		       rule ? rule : "none", v.allow);
}

static void test_rows(const struct agent_policy *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(a, &rows[i]);
	is_int(ask(a, "a.b.cdn.test", 443, PATH_TLS).below, 2,
	       "labels below the wildcard");
	is_int(ask(a, "www.test", 443, PATH_TLS).below, 0, "none when exact");
	is_int(ask(a, "alt.test", 22, PATH_TCP).proto, RULE_TCP,
	       "a denial has the protocol of its path");
	is_int(ask(a, "mixed.test", 80, PATH_CHECK).proto, RULE_HTTP,
	       "80 is http");
	is_int(ask(a, "mixed.test", 443, PATH_CHECK).proto, RULE_TLS,
	       "443 is tls");
	is_int(ask(a, "git.test", 22, PATH_CHECK).proto, RULE_TCP, "tcp");
}

static void test_addresses(const struct agent_policy *a)
{
	static const struct {
		const char *name, *addr;
		uint16_t port;
		enum reason want;
	} cases[] = {
		{ "www.test", "198.51.100.1", 443, REASON_ALLOWED },
		{ "www.test", "203.0.113.1", 443, REASON_DENY_ADDRESS },
		{ "www.test", "10.0.0.1", 443, REASON_BUILTIN_ADDRESS },
		{ "www.test", "10.20.30.40", 443, REASON_BUILTIN_ADDRESS },
		{ "www.test", "127.0.0.1", 443, REASON_BUILTIN_ADDRESS },
		{ "www.test", "169.254.169.254", 443, REASON_BUILTIN_ADDRESS },
		{ "www.test", "172.20.0.53", 443, REASON_BUILTIN_ADDRESS },
		{ "www.test", "::ffff:198.51.100.1", 443,
		  REASON_BUILTIN_ADDRESS },
		{ "db.internal", "10.20.30.40", 5432, REASON_ALLOWED },
		{ "db.internal", "10.20.30.41", 5432, REASON_BUILTIN_ADDRESS },
		{ "db.internal", "198.51.100.1", 5432, REASON_BUILTIN_ADDRESS },
		{ "wiki.internal", "100.64.1.2", 443, REASON_ALLOWED },
		{ "llm.internal", "10.1.2.3", 11434, REASON_ALLOWED },
		{ "here.internal", "127.0.0.1", 8000, REASON_ALLOWED },
		{ "here.internal", "127.0.0.2", 8000, REASON_BUILTIN_ADDRESS },
		{ "here.internal", "10.1.2.3", 8000, REASON_BUILTIN_ADDRESS },
		{ "llm.internal", "127.0.0.1", 11434, REASON_BUILTIN_ADDRESS },
		{ "llm.internal", "10.1.2.4", 11434, REASON_BUILTIN_ADDRESS },
		{ "keyed.internal", "10.1.2.4", 11434, REASON_ALLOWED },
		{ "keyed.internal", "198.51.100.1", 11434,
		  REASON_BUILTIN_ADDRESS },
		{ "else.test", "10.1.2.4", 11434, REASON_BUILTIN_ADDRESS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct verdict v =
			ask(a, cases[i].name, cases[i].port, PATH_CHECK);
		struct addr addr = { 0 };

		if (addr_parse(slice_str(cases[i].addr), &addr) < 0)
			continue;
		is_int(decide_address(a, &v, &addr), cases[i].want,
		       "N11 %s at %s", cases[i].name, cases[i].addr);
	}
}

static void test_aliases(const struct agent_policy *a)
{
	struct verdict strict = ask(a, "strict.test", 443, PATH_TLS);
	struct verdict loose = ask(a, "www.test", 443, PATH_TLS);
	struct name good = name_of("www.test"), bad = name_of("evil.test");
	struct name other = name_of("plain.test");

	ok(decide_alias(a, &strict, &good), "N15 an allowed target");
	ok(!decide_alias(a, &strict, &bad), "N15 one that is not");
	ok(!decide_alias(a, &strict, &other), "N15 allowed on another port");
	ok(decide_alias(a, &loose, &bad), "N13 final-ip does not mind");
}

static void test_synthetic(const struct agent_policy *a)
{
	struct name git = name_of("git.test"), db = name_of("db.internal");
	struct name www = name_of("www.test");
	struct addr x = agent_policy_synthetic(a, &git);
	struct addr y = agent_policy_synthetic(a, &db);
	const struct name *back = agent_policy_synthetic_name(a, &x);
	struct addr none = addr_v4(0xc6120001);

	ok(x.family == 4 && x.b[0] == 198 && (x.b[1] & 0xfe) == 18,
	   "a tcp name has an address");
	ok(y.family == 4 && !addr_eq(&x, &y), "a service has another");
	is_str(back ? back->s : NULL, "git.test", "and back");
	is_int(agent_policy_synthetic(a, &www).family, 0, "others have none");
	ok(!agent_policy_synthetic_name(a, &none), "not every address is one");
}

static void test_observe(struct policy *p)
{
	static const char text[] = "version: 1\n"
				   "agents:\n"
				   "  - id: o\n"
				   "    match: { net: 172.20.0.8/32 }\n"
				   "    mode: observe\n"
				   "    use: [two]\n"
				   "    expires: 2100-01-01T00:00:00Z\n";
	struct agent_policy *a = NULL;
	struct err err = { 0 };
	struct verdict v;

	if (!ok(agent_of_text(p, text, &a, NULL, &err) == 0, "observe: %s",
		err.msg))
		return;
	v = ask(a, "anything.test", 443, PATH_TLS);
	ok(v.allow && v.observed && v.reason == REASON_OBSERVED && !v.rule,
	   "what nothing allows passes, and is said so");
	v = ask(a, "1.2.3.4", 80, PATH_PROXY);
	ok(v.allow && v.observed && v.proto == RULE_HTTP, "an address too");
	ok(!ask(a, "paste.test", 443, PATH_TLS).allow, "not past a deny");
	ok(!ask(a, "dns.google", 443, PATH_TLS).allow, "nor a built-in");
	ok(!ask(a, "10.0.0.1", 443, PATH_CONNECT).allow,
	   "nor to a private address");
	v = ask(a, "tie.test", 443, PATH_TLS);
	ok(v.allow && v.use == RULE_INSPECT && !v.observed,
	   "what is to be inspected is no tunnel here either");
	ok(!ask(a, "a.b.c.d.e.seen.test", 443, PATH_TLS).allow,
	   "nor by a name that is too deep to be one");
	is_int(agent_policy_expires(a), 4102444800, "expires");
	agent_policy_unref(a);
}

/* This machine's own addresses are nobody's server, whatever allows them. */
static void test_own(struct policy *p, const struct agent_policy *a)
{
	struct own own = { .v = { addr_v4(0xc6336407), addr_v4(0x0a141e28) },
			   .n = 2 };
	struct addr near = addr_v4(0xc6336408);
	struct verdict v;

	ok(ask(a, "198.51.100.7", 443, PATH_CONNECT).allow, "an address");
	policy_own_set(p, &own);
	v = ask(a, "198.51.100.7", 443, PATH_CONNECT);
	is_str(reason_code(v.reason), "builtin-address", "that is our own");
	ok(ask(a, "198.51.100.8", 443, PATH_CONNECT).allow, "and the next");
	is_str(addr_class_name(agent_policy_addr_class(a, &own.v[0])), "self",
	       "of which class");
	v = ask(a, "plain.test", 80, PATH_HTTP);
	is_int(decide_address(a, &v, &own.v[0]), REASON_BUILTIN_ADDRESS,
	       "a name that leads to us");
	is_int(decide_address(a, &v, &near), REASON_ALLOWED,
	       "one that leads elsewhere");
	v = ask(a, "db.internal", 5432, PATH_TCP);
	is_int(decide_address(a, &v, &own.v[1]), REASON_BUILTIN_ADDRESS,
	       "a service at an address of ours");
	policy_own_set(p, &(struct own){ .n = 0 });
}

int main(void)
{
	struct agent_policy *a = NULL;
	struct policy *p = NULL;
	struct err err = { 0 };

	if (!ok(policy_of(shared, &p, NULL, &err) == 0, "shared: %s", err.msg))
		return done_testing();
	if (ok(agent_of_text(p, agent, &a, NULL, &err) == 0, "agent: %s",
	       err.msg)) {
		is_str(agent_policy_id(a), "coder", "id");
		test_rows(a);
		test_addresses(a);
		test_aliases(a);
		test_synthetic(a);
		test_own(p, a);
		agent_policy_unref(a);
	}
	test_observe(p);
	policy_unref(p);
	return done_testing();
}
