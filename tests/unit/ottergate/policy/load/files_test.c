/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_test.c - the loader: all keys, faults with their positions, several
 * files
 */
#include "ottergate/policy/load.h"

#include <sys/stat.h>

#include "lib/buf.h"
#include "ottergate/audit/audit.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#define V "version: 1\n"
#define RULE V "presets: { p: { rules: [ {"
#define AGENT V "agents:\n- id: x\n  match: { address: 172.20.0.9 }\n"

struct fault {
	const char *text, *want; /* beginning of the message */
};

static const struct fault faults[] = {
	/* Form. */
	{ "", "f:1:1: the file says nothing" },
	{ "# nothing\n", "f:1:1: the file says nothing" },
	{ "[]\n", "f:1:1: a map is wanted here" },
	{ "version: 1\nversion: 1\n", "f:2:1: 'version' is here twice" },
	{ "deny: []\n", "f:1:1: `version: 1` is missing" },
	{ "version: 2\n", "f:1:10: the only version is 1" },
	{ "version: 1\ninspect: { ca: { lifetime: 401d } }\n",
	  "f:2:28: a time such as 30d is wanted here, from 1m to 400d" },
	{ V "x: &a 1\n", "f:2:4: anchors, aliases and tags" },
	{ V "x: *a\n", "f:2:4: anchors, aliases and tags" },
	{ V "x: !!str 1\n", "f:2:4: anchors, aliases and tags" },
	{ V "---\nversion: 1\n", "f:2:1: a second document" },
	{ "%YAML 1.1\n---\nversion: 1\n", "f:1:1: directives" },
	{ V "deny:\n", "f:2:6: a value is missing here" },
	{ V "deny: ~\n", "f:2:7: a value is missing here" },
	{ V "deny: null\n", "f:2:7: a value is missing here" },
	{ V "deny: {\n", "f:2:7: the map that begins at line 2 is not" },
	{ V "deny: [\n", "f:2:7: the list that begins at line 2 is not" },
	{ V "deny: [ { id: a,\n  names: [b.test }\n",
	  "f:3:10: the list that begins at line 3 is not closed" },
	{ V "deny: [ { id: a, names: [b.test] }\npresets: {}\n",
	  "f:2:7: the list that begins at line 2 is not closed, or not "
	  "well-formed (line 3: did" },
	{ V "deny: [ { id: a, names: [b.test]\n",
	  "f:2:9: the map that begins at line 2 is not closed" },
	{ V "deny: \"a\n", "f:2:7: the quoted text that begins at line 2" },
	{ V "? [a]\n: b\n", "f:2:3: a key must be a plain word" },
	{ V "x: [[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]\n",
	  "f:2:19: nested too deeply" },
	{ V "x: \"a\\0b\"\n", "f:2:4: a NUL byte" },
	{ V "x: \xff\n", "f:" },
	{ V "<<: { a: b }\n", "f:2:1: '<<' is not known here" },
	/* Keys. */
	{ V "denny: []\n", "f:2:1: 'denny' is not known here; known: version" },
	{ V "deny: {}\n", "f:2:7: a list is wanted here, not a map" },
	{ V "deny: [a]\n", "f:2:8: a map is wanted here, not a string" },
	{ V "deny: [ { id: a } ]\n", "f:2:9: the rule has neither" },
	{ V "deny: [ { names: [a.test] } ]\n", "f:2:9: the rule has no `id`" },
	{ V "deny: [ { id: a, names: [] } ]\n", "f:2:9: the rule is for" },
	{ V "deny: [ { id: a, names: [b.test], use: tunnel } ]\n",
	  "f:2:35: 'use' is not known here" },
	{ V "deny:\n- { id: a, names: [x.test] }\n"
	    "- { id: a, names: [y.test] }\n",
	  "f:4:3: rule 'a' is also at f:3" },
	{ V "deny: [ { id: -a, names: [b.test] } ]\n", "f:2:15: an id has" },
	{ V "deny: [ { id: \"a b\", names: [b.test] } ]\n", "f:2:15: an id" },
	{ V "deny: [ { id: no, names: [b.test] } ]\n",
	  "f:2:15: a string is wanted here: write \"no\"" },
	/* Names (N2, N3, N5, N9, N10). */
	{ RULE "id: a, names: [yes] } ] } }\n", "f:2:42: a string is wanted" },
	{ RULE "id: a, names: [On] } ] } }\n", "f:2:42: a string is wanted" },
	{ RULE "id: a, names: [1e3] } ] } }\n", "f:2:42: a name is wanted" },
	{ RULE "id: a, names: [0x7f] } ] } }\n", "f:2:42: a name is wanted" },
	{ RULE "id: a, names: [.5] } ] } }\n", "f:2:42: a name is wanted" },
	{ RULE "id: a, names: [1.2.3.4] } ] } }\n", "f:2:42: a name is" },
	{ RULE "id: a, names: [\"1.2.3.4\"] } ] } }\n",
	  "f:2:42: this is an address" },
	{ RULE "id: a, names: [\"0x7f.1\"] } ] } }\n",
	  "f:2:42: this is an address" },
	{ RULE "id: a, names: [\"*.a.test\"] } ] } }\n", "f:2:42: no '*'" },
	{ RULE "id: a, names: [\"a.test:443\"] } ] } }\n",
	  "f:2:42: only the name" },
	{ RULE "id: a, names: [https://a.test/] } ] } }\n",
	  "f:2:42: only the name" },
	{ RULE "id: a, names: [a..test] } ] } }\n", "f:2:42: this is no host" },
	{ RULE "id: a, names: [..a.test] } ] } }\n", "f:2:42: this is no" },
	{ RULE "id: a, names: [\"a b.test\"] } ] } }\n", "f:2:42: this is no" },
	{ RULE "id: a, names: [\"\"] } ] } }\n", "f:2:42: this is no host" },
	{ RULE "id: a, names: [[a.test]] } ] } }\n",
	  "f:2:42: a string is wanted here, not a list" },
	{ RULE "id: a, names: [\"g\\u00fc_r.test\"] } ] } }\n",
	  "f:2:42: this is no host name" },
	{ RULE "id: a, names: [\"g\\u00fc=r.test\"] } ] } }\n",
	  "f:2:42: this is no host name" },
	{ RULE "id: a, names: [\"\\u00fc.\\uff11.2.3.4\"] } ] } }\n",
	  "f:2:42: this is an address" },
	{ RULE "id: a, ips: [1.2.3.4/24] } ] } }\n", "f:2:40: an address or" },
	{ RULE "id: a, ips: [a.test] } ] } }\n", "f:2:40: an address or" },
	/* Ports and the rest of a rule. */
	{ RULE "id: a, names: [a.test], ports: 443 } ] } }\n",
	  "f:2:58: a list of ports" },
	{ RULE "id: a, names: [a.test], ports: [0] } ] } }\n",
	  "f:2:59: a port is wanted" },
	{ RULE "id: a, names: [a.test], ports: [65536] } ] } }\n",
	  "f:2:59: a port is wanted" },
	{ RULE "id: a, names: [a.test], ports: [9-8] } ] } }\n",
	  "f:2:59: a port is wanted" },
	{ RULE "id: a, names: [a.test], ports: [\"80 \"] } ] } }\n",
	  "f:2:59: a port is wanted" },
	{ RULE "id: a, names: [a.test], use: pass } ] } }\n",
	  "f:2:56: 'pass' is not known here; known: tunnel, inspect" },
	{ RULE "id: a, names: [a.test], use: inspect, http: { allow: ["
	       "{ graphql: { mutations: [a-b] } } ] } } ] } }\n",
	  "f:2:106: a name of GraphQL is wanted" },
	{ RULE "id: a, names: [a.test], proto: udp } ] } }\n",
	  "f:2:58: 'udp' is not known here; known: tls, http, tcp" },
	{ RULE "id: a, names: [.a.test], proto: tcp } ] } }\n",
	  "f:2:42: `proto: tcp` needs exact names" },
	{ RULE "id: a, names: [a.test], websocket: yes } ] } }\n",
	  "f:2:62: true or false" },
	{ RULE "id: a, names: [a.test], websocket: \"true\" } ] } }\n",
	  "f:2:62: true or false" },
	{ RULE "id: a, names: [a.test], risk_ok: [all] } ] } }\n",
	  "f:2:61: a known risk" },
	{ RULE "id: a, names: [a.test], use: inspect, auth: { use: k } } ] "
	       "} }\n",
	  "f:2:78: there is no credential 'k'" },
	/* Sections. */
	{ V "audit: { sink: \"file:/x\" }\n", "f:2:16: where this goes" },
	{ V "metrics: { listen: \"unix:/x\" }\n", "f:2:20: where this goes" },
	{ V "audit: { events: [all] }\n", "f:2:19: there is no such event" },
	{ V "services: [ { id: a, name: a.test, ip: 127.0.0.1, port: 1 } ]\n",
	  "f:2:40: no service may be at this address: it is of class loop" },
	{ V "services: [ { id: a, name: a.test, ip: 172.20.0.53, port: 1 } ]\n",
	  "f:2:40: no service may be at this address: it is of class self" },
	{ V "services: [ { id: a, name: a.test, ip: \"64:ff9b::a00:1\",\n"
	    "  port: 1 } ]\n",
	  "f:2:40: no service may be at this address: it is of class embed" },
	{ V "services: [ { id: a, name: a.test, ip: 127.0.0.1, port: 1,\n"
	    "  socket: a } ]\n",
	  "f:3:11: acd alone writes `socket`" },
	{ AGENT "  services: [ { id: a, name: a.test, ip: 127.0.0.1, port: 1 "
		"} ]\n",
	  "f:5:42: no service may be at this address: it is of class loop" },
	{ AGENT "  services: [ { id: a, name: a.test, ip: 10.0.0.1, port: 1,\n"
		"  socket: a } ]\n",
	  "f:5:42: a service with a `socket` is at a loopback address" },
	{ AGENT "  services: [ { id: a, name: a.test, ip: 127.0.0.1, port: 1,\n"
		"  socket: ../acd } ]\n",
	  "f:6:11: the name of a socket is 1 to 48" },
	{ AGENT "  services: [ { id: a, name: a.test, ip: 127.0.0.1, port: 1,\n"
		"  socket: \"\" } ]\n",
	  "f:6:11: the name of a socket is 1 to 48" },
	{ V "services: [ { id: a, name: .a.test, ip: 10.0.0.1, port: 1 } ]\n",
	  "f:2:28: one exact name" },
	{ V "services: [ { id: a, name: localhost, ip: 10.0.0.1, port: 1 } ]\n",
	  "f:2:28: this name is denied always" },
	{ V "services: [ { id: a, name: a.test, ip: 10.0.0.1 } ]\n",
	  "f:2:13: a service is" },
	{ V "credentials: { a: { source: hunter2 } }\n",
	  "f:2:29: 'source' would have no effect: " },
	{ V "hosts: { a.test: [] }\n", "f:2:18: an address is wanted" },
	{ V "hosts: { a.test: [1.2.3.4], A.test: [1.2.3.4] }\n",
	  "f:2:29: 'a.test' is here twice" },
	{ V "upstream_proxy: { url: \"https://p.test:1\" }\n",
	  "f:2:24: http://host:port is wanted" },
	{ V "upstream_proxy: { url: \"http://p.test\" }\n",
	  "f:2:24: http://host:port is wanted" },
	{ V "upstream_proxy: { url: \"http://a%0d:b@p.test:1\" }\n",
	  "f:2:24: user:password@" },
	{ V "defaults: { dns: { upstream: [\"tls://9.9.9.9#x\"] } }\n",
	  "f:2:31: DNS over TLS is not spoken" },
	{ V "defaults: { tls: { min: 1.1 } }\n", "f:2:25: '1.1' is not known" },
	{ V "defaults: { timeouts: { idle: 1ms } }\n", "f:2:31: a time" },
	/* Agents. */
	{ V "agents: [ { id: a } ]\n", "f:2:11: the agent has no `match" },
	{ V "agents: [ { match: { address: 1.2.3.4 } } ]\n",
	  "f:2:11: the agent has no `id`" },
	{ V "agents: [ { id: a, match: { net: 172.20.3.0/24 } } ]\n",
	  "f:2:34: one address (/32) is wanted" },
	{ V "agents: [ { id: a, match: { veth: x } } ]\n",
	  "f:2:29: 'veth' is not known here" },
	{ AGENT "  use: [none-such]\n", "f:5:9: there is no preset" },
	{ AGENT "  limits: { conns: 0 }\n", "f:5:20: a number from 1" },
	{ AGENT "  limits: { new_conns: 50 }\n",
	  "f:5:24: a rate such as 50/s" },
	{ AGENT "  limits: { volume: { up: 2MiB/s } }\n",
	  "f:5:27: a rate such as 2MiB/h" },
	{ AGENT "  expires: soon\n", "f:5:12: a time such as 8h" },
	{ AGENT "  expires: 2026-02-30T00:00:00Z\n", "f:5:12: a time such" },
	{ AGENT "  expires: 2026-11-21T18:00:00+1:00\n", "f:5:12: a time" },
	{ AGENT "- id: z\n  match: { address: 172.20.0.9 }\n",
	  "f:5:3: agent 'x' has this id or this address" },
};

