/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effect_test.c - every key of a policy has an effect, or is refused
 *
 * A row holds a key, a policy without it (or with another value), the same
 * with it, and one line that only the second has of what comes out
 * (policy_print.h). Where a key can say one thing alone the second text is one
 * that says another, and the line is why it is refused. A key of the schema
 * without a row fails.
 */
#include <stdlib.h>

#include "tests/unit/ottergate/policies.h"
#include "tests/unit/ottergate/policy/policy_print.h"
#include "tests/unit/schema_keys.h"
#include "tests/unit/tap.h"

#define V "version: 1\n"
#define TLS(w) V "defaults: { tls: { " w " } }\n"
#define DNS(w) V "defaults: { dns: { " w " } }\n"
#define MS(w) V "defaults: { timeouts: { " w " } }\n"
#define AUDIT(w) V "audit: { " w " }\n"
#define CA(w) V "inspect: { ca: { " w " } }\n"
#define CRED(w) V "credentials: { c: { " w " } }\n"
#define DENY(w) V "deny: [ { " w " } ]\n"
#define SERVICE(id, name, ip, port, w)                        \
	V "services: [ { id: " id ", name: " name ", ip: " ip \
	  ", port: " port w " } ]\n"
#define PRESET(w) V "credentials: { c: {} }\npresets: { p: { " w " } }\n"
#define RULE(w) PRESET("rules: [ { id: r, names: [a.test] " w " } ]")
#define READ(w) RULE(", use: inspect " w)
#define ALLOW(w) READ(", http: { allow: [ { paths: [/v1], " w " } ] }")
#define GRAPHQL(w) ALLOW("graphql: { " w " }")
#define OTHER_AGENT(w) \
	V "presets: { p: { rules: [] } }\nagents: [ { " w " } ]\n"
#define AGENT(w) OTHER_AGENT("id: a, match: { address: 172.20.0.9 } " w)
#define LIMIT(w) AGENT(", limits: { " w " }")

