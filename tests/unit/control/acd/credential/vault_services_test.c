/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_services_test.c - credentials for services: by name and port, in clear
 * only if that was said
 *
 * The rules are judged by the gateway's own loader and decision.
 */
#include "control/acd/credential/vault.h"

#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "control/acd/credential/rules.h"
#include "control/acd/net/services.h"
#include "lib/file.h"
#include "ottergate/policy/load.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/vault_services_test.XXXXXX";
static char list[64];

static void service(const char *text)
{
	json_t *body = json_loads(text, 0, NULL);
	struct service s;
	struct err err = { 0 };

	if (service_parse(body, &s, &err) < 0 || services_add(&s, &err) < 0)
		ok(false, "%s: %s", text, err.msg);
	json_decref(body);
}

static void services(void)
{
	struct err err = { 0 };

	unlink(list);
	if (services_open(list, &err) < 0)
		ok(false, "%s", err.msg);
	service("{\"name\":\"llm\",\"address\":\"10.1.2.3\",\"port\":11434}");
	service("{\"name\":\"gw\",\"address\":\"10.1.2.4\",\"port\":8443,"
		"\"host\":\"gw.corp.example\",\"proto\":\"tls\"}");
	service("{\"name\":\"web\",\"address\":\"10.1.2.5\",\"port\":443,"
		"\"host\":\"web.corp.example\",\"proto\":\"tls\"}");
	service("{\"name\":\"db\",\"address\":\"10.1.2.6\",\"port\":5432,"
		"\"proto\":\"tcp\"}");
}

/* A credential for @host, or NULL with *ret_err. */
static struct vstore_entry *entry(struct vault *v, const char *host,
				  bool insecure, struct err *err)
{
	json_t *body = json_pack("{s:s, s:s, s:s, s:[s], s:b}", "name", "key",
				 "kind", "openai", "value",
				 "c2stcHJvai0wMTIzNDU2Nzg5YWJjZGVm", "hosts",
				 host, "insecure", insecure);
	struct vstore_entry *e = NULL;

	if (vault_entry_parse(v, body, &e, err) < 0)
		e = NULL;
	json_decref(body);
	return e;
}