static void test_faults(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		const struct fault *f = &faults[i];
		struct policy *p = NULL;
		struct lint lint = { 0 };
		struct err err = { 0 };
		int rc = policy_of(f->text, &p, &lint, &err);

		ok(rc < 0 && !p && err.code == rc &&
			   strncmp(err.msg, f->want, strlen(f->want)) == 0 &&
			   lint.n > 0,
		   "fault %zu: %s", i, f->want);
		if (rc >= 0 || strncmp(err.msg, f->want, strlen(f->want)) != 0)
			printf("# got %d %s\n", rc, err.msg);
		policy_unref(p);
		lint_done(&lint);
	}
}

static const char full[] = V
	"defaults:\n"
	"  mode: observe\n"
	"  ports: [443, 8443]\n"
	"  tls: { min: \"1.3\", ech: outer, no_sni: connect,"
	"    hello_max: 32KiB, hello_deadline: 3s }\n"
	"  dns: { answer: synthetic, ttl: 30, types: [A],"
	"    upstream: [192.0.2.1, \"192.0.2.2:5353\"], cname: strict }\n"
	"  timeouts: { connect: 2s, idle: 1m, tunnel_max: 1h,"
	"    request_header: 4s }\n"
	"credentials:\n"
	"  gh: {}\n"
	"  aws: {}\n"
	"presets:\n"
	"  ro:\n"
	"    about: read only\n"
	"    rules:\n"
	"    - id: api\n"
	"      names: [api.a.test]\n"
	"      use: inspect\n"
	"      http:\n"
	"        allow:\n"
	"        - { methods: [GET, HEAD], paths: [\"/r/**\"] }\n"
	"        - { methods: [POST], paths: [/graphql],"
	"            graphql: query-only, body_max: 64KiB }\n"
	"        deny:\n"
	"        - { paths: [\"/gists/**\"], methods: [\"*\"] }\n"
	"      auth: { use: gh, exclusive: true, as: basic }\n"
	"      response: { redact: injected, max: 50MiB }\n"
	"      upload: { body_max: 0 }\n"
	"      stream: { sse: true, websocket: false }\n"
	"      limits: { requests: 60/m }\n"
	"      reason: because\n"
	"upstream_proxy:\n"
	"  url: \"http://us%65r:p%40ss@proxy.corp.example:3128/\"\n"
	"  no_proxy: [.corp.example, direct.test]\n"
	"hosts: { a.test: [198.51.100.1, \"2606:4700::1\"] }\n"
	"inspect: { ca: { per: agent, key: ecdsa-p256, lifetime: 400d,"
	"  leaf_lifetime: 12h }, alpn: mirror, host_must_equal_sni: true }\n"
	"audit: { events: [deny, dns], chain: sha256, on_full: drop,"
	"  max_bytes: 1MiB, files: 3 }\n"
	"metrics: {}\n"
	"agents:\n"
	"- id: coder\n"
	"  match: { address: 172.20.0.9 }\n"
	"  mode: enforce\n"
	"  use: [ro]\n"
	"  allow:\n"
	"  - { id: idn, names: [\"b\\u00fccher.example\"] }\n"
	"  - { id: ws, names: [ws.test], ports: [80], websocket: true,"
	"      ech: deny, cname: final-ip, reason: x }\n"
	"  deny: [ { id: d, ips: [192.0.2.0/24] } ]\n"
	"  limits: { conns: 256, half_open: 8, new_conns: 50/s,"
	"    bandwidth: { up: 2MiB/s, down: none },"
	"    volume: { up: 200MiB/h, down: 20GiB/h },"
	"    dns: { qps: 50, new_names: 200/h, new_subdomains: none } }\n"
	"  on_limit: kill\n"
	"  expires: 8h\n";

