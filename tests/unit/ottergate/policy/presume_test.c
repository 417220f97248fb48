/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presume_test.c - what is said before the bytes agrees with what is
 * said after them
 *
 * For each policy, name or address, and port: what the packet path would say
 * of what a client could send there is compared with presume(). To the address
 * of a name that is the name itself; that another could be allowed there is
 * what presume() leaves out by intention (said_elsewhere below).
 */
#include "ottergate/policy/presume.h"

#include "ottergate/policy/net/synthetic.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#define AGENT "agents:\n  - id: coder\n    match: { address: 172.20.0.7 }\n"

static const char *const policies[] = {
	"version: 1\n" AGENT,
	"version: 1\n" AGENT "    mode: observe\n",
	"version: 1\n"
	"deny:\n"
	"  - { id: no-paste, names: [paste.test, .ngrok.test] }\n"
	"  - { id: no-mail, names: [+mail.test], ports: [25, 465] }\n"
	"  - { id: no-ip, ips: [198.51.100.66] }\n"
	"services:\n"
	"  - { id: pg, name: db.internal, ip: 10.20.30.40, port: 5432,"
	" proto: tcp }\n" AGENT "    allow:\n"
	"      - { id: web, names: [www.test, .cdn.test] }\n"
	"      - { id: plain, names: [plain.test], ports: [80] }\n"
	"      - { id: alt, names: [alt.test], ports: [8080], proto: http }\n"
	"      - { id: tls80, names: [odd.test], ports: [80], proto: tls }\n"
	"      - { id: ssh, names: [git.test], ports: [22], proto: tcp }\n"
	"      - { id: git, names: [git.test] }\n"
	"      - { id: mail, names: [mail.test], ports: [25, 443] }\n"
	"      - { id: paste, names: [paste.test] }\n"
	"      - { id: api, names: [api.test], use: inspect }\n"
	"      - { id: lit, ips: [198.51.100.0/24], ports: [443, 9999] }\n"
	"      - { id: lit80, ips: [198.51.100.0/24], ports: [8081],"
	" proto: http }\n"
	"    deny:\n"
	"      - { id: not-this, names: [bad.cdn.test] }\n"
	"      - { id: no-tcp, names: [git.test], ports: [2222] }\n",
	"version: 1\n"
	"deny:\n"
	"  - { id: no-paste, names: [paste.test] }\n" AGENT
	"    mode: observe\n"
	"    allow:\n"
	"      - { id: ssh, names: [git.test], ports: [22], proto: tcp }\n"
	"      - { id: web, names: [www.test] }\n",
	"version: 1\n" AGENT "    allow:\n"
	"      - { id: lit, ips: [198.51.100.0/24], ports: [443] }\n"
	"      - { id: lit80, ips: [198.51.100.0/24], ports: [80, 8080],"
	" proto: http }\n",
};

static const char *const names[] = {
	"www.test",
	"a.cdn.test",
	"bad.cdn.test",
	"plain.test",
	"alt.test",
	"odd.test",
	"git.test",
	"mail.test",
	"paste.test",
	"x.ngrok.test",
	"api.test",
	"db.internal",
	"dns.google",
	"evil.test",
	"localhost",
	"a.b.c.d.e.cdn.test",
	"metadata.google.internal",
};
static const uint16_t ports[] = { 22,   25,   53,   80,   443,  465,  853,
				  2222, 3128, 3129, 5432, 8080, 8081, 9999 };
static const uint32_t literals[] = { 0xc6336409, 0xc6336442, 0x01010101,
				     0xac140035, 0x0a141e28, 0xa9fea9fe,
				     0xc613ffee };

#define SELF 0xac140035
#define OUTCOMES_MAX 64u

/* All that the packet path may come to, whatever the client sends; but that it
 * says the name which it has resolved, if it has one. */
struct outcomes {
	struct verdict v[OUTCOMES_MAX];
	size_t n;
};

static void outcome(struct outcomes *o, const struct agent_policy *a,
		    enum path path, const struct name *name,
		    const struct addr *addr, uint16_t port)
{
	static const struct name none = { .len = 0 };
	const struct request rq = {
		.path = path,
		.name = name ? name : &none,
		.addr = addr ? *addr : (struct addr){ .family = 0 },
		.port = port,
	};

	if (o->n == OUTCOMES_MAX)
		abort();
	o->v[o->n++] = decide(a, &rq);
}