static void test_hosts(struct vault *v)
{
	static const struct {
		const char *host;
		bool insecure;
		const char *want, *why; /* one of them */
	} rows[] = {
		{ "llm", true, "llm.internal:11434", NULL },
		{ "LLM.internal:11434", true, "llm.internal:11434", NULL },
		{ "llm", false, NULL, "--insecure" },
		{ "llm.internal:11434", false, NULL, "plain http" },
		{ "llm.internal", true, NULL, "llm.internal:11434" },
		{ "llm.internal:11435", true, NULL, "is no service" },
		{ "llm.internal:011434", true, NULL, "is no host" },
		{ "llm.internal:99999", true, NULL, "is no host" },
		{ "gw", false, "gw.corp.example:8443", NULL },
		{ "gw", true, NULL, "--insecure is for a service" },
		{ "web.corp.example", false, "web.corp.example", NULL },
		{ "db", false, NULL, "any bytes" },
		{ "api.openai.com", false, "api.openai.com", NULL },
		{ "api.openai.com", true, NULL, "--insecure is for a service" },
		{ "api.openai.com:8443", false, NULL, "is no service" },
		{ "10.1.2.3:11434", true, NULL, "is an address" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		struct vstore_entry *e =
			entry(v, rows[i].host, rows[i].insecure, &err);

		if (rows[i].want)
			is_str(e ? e->hosts.v[0] : err.msg, rows[i].want,
			       "%s is taken", rows[i].host);
		else if (!ok(!e && strstr(err.msg, rows[i].why),
			     "%s is refused: %s", rows[i].host, rows[i].why))
			printf("# %s\n", err.msg);
		vstore_entry_free(e);
	}
}

/* ---- its rules ---- */

/* The policy of an agent with services and the rules of @e; NULL with *err. */
static struct agent_policy *agent(const struct credential_kinds *kinds,
				  const struct vstore_entry *e,
				  struct policy *p, struct err *err)
{
	struct credential c = { .name = (char *)(uintptr_t)e->name };
	struct agent_policy *a = NULL;
	struct lint lint = { 0 };
	struct buf out;
	struct slice s;

	buf_init(&out, 1 << 16);
	if (buf_printf(&out,
		       "version: 1\nagents:\n  - id: a\n"
		       "    match: { address: 172.20.0.9 }\n"
		       "    services:\n"
		       "      - { id: s, name: llm.internal, ip: 10.1.2.3,"
		       " port: 11434, proto: http }\n"
		       "      - { id: g, name: gw.corp.example, ip: "
		       "10.1.2.4, port: 8443, proto: tls }\n"
		       "    allow:\n") == 0 &&
	    credential_rules(kinds, e, &c, PUSH_ASK, 1, &out, err) == 0) {
		s = buf_slice(&out);
		policy_load_agent(p, (const char *)s.ptr, s.len, "a", &a, &lint,
				  err);
	}
	buf_done(&out);
	lint_done(&lint);
	return a;
}

static const char *verdict(const struct agent_policy *a, const char *host,
			   uint16_t port, enum path path)
{
	struct name n = { 0 };
	struct request rq = { .path = path, .name = &n, .port = port };
	struct verdict v;

	if (!a || name_canon(slice_str(host), &n) < 0)
		return "?";
	v = decide(a, &rq);
	return !v.allow                     ? reason_code(v.reason) :
	       v.rule && v.rule->credential ? v.rule->credential :
					      "without";
}

static void test_rules(struct vault *v)
{
	static const char *const none[] = { NULL };
	struct credential_kinds *kinds = NULL;
	struct policy *p = NULL;
	struct agent_policy *a;
	struct vstore_entry *e;
	struct err err = { 0 };

	if (!ok(credential_kinds_load("blueprints/credentials", &kinds, &err) ==
				0 &&
			policy_load(none, &p, NULL, &err) == 0,
		"kinds and a policy: %s", err.msg))
		return;
	e = entry(v, "llm", true, &err);
	ok(e && strv_push(&e->hosts, "gw.corp.example:8443") == 0,
	   "one for two services");
	a = e ? agent(kinds, e, p, &err) : NULL;
	ok(a != NULL, "a policy with it: %s", err.msg);
	is_str(verdict(a, "llm.internal", 11434, PATH_HTTP), "key",
	       "in clear, at its port");
	is_str(verdict(a, "llm.internal", 11434, PATH_TLS), "proto",
	       "by TLS: it does not speak that");
	is_str(verdict(a, "llm.internal", 443, PATH_TLS), "port",
	       "not at another port");
	is_str(verdict(a, "gw.corp.example", 8443, PATH_TLS), "key",
	       "the other by TLS");
	is_str(verdict(a, "gw.corp.example", 8443, PATH_HTTP), "proto",
	       "and not in clear");
	agent_policy_unref(a);
	/* The service is another now. */
	services_remove("llm", &err);
	err = (struct err){ 0 };
	a = e ? agent(kinds, e, p, &err) : NULL;
	ok(!a && strstr(err.msg, "no service any more"), "it is gone: %s",
	   err.msg);
	service("{\"name\":\"llm\",\"address\":\"10.1.2.3\",\"port\":11434,"
		"\"proto\":\"tcp\"}");
	err = (struct err){ 0 };
	a = e ? agent(kinds, e, p, &err) : NULL;
	ok(!a && strstr(err.msg, "has changed"), "it takes none: %s", err.msg);
	vstore_entry_free(e);

	err = (struct err){ 0 };
	e = entry(v, "gw", false, &err);
	a = e ? agent(kinds, e, p, &err) : NULL;
	is_str(verdict(a, "gw.corp.example", 8443, PATH_TLS), "key", "by TLS");
	is_str(verdict(a, "gw.corp.example", 8443, PATH_HTTP), "proto",
	       "not in clear");
	agent_policy_unref(a);
	vstore_entry_free(e);
	policy_unref(p);
	credential_kinds_free(kinds);
}

int main(void)
{
	struct err err = { 0 };
	struct vault *v;

	if (sodium_init() < 0 || !mkdtemp(dir))
		return 1;
	snprintf(list, sizeof(list), "%s/services.json", dir);
	v = vault_new(dir, getuid(), NULL, &err);
	services();
	if (ok(v != NULL, "a vault: %s", err.msg)) {
		test_hosts(v);
		test_rules(v);
	}
	vault_free(v);
	services_close();
	file_remove_tree(dir);
	return done_testing();
}