static bool buf_has(const struct buf *b, const char *text)
{
	return memmem(buf_slice(b).ptr, buf_len(b), text, strlen(text));
}

static void check_agent(const struct agent_policy *a)
{
	const struct limits *l = agent_policy_limits(a);
	const struct timeouts *t = agent_policy_timeouts(a);
	const struct tls_rules *tls = agent_policy_tls(a);
	const struct upstream_proxy *proxy;
	const struct addr *addrs = NULL;
	struct name name = name_of("a.test"),
		    direct = name_of("x.corp.example");

	is_int(agent_policy_mode(a), POLICY_ENFORCE, "mode");
	ok(l->conns == 256 && l->half_open == 8 && l->new_conns == 50 &&
		   l->up == 2 << 20 && l->down == 0 &&
		   l->volume_up == 200 << 20 &&
		   l->volume_down == UINT64_C(20) << 30 && l->dns_qps == 50 &&
		   l->new_names == 200 && l->new_subdomains == 0 &&
		   l->on_limit == LIMIT_KILL,
	   "limits");
	ok(t->connect == 2000 && t->idle == 60000 && t->tunnel_max == 3600000 &&
		   t->request_header == 4000 && t->hello == 3000,
	   "timeouts");
	ok(tls->min_version == 0x0304 && tls->ech_allow && tls->no_sni_allow &&
		   tls->hello_max == 32768,
	   "tls");
	is_int(agent_policy_dns_ttl(a), 30, "ttl");
	is_int(agent_policy_hosts(a, &name, &addrs), 2, "hosts");
	is_int(agent_policy_hosts(a, &direct, &addrs), 0, "no hosts");
	proxy = agent_policy_upstream(a, &name);
	ok(proxy != NULL, "upstream proxy");
	if (proxy) {
		is_str(proxy->host, "proxy.corp.example", "host");
		is_int(proxy->port, 3128, "port");
		is_str(proxy->authorization, "Basic dXNlcjpwQHNz", "user");
	}
	ok(!agent_policy_upstream(a, &direct), "no_proxy");
	ok(agent_policy_expires(a) > 1700000000, "expires");
}