static const struct {
	const char *key, *before, *after, *line;
} rows[] = {
	{ "version", V, "version: 2\n", "the only version is 1" },
	{ "defaults", V, MS("idle: 7s"), "ms idle 7000" },
	{ "defaults.mode", V, V "defaults: { mode: observe }\n",
	  "default mode 1" },
	{ "defaults.ports", V, V "defaults: { ports: [8443] }\n",
	  "default port 8443-8443" },
	{ "defaults.tls", V, TLS("min: 1.3"), "tls min 304" },
	{ "defaults.tls.min", TLS("min: 1.2"), TLS("min: 1.3"), "tls min 304" },
	{ "defaults.tls.ech", TLS("ech: deny"), TLS("ech: outer"),
	  "tls ech 1" },
	{ "defaults.tls.no_sni", V, TLS("no_sni: connect"), "tls no_sni 1" },
	{ "defaults.tls.hello_max", V, TLS("hello_max: 2k"), "tls hello 2048" },
	{ "defaults.tls.hello_deadline", V, TLS("hello_deadline: 3s"),
	  "ms hello 3000" },
	{ "defaults.dns", V, DNS("ttl: 9"), "dns ttl 9" },
	{ "defaults.dns.answer", DNS("answer: synthetic"), DNS("answer: real"),
	  "known: synthetic" },
	{ "defaults.dns.ttl", V, DNS("ttl: 9"), "dns ttl 9" },
	{ "defaults.dns.types", DNS("types: [A]"), DNS("types: [A, AAAA]"),
	  "finding no-aaaa" },
	{ "defaults.dns.upstream", V, DNS("upstream: [9.9.9.9]"),
	  "server 9.9.9.9" },
	{ "defaults.dns.cname", DNS("cname: final-ip"), DNS("cname: strict"),
	  "default cname strict 1" },
	{ "defaults.timeouts", V, MS("connect: 4s"), "ms connect 4000" },
	{ "defaults.timeouts.connect", V, MS("connect: 4s"),
	  "ms connect 4000" },
	{ "defaults.timeouts.idle", V, MS("idle: 7s"), "ms idle 7000" },
	{ "defaults.timeouts.tunnel_max", V, MS("tunnel_max: 2h"),
	  "ms tunnel 7200000" },
	{ "defaults.timeouts.request_header", V, MS("request_header: 6s"),
	  "ms header 6000" },
	{ "audit", V, AUDIT("files: 3"), "audit files 3" },
	{ "audit.sink", AUDIT(""), AUDIT("sink: x"), "decided by acd" },
	{ "audit.events", V, AUDIT("events: [deny]"), "audit events 102" },
	{ "audit.fields", AUDIT(""), AUDIT("fields: {}"), "would have no" },
	{ "audit.chain", AUDIT("chain: sha256"), AUDIT("chain: none"),
	  "known: sha256" },
	{ "audit.on_full", AUDIT("on_full: deny"), AUDIT("on_full: drop"),
	  "audit deny 0" },
	{ "audit.max_bytes", V, AUDIT("max_bytes: 1m"), "audit bytes 1048576" },
	{ "audit.files", V, AUDIT("files: 3"), "audit files 3" },
	{ "metrics", V "metrics: {}\n", V "metrics: []\n", "a map is wanted" },
	{ "metrics.listen", V, V "metrics: { listen: x }\n", "decided by acd" },
	{ "metrics.per_agent", V, V "metrics: { per_agent: true }\n",
	  "would have no" },
	{ "metrics.per_rule", V, V "metrics: { per_rule: true }\n",
	  "would have no" },
	{ "inspect", V, CA("lifetime: 2h"), "ca 7200" },
	{ "inspect.ca", V, CA("lifetime: 2h"), "ca 7200" },
	{ "inspect.ca.per", CA("per: agent"), CA("per: all"), "known: agent" },
	{ "inspect.ca.key", CA("key: ecdsa-p256"), CA("key: rsa"),
	  "known: ecdsa-p256" },
	{ "inspect.ca.lifetime", V, CA("lifetime: 2h"), "ca 7200" },
	{ "inspect.ca.leaf_lifetime", V, CA("leaf_lifetime: 2h"),
	  "leaf 7200000" },
	{ "inspect.alpn", V "inspect: { alpn: mirror }\n",
	  V "inspect: { alpn: h2 }\n", "known: mirror" },
	{ "inspect.host_must_equal_sni",
	  V "inspect: { host_must_equal_sni: true }\n",
	  V "inspect: { host_must_equal_sni: false }\n", "can only be true" },
	{ "upstream_proxy", V,
	  V "upstream_proxy: { url: \"http://p.test:81\" }\n",
	  "proxy p.test 81 -" },
	{ "upstream_proxy.url",
	  V "upstream_proxy: { url: \"http://p.test:81\" }\n",
	  V "upstream_proxy: { url: \"http://u:v@p.test:81\" }\n",
	  "proxy p.test 81 Basic dTp2" },
	{ "upstream_proxy.no_proxy",
	  V "upstream_proxy: { url: \"http://p.test:81\" }\n",
	  V "upstream_proxy: { url: \"http://p.test:81\", no_proxy: [.d.test] "
	    "}\n",
	  "direct .d.test" },
	{ "credentials", V, CRED(""), "credential c" },
	{ "credentials.*.source", CRED(""), CRED("source: x"), "no effect" },
	{ "credentials.*.reload", CRED(""), CRED("reload: x"), "no effect" },
	{ "credentials.*.kind", CRED(""), CRED("kind: x"), "no effect" },
	{ "credentials.*.header", CRED(""), CRED("header: x"), "no effect" },
	{ "credentials.*.region", CRED(""), CRED("region: x"), "no effect" },
	{ "credentials.*.service", CRED(""), CRED("service: x"), "no effect" },
	{ "credentials.*.ttl", CRED(""), CRED("ttl: 1m"), "no effect" },
	{ "hosts", V, V "hosts: { h.test: [203.0.113.7] }\n",
	  "host at 203.0.113.7" },
	{ "deny", V, DENY("id: d, names: [a.test]"), "rule d of deny" },
	{ "deny[].id", DENY("id: d, names: [a.test]"),
	  DENY("id: e, names: [a.test]"), "rule e of deny" },
	{ "deny[].names", DENY("id: d, names: [a.test]"),
	  DENY("id: d, names: [+b.test]"), "name +b.test" },
	{ "deny[].ips", DENY("id: d, names: [a.test]"),
	  DENY("id: d, ips: [203.0.113.0/24]"), "net 203.0.113.0/24" },
	{ "deny[].ports", DENY("id: d, names: [a.test]"),
	  DENY("id: d, names: [a.test], ports: [8000-8010]"),
	  "port 8000-8010" },
	{ "deny[].reason", DENY("id: d, names: [a.test], reason: why"),
	  DENY("id: d, names: [a.test], reason: [why]"), "string is wanted" },
	{ "deny[].from", AGENT(", deny: [ { id: d, names: [a.test] } ]"),
	  AGENT(", deny: [ { id: d, names: [a.test], from: blueprint } ]"),
	  "rule d of blueprint" },
	{ "services", V, SERVICE("s", "db.test", "10.0.0.5", "1", ""),
	  "at 10.0.0.5 with -" },
	{ "services[].id", V, SERVICE("s", "db.test", "10.0.0.5", "1", ""),
	  "rule s of services" },
	{ "services[].name", V, SERVICE("s", "db.test", "10.0.0.5", "1", ""),
	  "name db.test" },
	{ "services[].ip", V, SERVICE("s", "db.test", "10.0.0.5", "1", ""),
	  "at 10.0.0.5 with -" },
	{ "services[].port", V, SERVICE("s", "db.test", "10.0.0.5", "77", ""),
	  "port 77-77" },
	{ "services[].socket",
	  AGENT(", services: [ { id: s, name: db.test, ip: 10.0.0.5, "
		"port: 1 } ]"),
	  AGENT(", services: [ { id: s, name: db.test, ip: 127.0.0.1, "
		"port: 1, socket: llm } ]"),
	  "socket llm" },
	{ "services[].proto", SERVICE("s", "db.test", "10.0.0.5", "1", ""),
	  SERVICE("s", "db.test", "10.0.0.5", "1", ", proto: tcp"),
	  "use 0 proto 2 set 1" },
	{ "services[].reason",
	  SERVICE("s", "db.test", "10.0.0.5", "1", ", reason: why"),
	  SERVICE("s", "db.test", "10.0.0.5", "1", ", reason: {}"),
	  "string is wanted" },
	{ "presets", V, RULE(""), "set p" },
	{ "presets.*.rules", PRESET(""), RULE(""), "rule r of p" },
	{ "presets.*.about", PRESET("about: why"), PRESET("about: {}"),
	  "string is wanted" },
	{ "presets.*.risk", PRESET("risk: why"), PRESET("risk: {}"),
	  "string is wanted" },
	{ "presets.*.rules[].id", PRESET(""), RULE(""), "rule r of p" },
	{ "presets.*.rules[].names", PRESET(""), RULE(""), "name a.test" },
	{ "presets.*.rules[].ips", RULE(""), RULE(", ips: [203.0.113.9]"),
	  "net 203.0.113.9/32" },
	{ "presets.*.rules[].ports", RULE(""), RULE(", ports: [8443]"),
	  "port 8443-8443" },
	{ "presets.*.rules[].use", RULE(", use: tunnel"),
	  RULE(", use: inspect"), "use 1 proto 0 set 0" },
	{ "presets.*.rules[].proto", RULE(""), RULE(", proto: tcp"),
	  "use 0 proto 2 set 1" },
	{ "presets.*.rules[].websocket", RULE(""), RULE(", websocket: true"),
	  "websocket 1" },
	{ "presets.*.rules[].insecure", READ(", proto: http"),
	  READ(", proto: http, insecure: true"), "insecure 1" },
	{ "presets.*.rules[].ech", RULE(""), RULE(", ech: outer"),
	  "ech outer 1" },
	{ "presets.*.rules[].cname", RULE(""), RULE(", cname: strict"),
	  "cname strict 1" },
	{ "presets.*.rules[].risk_ok",
	  PRESET("rules: [ { id: r, names: [gist.github.com], risk_ok: "
		 "[multi-tenant, shared-cdn] } ]"),
	  PRESET("rules: [ { id: r, names: [gist.github.com] } ]"),
	  "finding multi-tenant" },
	{ "presets.*.rules[].reason", RULE(", reason: why"),
	  RULE(", reason: []"), "string is wanted" },
	{ "presets.*.rules[].http", READ(""), ALLOW("methods: [GET]"),
	  "allow method GET" },
	{ "presets.*.rules[].http.within", READ(""),
	  READ(", http: { within: [ { paths: [/w] } ] }"), "within path /w" },
	{ "presets.*.rules[].http.within[].methods", READ(""),
	  READ(", http: { within: [ { methods: [PUT] } ] }"),
	  "within method PUT" },
	{ "presets.*.rules[].http.within[].paths", READ(""),
	  READ(", http: { within: [ { paths: [/w] } ] }"), "within path /w" },
	{ "presets.*.rules[].http.allow", READ(""), ALLOW("methods: [GET]"),
	  "allow method GET" },
	{ "presets.*.rules[].http.allow[].methods", READ(""),
	  ALLOW("methods: [GET]"), "allow method GET" },
	{ "presets.*.rules[].http.allow[].paths", READ(""),
	  ALLOW("methods: [GET]"), "allow path /v1" },
	{ "presets.*.rules[].http.allow[].body_max", READ(""),
	  ALLOW("body_max: 5"), "allow body 5" },
	{ "presets.*.rules[].http.allow[].graphql", ALLOW("graphql: any"),
	  ALLOW("graphql: query-only"), "allow forms 0 push 0 graphql 1" },
	{ "presets.*.rules[].http.allow[].graphql.mutations", GRAPHQL(""),
	  GRAPHQL("mutations: [addStar]"), "mutation addStar" },
	{ "presets.*.rules[].http.allow[].graphql.push", GRAPHQL(""),
	  GRAPHQL("push: [mergeIt]"), "graphql push mergeIt" },
	{ "presets.*.rules[].http.allow[].graphql.without", GRAPHQL(""),
	  GRAPHQL("without: [token]"), "without token" },
	{ "presets.*.rules[].http.allow[].forms", ALLOW("forms: any"),
	  ALLOW("forms: judge"), "allow forms 1 push 0 graphql 0" },
	{ "presets.*.rules[].http.deny", READ(""),
	  READ(", http: { deny: [ { paths: [/d] } ] }"), "deny path /d" },
	{ "presets.*.rules[].http.deny[].methods", READ(""),
	  READ(", http: { deny: [ { methods: [PUT] } ] }"), "deny method PUT" },
	{ "presets.*.rules[].http.deny[].paths", READ(""),
	  READ(", http: { deny: [ { paths: [/d] } ] }"), "deny path /d" },
	{ "presets.*.rules[].http.deny[].push", READ(""),
	  READ(", http: { deny: [ { paths: [/d], push: true } ] }"),
	  "deny forms 0 push 1 graphql 0" },
	{ "presets.*.rules[].methods", READ(""), READ(", methods: [GET]"),
	  "allow method GET" },
	{ "presets.*.rules[].paths", READ(""), READ(", paths: [/v2]"),
	  "allow path /v2" },
	{ "presets.*.rules[].auth", READ(", paths: [/v1]"),
	  READ(", paths: [/v1], auth: { use: c }"), "at - with c" },
	{ "presets.*.rules[].auth.use", READ(", paths: [/v1]"),
	  READ(", paths: [/v1], auth: { use: c }"), "at - with c" },
	{ "presets.*.rules[].auth.exclusive",
	  READ(", paths: [/v1], auth: { use: c }"),
	  READ(", paths: [/v1], auth: { use: c, exclusive: true }"),
	  "exclusive 1 as - requests 0" },
	{ "presets.*.rules[].auth.surrogate",
	  READ(", paths: [/v1], auth: { use: c }"),
	  READ(", paths: [/v1], auth: { use: c, surrogate: x }"),
	  "would have no" },
	{ "presets.*.rules[].auth.as", READ(", paths: [/v1], auth: { use: c }"),
	  READ(", paths: [/v1], auth: { use: c, as: git }"),
	  "exclusive 0 as git requests 0" },
	{ "presets.*.rules[].stream", READ(""),
	  READ(", stream: { websocket: true }"), "websocket 1" },
	{ "presets.*.rules[].stream.sse", READ(", stream: { sse: true }"),
	  READ(", stream: { sse: false }"), "can only be true" },
	{ "presets.*.rules[].stream.websocket", READ(""),
	  READ(", stream: { websocket: true }"), "websocket 1" },
	{ "presets.*.rules[].upload", READ(", upload: {}"),
	  READ(", upload: { body_max: 9 }"), "upload 9" },
	{ "presets.*.rules[].upload.body_max", READ(", upload: {}"),
	  READ(", upload: { body_max: 9 }"), "upload 9" },
	{ "presets.*.rules[].response", READ(", response: {}"),
	  READ(", response: { max: 9 }"), "response 9" },
	{ "presets.*.rules[].response.redact",
	  READ(", response: { redact: injected }"),
	  READ(", response: { redact: none }"), "known: injected" },
	{ "presets.*.rules[].response.max", READ(", response: {}"),
	  READ(", response: { max: 9 }"), "response 9" },
	{ "presets.*.rules[].limits", READ(", limits: {}"),
	  READ(", limits: { requests: 8/m }"), "exclusive 0 as - requests 8" },
	{ "presets.*.rules[].limits.requests", READ(", limits: {}"),
	  READ(", limits: { requests: 8/m }"), "exclusive 0 as - requests 8" },
	{ "presets.*.rules[].limits.tokens_header", READ(", limits: {}"),
	  READ(", limits: { tokens_header: x }"), "would have no" },
	{ "agents", V, AGENT(""), "agent a at 172.20.0.9 mode 0 ends 0" },
	{ "agents[].id", AGENT(""),
	  OTHER_AGENT("id: b, match: { address: 172.20.0.9 }"),
	  "agent b at 172.20.0.9 mode 0 ends 0" },
	{ "agents[].match", AGENT(""),
	  OTHER_AGENT("id: a, match: { address: 172.20.0.8 }"),
	  "agent a at 172.20.0.8 mode 0 ends 0" },
	{ "agents[].match.address", AGENT(""),
	  OTHER_AGENT("id: a, match: { address: 172.20.0.8 }"),
	  "agent a at 172.20.0.8 mode 0 ends 0" },
	{ "agents[].match.net", AGENT(""),
	  OTHER_AGENT("id: a, match: { net: 172.20.0.8/32 }"),
	  "agent a at 172.20.0.8 mode 0 ends 0" },
	{ "agents[].mode", AGENT(""), AGENT(", mode: observe"),
	  "agent a at 172.20.0.9 mode 1 ends 0" },
	{ "agents[].use", AGENT(""), AGENT(", use: [p]"), "uses p" },
	{ "agents[].allow", AGENT(""),
	  AGENT(", allow: [ { id: r, names: [a.test] } ]"), "rule r of agent" },
	{ "agents[].deny", AGENT(""),
	  AGENT(", deny: [ { id: d, names: [a.test] } ]"), "rule d of agent" },
	{ "agents[].services", AGENT(""),
	  AGENT(", services: [ { id: s, name: db.test, ip: 10.0.0.5, "
		"port: 1 } ]"),
	  "rule s of service" },
	{ "agents[].limits", AGENT(""), LIMIT("conns: 3"), "conns 3" },
	{ "agents[].limits.conns", AGENT(""), LIMIT("conns: 3"), "conns 3" },
	{ "agents[].limits.half_open", AGENT(""), LIMIT("half_open: 3"),
	  "half open 3" },
	{ "agents[].limits.new_conns", AGENT(""), LIMIT("new_conns: 3/s"),
	  "new conns 3" },
	{ "agents[].limits.bandwidth", AGENT(""),
	  LIMIT("bandwidth: { up: 1k/s }"), "up 1024" },
	{ "agents[].limits.bandwidth.up", AGENT(""),
	  LIMIT("bandwidth: { up: 1k/s }"), "up 1024" },
	{ "agents[].limits.bandwidth.down", AGENT(""),
	  LIMIT("bandwidth: { down: 1k/s }"), "down 1024" },
	{ "agents[].limits.volume", AGENT(""), LIMIT("volume: { up: 1k/h }"),
	  "volume up 1024" },
	{ "agents[].limits.volume.up", AGENT(""), LIMIT("volume: { up: 1k/h }"),
	  "volume up 1024" },
	{ "agents[].limits.volume.down", AGENT(""),
	  LIMIT("volume: { down: 1k/h }"), "volume down 1024" },
	{ "agents[].limits.dns", AGENT(""), LIMIT("dns: { qps: 3 }"), "qps 3" },
	{ "agents[].limits.dns.qps", AGENT(""), LIMIT("dns: { qps: 3 }"),
	  "qps 3" },
	{ "agents[].limits.dns.new_names", AGENT(""),
	  LIMIT("dns: { new_names: 3/h }"), "new names 3" },
	{ "agents[].limits.dns.new_subdomains", AGENT(""),
	  LIMIT("dns: { new_subdomains: 3/h }"), "new subdomains 3" },
	{ "agents[].limits.memory", AGENT(""), LIMIT("memory: 2m"),
	  "memory 2097152" },
	{ "agents[].on_limit", AGENT(""), AGENT(", on_limit: kill"),
	  "on limit 2" },
	{ "agents[].expires", AGENT(""), AGENT(", expires: 8h"),
	  "agent a at 172.20.0.9 mode 0 ends 1" },
};

