/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_uses_test.c - who uses an entry of the vault, and how the vault is
 */
#include "control/acd/api/vault_uses.h"

#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/vault_uses_test.XXXXXX";
static char shipped[64], vault_dir[64];

static void blueprint_make(const char *name, const char *text)
{
	SCOPED_STR folder = str_printf("%s/%s", shipped, name);
	SCOPED_STR file = str_printf("%s/blueprint.yaml", folder);

	if (mkdir(folder, 0700) < 0 ||
	    file_replace(file, text, strlen(text), 0600) < 0)
		abort();
}

static void record_put(struct store *s, const char *name, const char *blueprint,
		       const char *credentials)
{
	static char runsc[] = "runsc", env[] = "[]";
	struct instance_record r = { .isolation = runsc,
				     .env_json = env,
				     .exit_code = -1 };
	struct err err = { 0 };

	r.name = strdup(name);
	r.blueprint = strdup(blueprint);
	r.credentials_json = credentials ? strdup(credentials) : NULL;
	ok(store_insert(s, &r, &err) == 0, "%s is stored %s", name, err.msg);
	free(r.name);
	free(r.blueprint);
	free(r.credentials_json);
	free(r.address);
}

static char *users(const json_t *uses, const char *name)
{
	const json_t *list = json_object_get(uses, name);

	return list ? json_dumps(list, JSON_COMPACT) : strdup("none");
}

static void test_uses(void)
{
	SCOPED_STR path = str_printf("%s/ac.db", dir);
	struct store *s = NULL;
	struct err err = { 0 };
	SCOPED_JSON uses = NULL;
	SCOPED_STR gh = NULL;
	SCOPED_STR ci = NULL;
	SCOPED_STR odd = NULL;

	if (!ok(store_open(path, &s, &err) == 0, "a store %s", err.msg))
		return;
	record_put(s, "a", "plain", "[\"ci\"]");
	record_put(s, "b", "forge", NULL);
	record_put(s, "c", "forge", "[\"none\",\"ci\"]");
	record_put(s, "d", "forge", "[{\"name\":\"gh\",\"env\":\"X\"}]");
	record_put(s, "e", "gone", "[\"ci\"]");
	record_put(s, "f", "plain", "[");
	uses = vault_uses(s, &err);
	gh = users(uses, "gh");
	ci = users(uses, "ci");
	odd = users(uses, "odd");
	is_str(gh, "[\"b\",\"d\"]", "by the blueprint, or both");
	is_str(ci, "[\"a\",\"c\",\"e\"]", "by itself");
	is_str(odd, "none", "nobody");
	json_decref(uses);
	uses = vault_uses(NULL, &err);
	is_int(uses ? json_object_size(uses) : 9, 0, "without a store");
	store_close(s);
}

static struct vstore_entry *entry(const char *name, uint64_t expires)
{
	struct vstore_entry *e = vstore_entry_new();

	if (!e || strv_push(&e->hosts, "api.example.org") < 0 ||
	    vstore_entry_set_value(e, "0123456789", 10) < 0)
		abort();
	snprintf(e->name, sizeof(e->name), "%s", name);
	snprintf(e->field, sizeof(e->field), "X-Key");
	e->expires = expires;
	return e;
}

static void test_scopes(void)
{
	static const char *const scopes[] = { "plain", "for*", "nope", "x?" };
	struct vstore_entry *e = entry("gh", 0);
	SCOPED_JSON none = vault_scope_warnings(e);
	SCOPED_JSON some = NULL;

	is_int(json_array_size(none), 0, "for all");
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (strv_push(&e->blueprints, scopes[i]) < 0)
			abort();
	some = vault_scope_warnings(e);
	is_int(json_array_size(some), 2, "two that nothing fits");
	is_str(json_string_value(json_array_get(some, 0)),
	       "credential 'gh' is for blueprint 'nope', which is not there: "
	       "`ac list` shows those that are",
	       "in words");
	vstore_entry_free(e);
}

static void state_is(struct vault *v, const char *state, const char *key,
		     int entries, int expired)
{
	SCOPED_JSON j = vault_state_json(v);

	is_str(jsonx_text_at(j, "state"), state, "it is %s", state);
	is_str(jsonx_text_at(j, "key"), key, "its key");
	is_int(json_integer_value(json_object_get(j, "entries")), entries,
	       "how many");
	is_int(json_integer_value(json_object_get(j, "expired")), expired,
	       "expired");
	is_int(*jsonx_text_at(j, "reason") != '\0',
	       strcmp(state, "locked") == 0 || strcmp(state, "unusable") == 0,
	       "a reason: '%s'", jsonx_text_at(j, "reason"));
}

static void test_state(void)
{
	struct vstore_pass pass = { 0 };
	SCOPED_STR file = str_printf("%s/store", vault_dir);
	struct err err = { 0 };
	struct vault *v = vault_new(vault_dir, getuid(), NULL, &err);

	if (!ok(v != NULL, "a vault %s", err.msg))
		return;
	state_is(NULL, "unusable", "", 0, 0);
	state_is(v, "empty", "", 0, 0);
	is_int(vstore_put(vault_store(v), entry("a", 0), false, &err), 0,
	       "one %s", err.msg);
	is_int(vstore_put(vault_store(v), entry("b", 1), false, &err), 0,
	       "an old one %s", err.msg);
	state_is(v, "open", "file", 2, 1);
	vstore_head_new(VSTORE_PASSPHRASE, &pass.head);
	is_int(vstore_key_derive(&pass.head, slice_str("horse"), pass.key), 0,
	       "a key");
	is_int(vstore_reseal(vault_store(v), &pass, &err), 0, "resealed %s",
	       err.msg);
	state_is(v, "open", "passphrase", 2, 1);
	is_int(vstore_lock(vault_store(v), &err), 0, "locked %s", err.msg);
	state_is(v, "locked", "passphrase", 0, 0);
	is_int(file_replace(file, "acvault\nno", 10, 0600), 0, "damaged");
	state_is(v, "unusable", "passphrase", 0, 0);
	vault_free(v);
}

int main(void)
{
	if (sodium_init() < 0 || !mkdtemp(dir))
		return 1;
	snprintf(shipped, sizeof(shipped), "%s/blueprints", dir);
	snprintf(vault_dir, sizeof(vault_dir), "%s/vault", dir);
	if (mkdir(shipped, 0700) < 0)
		return 1;
	blueprint_set_dirs("/nonexistent", shipped);
	blueprint_make("plain", "version: 1\ndescription: x\nimage: "
				"base\ncommand: [sh]\nshell: [sh]\n");
	blueprint_make("forge",
		       "version: 1\ndescription: x\nimage: base\ncommand: "
		       "[sh]\nshell: [sh]\ncredentials: [gh]\n");
	test_uses();
	test_scopes();
	test_state();
	file_remove_tree(dir);
	return done_testing();
}