static void test_full(void)
{
	struct agent_policy *const *agents = NULL;
	const struct gate_settings *s;
	struct agent_policy *a;
	struct policy *p = NULL;
	struct lint lint = { 0 };
	struct err err = { 0 };
	struct buf out;
	char hash[65];

	if (!ok(policy_of(full, &p, &lint, &err) == 0, "all keys: %s", err.msg))
		return;
	s = policy_settings(p);
	is_int(s->dns_upstream.n, 2, "DNS servers");
	ok(!s->audit_on_full_deny && s->audit_max_bytes == 1 << 20 &&
		   s->audit_files == 3 &&
		   s->audit_events == (1u << AUDIT_DENY | 1u << AUDIT_DNS |
				       1u << AUDIT_ALARM),
	   "audit");
	policy_hash(p, hash);
	is_int(strspn(hash, "0123456789abcdef"), 64, "hash");
	is_int(policy_agents(p, &agents), 1, "one agent");
	a = agent_policy_ref(agents[0]);
	policy_unref(p); /* the agent keeps it alive */
	check_agent(a);
	buf_init(&out, 1 << 20);
	is_int(agent_policy_json(a, &out), 0, "JSON");
	ok(buf_has(&out, "\"names\":[\"xn--bcher-kva.example\"]"),
	   "N4 a U-label is shown as its A-label");
	ok(!buf_has(&out, "dXNl"), "no secret of the proxy is shown");
	buf_done(&out);
	ok(lint.n >= 1, "the linter said something");
	agent_policy_unref(a);
	lint_done(&lint);
}