/* As conn_begin() and what comes after it. */
static void path_outcomes(struct outcomes *o, const struct agent_policy *a,
			  const struct place *at)
{
	if (at->name && agent_policy_synthetic_name(a, &at->addr)) {
		outcome(o, a, PATH_TCP, at->name, NULL, at->port);
		if (o->v[0].allow || (o->v[0].reason != REASON_PORT &&
				      o->v[0].reason != REASON_PROTO))
			return;
		o->n = 0;
	}
	if (at->name) {
		outcome(o, a, PATH_TLS, at->name, NULL, at->port);
		outcome(o, a, PATH_HTTP, at->name, NULL, at->port);
		return;
	}
	outcome(o, a, PATH_TLS, NULL, &at->addr, at->port);
	if (o->v[0].allow &&
	    !o->v[0].rule) /* conn/tls_front.c: no rule for it */
		o->v[0].allow = false;
	outcome(o, a, PATH_HTTP, NULL, &at->addr, at->port);
	for (size_t i = 0; i < ARRAY_SIZE(literals); i++) {
		struct addr host = addr_v4(literals[i]);

		outcome(o, a, PATH_HTTP, NULL, &host, at->port);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct name n = name_of(names[i]);

		outcome(o, a, PATH_TLS, &n, NULL, at->port);
		outcome(o, a, PATH_HTTP, &n, NULL, at->port);
	}
}

static bool some_allowed(const struct outcomes *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].allow)
			return true;
	return false;
}

static bool has_denial(const struct outcomes *o, const struct verdict *v)
{
	for (size_t i = 0; i < o->n; i++)
		if (!o->v[i].allow && o->v[i].reason == v->reason &&
		    o->v[i].rule == v->rule)
			return true;
	return false;
}

/* May it be left open, which way it will go? */
static bool may_pass(const struct agent_policy *a, const struct place *at,
		     const struct outcomes *o)
{
	/* A rule has 25 for a name; that a denial has it too is not looked at,
	 * as there might be other names. */
	if (!at->name && at->port == 25)
		return true;
	return at->port == 53 || agent_policy_mode(a) == POLICY_OBSERVE ||
	       (!at->name && (some_allowed(o) || synthetic_has(&at->addr) ||
			      addr_eq(&at->addr, &at->self)));
}

static bool agrees(const struct agent_policy *a, const struct place *at)
{
	struct outcomes o = { .n = 0 };
	struct verdict v = { 0 };
	enum presumption what = presume(a, at, &v);

	path_outcomes(&o, a, at);
	switch (what) {
	case PRESUME_PASS:
		return may_pass(a, at, &o);
	case PRESUME_ALLOW:
		return some_allowed(&o);
	default:
		return agent_policy_mode(a) != POLICY_OBSERVE && !v.allow &&
		       !some_allowed(&o) && has_denial(&o, &v);
	}
}

static void check_place(const struct agent_policy *a, size_t p, struct place at,
			const char *what)
{
	struct verdict v = { 0 };

	ok(agrees(a, &at), "policy %zu: %s:%u%s", p, what, at.port,
	   at.name && agent_policy_synthetic_name(a, &at.addr) ?
		   " at its own address" :
		   "");
	at.expired = true;
	if (at.port != 53 &&
	    (presume(a, &at, &v) != PRESUME_DENY || v.reason != REASON_EXPIRED))
		ok(false, "policy %zu: %s:%u expired", p, what, at.port);
}

static void check_policy(const struct agent_policy *a, size_t p)
{
	struct place at = { .self = addr_v4(SELF) };

	for (size_t k = 0; k < ARRAY_SIZE(ports); k++) {
		at.port = ports[k];
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			struct name n = name_of(names[i]);

			at.name = &n;
			at.addr = addr_v4(0xc6120100);
			check_place(a, p, at, names[i]);
			at.addr = agent_policy_synthetic(a, &n);
			if (at.addr.family == 4)
				check_place(a, p, at, names[i]);
		}
		at.name = NULL;
		for (size_t i = 0; i < ARRAY_SIZE(literals); i++) {
			char text[ADDR_TEXT_MAX];

			at.addr = addr_v4(literals[i]);
			check_place(a, p, at, addr_text(&at.addr, text));
		}
	}
}

