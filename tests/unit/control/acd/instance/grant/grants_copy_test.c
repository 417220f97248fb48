/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grants_copy_test.c - a grant for an instance that goes on from a memory
 */
#include "control/acd/instance/grant/grants.h"

#include <sodium.h>
#include <string.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/credential/vault.h"
#include "lib/file.h"
#include "tests/unit/tap.h"

#define ANSWER "{\"cert\":\"CERT\",\"bundle\":\"CERT+KEY\"}"

static char dir[] = "/tmp/grants_copy_test.XXXXXX";
static char one[] = "one", two[] = "two", base[] = "base", runsc[] = "runsc";
static char address[] = "172.20.1.7";
static char both[] =
	"[\"any\", {\"name\": \"scoped\", \"env\": \"OTHER_KEY\"}]";
static const struct blueprint bp;
static struct vault *vault;
static struct err err;

static void put(const char *name, const char *host, const char *instance)
{
	struct vstore_entry *e = vstore_entry_new();

	if (!e || strv_push(&e->hosts, host) < 0 ||
	    (instance && strv_push(&e->instances, instance) < 0) ||
	    vstore_entry_set_value(e, "real-value", 10) < 0)
		abort();
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->kind = SECRET_OPENAI;
	if (vstore_put(vault_store(vault), e, true, &err) < 0)
		ok(false, "put: %s", err.msg);
}

static struct instance_record record(char *name)
{
	return (struct instance_record){ .name = name,
					 .blueprint = base,
					 .isolation = runsc,
					 .address = address,
					 .credentials_json = both };
}

/* Binds @name, and says in *ret_n how many credentials the gateway gets. Returns
 * the text of the first. */
static json_t *bound(struct grants *g, char *name, size_t *ret_n)
{
	struct instance_record r = record(name);
	struct secret_bytes json = { 0 };
	json_t *v = NULL, *first = NULL;

	if (grants_bind(g, &r, &bp, &json, &err) == 0 && json.len > 0)
		v = json_loadb(json.p, json.len, 0, NULL);
	secret_bytes_done(&json);
	first = json_deep_copy(v);
	*ret_n = json_array_size(json_object_get(v, "secrets"));
	json_decref(v);
	return first;
}

static void test_copy(struct grants *g)
{
	size_t n = 0, its = 0;
	json_t *a, *b, *saved;
	struct slice ca = { 0 };

	a = bound(g, one, &n);
	is_int(grants_take_ca(g, one, ANSWER, strlen(ANSWER)), 0, "a CA");
	is_int(grants_take_owed_ca(g, one, &ca), false,
	       "which came from the gateway");
	saved = grants_save(g, one);
	is_int(grants_load(g, two, base, saved, &err), 0, "given to another %s",
	       err.msg);
	ok(!grants_lacks_ca(g, two), "it has the same CA");
	b = bound(g, two, &its);
	ok(a && b &&
		   strcmp(json_string_value(json_object_get(a, "key")),
			  json_string_value(json_object_get(b, "key"))) == 0,
	   "and the same key");
	is_int((long long)n, 2, "one credential is for the first alone:");
	is_int((long long)its, 1, "the other does not get it");
	ok(grants_take_owed_ca(g, two, &ca) && ca.len == strlen("CERT+KEY"),
	   "its CA is to be given to the gateway,");
	is_int(grants_take_owed_ca(g, two, &ca), false, "once");
	ok(grants_revoke(g, two, "any"), "what is revoked for it");
	ok(grants_revoke(g, one, "any"), "was not for the first");
	json_decref(a);
	json_decref(b);
	json_decref(saved);
	grants_unbind(g, one);
	grants_unbind(g, two);
}

static void test_none(struct grants *g)
{
	json_t *v = grants_save(g, one);

	ok(json_is_null(v), "a run without a grant has none");
	is_int(grants_load(g, two, base, v, &err), 0, "nor has the other");
	ok(!grants_of(g, two), "then");
	json_decref(v);
}

static void test_damaged(struct grants *g)
{
	static const char *const rows[] = {
		"{}",
		"{\"key\":\"00\",\"credentials\":[],\"revoked\":[]}",
		"[]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *v = json_loads(rows[i], 0, NULL);

		ok(grants_load(g, two, base, v, &err) < 0, "refused: %s",
		   rows[i]);
		ok(!grants_of(g, two), "and nothing is left");
		json_decref(v);
	}
}

int main(void)
{
	struct grants *g;

	if (sodium_init() < 0 || !mkdtemp(dir))
		return 1;
	vault = vault_new(dir, getuid(), NULL, &err);
	g = grants_new(vault, "blueprints/credentials", &err);
	if (!ok(vault && g, "a vault %s", err.msg))
		return done_testing();
	put("any", "api.any.test", NULL);
	put("scoped", "api.scoped.test", one);
	test_copy(g);
	test_none(g);
	test_damaged(g);
	grants_free(g);
	vault_free(vault);
	file_remove_tree(dir);
	return done_testing();
}