static void hash_of(const char *text, char ret[65])
{
	struct policy *p = NULL;

	ret[0] = '\0';
	if (policy_of(text, &p, NULL, NULL) == 0)
		policy_hash(p, ret);
	policy_unref(p);
}

static void test_hash(void)
{
	char a[65], b[65];

	hash_of(V "deny: [ { id: a, names: [x.test] } ]\n", a);
	hash_of("# c\n" V "deny:\n- id: a\n  names: [ \"x.test\" ]\n", b);
	is_str(b, a, "format and comments do not count");
	hash_of(V "deny: [ { id: a, names: [y.test] } ]\n", b);
	ok(strcmp(a, b) != 0, "a name does");
	hash_of(V "deny: [ { id: a, names: [], ips: [192.0.2.1] } ]\n", b);
	ok(strcmp(a, b) != 0, "a key does");
}

static void put(const char *file, const char *text)
{
	ok(file_write_atomic(file, text, strlen(text), 0600) == 0, "%s", file);
}

static void test_folder(void)
{
	char dir[] = "/tmp/otter_policy_test.XXXXXX";
	const char *paths[] = { dir, NULL };
	struct policy *p = NULL;
	struct err err = { 0 };
	int fd;

	if (!ok(mkdtemp(dir) != NULL, "folder"))
		return;
	fd = open(dir, O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || chdir(dir) < 0)
		return;
	put("b.yaml", AGENT "  use: [late]\n");
	put("c.yaml", RULE "id: x }] } }\n");
	ok(policy_load(paths, &p, NULL, &err) < 0 &&
		   strstr(err.msg, "/c.yaml:2:"),
	   "the file is named: %s", err.msg);
	put("c.yaml", V "presets:\n  late:\n    rules:\n"
			"    - { id: x, names: [a.test] }\n");
	put("c.txt", "no policy");
	err.msg[0] = '\0';
	ok(policy_load(paths, &p, NULL, &err) == 0,
	   "an agent may use a preset of a later file: %s", err.msg);
	policy_unref(p);
	unlink("b.yaml");
	unlink("c.yaml");
	unlink("c.txt");
	close(fd);
	rmdir(dir);
	paths[0] = "/nonexistent/policy.yaml";
	is_int(policy_load(paths, &p, NULL, &err), -ENOENT, "a missing file");
}