/* Some of it word for word. */
static const struct {
	const char *name;
	uint32_t v4;
	uint16_t port;
	enum presumption want;
	enum reason reason;
	const char *rule;
	enum rule_proto proto;
} told[] = {
	{ "www.test", 1, 443, PRESUME_ALLOW, 0, NULL, 0 },
	{ "www.test", 1, 22, PRESUME_DENY, REASON_PORT, "web", RULE_TCP },
	{ "www.test", 1, 80, PRESUME_DENY, REASON_PORT, "web", RULE_HTTP },
	{ "plain.test", 1, 80, PRESUME_ALLOW, 0, NULL, 0 },
	{ "odd.test", 1, 80, PRESUME_ALLOW, 0, NULL, 0 },
	{ "git.test", 0, 22, PRESUME_ALLOW, 0, NULL, 0 },
	{ "git.test", 0, 443, PRESUME_ALLOW, 0, NULL, 0 },
	{ "git.test", 0, 2222, PRESUME_DENY, REASON_DENY_RULE, "no-tcp",
	  RULE_TLS },
	{ "git.test", 0, 8443, PRESUME_DENY, REASON_PORT, "ssh", RULE_TLS },
	{ "evil.test", 1, 5432, PRESUME_DENY, REASON_NOT_ALLOWED, NULL,
	  RULE_TCP },
	{ "paste.test", 1, 443, PRESUME_DENY, REASON_DENY_RULE, "no-paste",
	  RULE_TLS },
	{ "api.test", 1, 443, PRESUME_ALLOW, 0, NULL, 0 },
	{ "evil.test", 1, 53, PRESUME_PASS, 0, NULL, 0 },
	{ NULL, 0xc6336409, 443, PRESUME_ALLOW, 0, NULL, 0 },
	{ NULL, 0xc6336409, 8081, PRESUME_ALLOW, 0, NULL, 0 },
	{ NULL, 0xc6336409, 22, PRESUME_PASS, 0, NULL, 0 },
	{ NULL, 0x01010101, 443, PRESUME_PASS, 0, NULL, 0 },
	/* Host may say an address that `lit80` has; no hello can. */
	{ NULL, 0x01010101, 8081, PRESUME_PASS, 0, NULL, 0 },
	{ NULL, 0x01010101, 9999, PRESUME_DENY, REASON_ADDRESS_LITERAL, NULL,
	  RULE_TLS },
	{ NULL, 0x01010101, 6379, PRESUME_DENY, REASON_ADDRESS_LITERAL, NULL,
	  RULE_TCP },
	{ NULL, 0xa9fea9fe, 1234, PRESUME_DENY, REASON_BUILTIN_ADDRESS, NULL,
	  RULE_TLS },
	{ NULL, SELF, 3128, PRESUME_PASS, 0, NULL, 0 },
	{ NULL, SELF, 1234, PRESUME_PASS, 0, NULL, 0 },
	{ NULL, 0xc613ffee, 1234, PRESUME_PASS, 0, NULL, 0 },
};

static void check_rows(const struct agent_policy *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
		struct name n = name_of(told[i].name ? told[i].name : "x");
		struct place at = {
			.name = told[i].name ? &n : NULL,
			.addr = addr_v4(told[i].v4),
			.port = told[i].port,
			.self = addr_v4(SELF),
		};
		struct verdict v = { 0 };

		if (told[i].v4 == 0)
			at.addr = agent_policy_synthetic(a, &n);
		is_int(presume(a, &at, &v), told[i].want, "row %zu", i);
		if (told[i].want != PRESUME_DENY)
			continue;
		is_str(reason_code(v.reason), reason_code(told[i].reason),
		       "row %zu: why", i);
		is_str(v.rule ? v.rule->id : "",
		       told[i].rule ? told[i].rule : "",
		       "row %zu: by which rule", i);
		is_int(v.proto, told[i].proto, "row %zu: what is meant", i);
	}
}

/* The exceptions: what is denied here, since the name that was resolved is, and
 * would be allowed by what is said there. AC_NET_PRELOAD=off is the way out. */
static const struct {
	const char *resolved, *said; /* an address: in a request's Host */
	uint16_t port;
	enum path path;
} said_elsewhere[] = {
	{ "evil.test", "www.test", 443, PATH_TLS },
	{ "paste.test", "a.cdn.test", 443, PATH_TLS },
	{ "evil.test", "plain.test", 80, PATH_HTTP },
	{ "evil.test", "198.51.100.9", 8081, PATH_HTTP },
};

static void check_elsewhere(const struct agent_policy *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(said_elsewhere); i++) {
		struct name n = name_of(said_elsewhere[i].resolved);
		struct name said = name_of(said_elsewhere[i].said);
		const struct place at = {
			.name = &n,
			.addr = addr_v4(0xc6120100),
			.port = said_elsewhere[i].port,
			.self = addr_v4(SELF),
		};
		struct outcomes o = { .n = 0 };
		struct addr addr = { .family = 0 };
		struct verdict v;

		if (said.len == 0 &&
		    addr_parse(slice_str(said_elsewhere[i].said), &addr) < 0)
			abort();
		outcome(&o, a, said_elsewhere[i].path, &said, &addr, at.port);
		ok(o.v[0].allow, "%s is allowed, wherever it is said",
		   said_elsewhere[i].said);
		is_int(presume(a, &at, &v), PRESUME_DENY, "at %s it is denied",
		       n.s);
	}
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct agent_policy *const *agents;
		struct policy *p = NULL;
		struct err err = { 0 };

		if (policy_of(policies[i], &p, NULL, &err) < 0 ||
		    policy_agents(p, &agents) != 1) {
			printf("Bail out! policy %zu: %s\n", i, err.msg);
			return 1;
		}
		check_policy(agents[0], i);
		if (i == 2) {
			check_rows(agents[0]);
			check_elsewhere(agents[0]);
		}
		policy_unref(p);
	}
	return done_testing();
}