/* All that comes of the policy @text, each line ended, or why it is refused;
 * caller frees. */
static char *result_of(const char *text, bool *ret_taken)
{
	struct policy *p = NULL;
	struct lint lint = { 0 };
	struct err err = { 0 };
	char *out = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&out, &len);

	if (!f)
		return NULL;
	*ret_taken = policy_of(text, &p, &lint, &err) == 0 && p;
	fputc('\n', f);
	if (*ret_taken)
		policy_print(f, p);
	else
		fprintf(f, "%s\n", err.msg);
	lint_print(f, &lint);
	fclose(f);
	lint_done(&lint);
	policy_unref(p);
	return out;
}

static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *p = text; (p = strstr(p, line)); p++) {
		if (p[-1] == '\n' && p[len] == '\n')
			return true;
	}
	return false;
}

static void test_row(size_t i)
{
	bool was_taken = false, is_taken = false;
	SCOPED_STR before = result_of(rows[i].before, &was_taken);
	SCOPED_STR after = result_of(rows[i].after, &is_taken);

	if (!before || !after)
		return;
	if (!ok(was_taken, "%s: taken before", rows[i].key))
		printf("# %s", before + 1);
	if (is_taken)
		ok(has_line(after, rows[i].line) &&
			   !has_line(before, rows[i].line),
		   "%s: '%s' comes of it", rows[i].key, rows[i].line);
	else if (!ok(strstr(after, rows[i].line) != NULL, "%s: refused, '%s'",
		     rows[i].key, rows[i].line))
		printf("# %s", after + 1);
}

static bool is_key[ARRAY_SIZE(rows)];

static void has_row(const char *path)
{
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].key, path) == 0)
			is_key[i] = found = true;
	}
	ok(found, "%s has a row", path);
}

int main(void)
{
	struct schema_walk w = { .fn = has_row };

	walk_schema(&w, "", &policy_schema);
	ok(w.n_seen < SCHEMA_MAPS_MAX, "all maps are walked");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ok(is_key[i], "%s is a key", rows[i].key);
		test_row(i);
	}
	return done_testing();
}