static void test_agent_file(void)
{
	static const struct fault rows[] = {
		{ "", "a:1:1: the file says nothing" },
		{ V, "a:1:1: `agents` with one entry" },
		{ V "agents: []\n", "a:2:9: `agents` with one entry" },
		{ "agents: []\n", "a:1:1: `version: 1` is missing" },
		{ V "deny: []\n", "a:2:7: only `version` and `agents`" },
		{ AGENT "- id: y\n", "a:3:1: `agents` with one entry" },
		{ AGENT "  use: [web, web]\n", "a:5:14: 'web' is here twice" },
		{ AGENT "  use: [wob]\n",
		  "a:5:9: there is no preset 'wob'; there is: web" },
		{ AGENT "  allow: [ { id: a, names: [.com] } ]\n",
		  "a:5:29: com is a top-level domain" },
	};
	struct policy *p = NULL;
	struct agent_policy *a = NULL, *b = NULL;
	struct err err = { 0 };
	char ha[65], hb[65];

	if (policy_of(V "presets: { web: { rules: [ { id: a, names: [a.test] } "
			"] } }\n",
		      &p, NULL, &err) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int rc = agent_of_text(p, rows[i].text, &a, NULL, &err);

		ok(rc < 0 && strncmp(err.msg, rows[i].want,
				     strlen(rows[i].want)) == 0,
		   "agent file: %s", rows[i].want);
		if (strncmp(err.msg, rows[i].want, strlen(rows[i].want)) != 0)
			printf("# got %d %s\n", rc, err.msg);
	}
	if (agent_of_text(p, AGENT "  use: [web]\n", &a, NULL, &err) == 0 &&
	    agent_of_text(p, AGENT, &b, NULL, &err) == 0) {
		agent_policy_hash(a, ha);
		agent_policy_hash(b, hb);
		ok(strcmp(ha, hb) != 0, "agents have hashes of their own");
	}
	policy_unref(p);
	agent_policy_unref(a);
	agent_policy_unref(b);
}

int main(void)
{
	test_faults();
	test_full();
	test_hash();
	test_folder();
	test_agent_file();
	return done_testing();
}
