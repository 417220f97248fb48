/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_test.c - the schema of policies: what the loader's tables say, what
 * every shipped file fits, and no broken one as far as a schema can say it
 */
#include <dirent.h>

#include "ottergate/yaml.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#include "tests/unit/schema_check.h"

#define V "version: 1\n"
#define RULE(words)                                                   \
	V "presets: { p: { rules: [ { id: r, names: [a.test], " words \
	  " } ] } }\n"
#define AGENT(words) \
	V "agents: [ { id: a, match: { address: 172.20.0.9 }, " words " } ]\n"

static json_t *schema;

/* 1 and 0: the schema takes it or does not; negative: it is no YAML of ours. */
static int schema_takes(const char *text, size_t len)
{
	struct yaml_tree d = { 0 };
	struct err err = { 0 };
	int rc = yaml_tree_parse(text, len, "f", &yaml_policy, &d, &err);

	if (rc == 0) {
		json_t *v = json_of_node(d.root);

		rc = check_value(schema, v);
		json_decref(v);
	}
	yaml_tree_done(&d);
	return rc;
}

static int loader_takes(const char *path)
{
	const char *const paths[] = { path, NULL };
	struct policy *p = NULL;
	struct err err = { 0 };
	int rc = policy_load(paths, &p, NULL, &err);

	if (rc < 0)
		return 0;
	policy_unref(p);
	return 1;
}

/* Whatever the loader takes fits; @all: it takes all. */
static void test_file(const char *path, bool all)
{
	SCOPED_STR text = NULL;
	size_t len = 0;
	int fits;

	if (!is_int(file_read(path, 1024 * 1024, &text, &len), 0, "%s", path))
		return;
	fits = schema_takes(text, len);
	if (all)
		is_int(fits, 1, "it fits");
	else
		ok(fits == 1 || !loader_takes(path),
		   "what the loader takes fits (%d)", fits);
}

static void test_folder(const char *dir, bool all)
{
	SCOPED_DIR d = opendir(dir);
	char path[512];
	unsigned n = 0;

	ok(d != NULL, "%s", dir);
	if (!d)
		return;
	for (struct dirent *e = readdir(d); e; e = readdir(d)) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		test_file(path, all);
		n++;
	}
	ok(n > 0, "there are some in %s", dir);
}

static const char *const broken[] = {
	"deny: []\n",
	"version: 2\n",
	"version: [1]\n",
	V "defalts: {}\n",
	V "defaults: []\n",
	V "defaults: { mode: strict }\n",
	V "defaults: { ports: 443 }\n",
	V "defaults: { ports: [] }\n",
	V "defaults: { ports: [0] }\n",
	V "defaults: { ports: [65536] }\n",
	V "defaults: { ports: [http] }\n",
	V "defaults: { tls: { min: 1.1 } }\n",
	V "defaults: { tls: { hello_max: 12 } }\n",
	V "defaults: { tls: { hello_max: 8 kilobytes } }\n",
	V "defaults: { tls: { hello_deadline: soon } }\n",
	V "defaults: { dns: { ttl: 0 } }\n",
	V "defaults: { dns: { ttl: 3601 } }\n",
	V "defaults: { dns: { types: [MX] } }\n",
	V "defaults: { dns: { upstream: [\"tls://9.9.9.9\"] } }\n",
	V "audit: { events: [nothing] }\n",
	V "audit: { fields: { body: none } }\n",
	V "audit: { files: 101 }\n",
	V "metrics: { per_agent: true }\n",
	V "inspect: { host_must_equal_sni: false }\n",
	V "inspect: { ca: { per: machine } }\n",
	V "upstream_proxy: { no_proxy: [a.test] }\n",
	V "upstream_proxy: { url: \"https://proxy.test:1\" }\n",
	V "credentials: { a: { kind: bearer } }\n",
	V "credentials: { \"-a\": {} }\n",
	V "hosts: { a.test: [] }\n",
	V "hosts: { a.test: [somewhere] }\n",
	V "deny: [ { names: [a.test] } ]\n",
	V "deny: [ { id: d, names: a.test } ]\n",
	V "deny: [ { id: d, names: [\"*.test\"] } ]\n",
	V "deny: [ { id: d, ips: [\"10.0.0.0/8/9\"] } ]\n",
	V "deny: [ { id: d, names: [a.test], use: inspect } ]\n",
	V "services: [ { id: s, name: db.test, port: 1 } ]\n",
	V "services: [ { id: s, name: .db.test, ip: 10.0.0.1, port: 1 } ]\n",
	V "services: [ { id: s, name: db.test, ip: 10.0.0.1, port: 0 } ]\n",
	V "presets: { p: { rules: {} } }\n",
	V "presets: { p: { about: [no, text] } }\n",
	RULE("use: tunel"),
	RULE("proto: udp"),
	RULE("websocket: 1"),
	RULE("websocket: \"true\""),
	RULE("risk_ok: [all]"),
	RULE("methods: [get]"),
	RULE("paths: [v1]"),
	RULE("paths: [\"/v1?x\"]"),
	RULE("http: { allow: [] }"),
	RULE("http: { allow: [ { graphql: some } ] }"),
	RULE("http: { deny: [ { body_max: 1k } ] }"),
	RULE("http: { within: [ { push: true } ] }"),
	RULE("stream: { sse: false }"),
	RULE("response: { redact: none }"),
	RULE("upload: { body_max: much }"),
	RULE("limits: { requests: 60 }"),
	RULE("limits: { tokens_header: x }"),
	AGENT("mode: off"),
	AGENT("use: p"),
	AGENT("limits: { conns: 0 }"),
	AGENT("limits: { new_conns: 10 }"),
	AGENT("limits: { new_conns: 10/m }"),
	AGENT("limits: { bandwidth: { up: fast } }"),
	AGENT("limits: { volume: { both: 1m/h } }"),
	AGENT("limits: { dns: { qps: none, new_names: 5 } }"),
	AGENT("limits: { memory: 16 }"),
	AGENT("on_limit: warn"),
	AGENT("expires: tomorrow"),
	V "agents: [ { id: a } ]\n",
	V "agents: [ { match: { address: 172.20.0.9 } } ]\n",
};

static void test_broken(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct policy *p = NULL;
		struct err err = { 0 };

		is_int(schema_takes(broken[i], strlen(broken[i])), 0,
		       "broken %zu does not fit", i);
		ok(policy_of(broken[i], &p, NULL, &err) < 0, "nor does %s",
		   err.msg);
		policy_unref(p);
	}
}

int main(void)
{
	schema = schema_shipped("blueprints/policy.schema.json", &policy_schema,
				POLICY_SCHEMA_TITLE);
	if (ok(schema != NULL, "the shipped schema is JSON")) {
		test_folder("blueprints/presets/egress", true);
		test_file("tests/attack/policy.yaml", true);
		test_folder("tests/fuzz/corpus/ottergate/policy", false);
		test_broken();
	}
	json_decref(schema);
	return done_testing();
}
