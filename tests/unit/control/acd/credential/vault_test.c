/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_test.c - which entries of the vault an instance may use
 */
#include "control/acd/credential/vault.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/file.h"
#include "tests/unit/control/acd/credential/vault_entries.h"
#include "tests/unit/tap.h"

#define VALUE "the-real-thing"

static int keep(struct vault *v, const char *name, const char *blueprint,
		const char *instance, uint64_t expires)
{
	struct vstore_entry *e = entry_new("api.example", VALUE);
	struct err err = { 0 };

	if ((blueprint && strv_push(&e->blueprints, blueprint) < 0) ||
	    (instance && strv_push(&e->instances, instance) < 0))
		abort();
	snprintf(e->name, sizeof(e->name), "%s", name);
	snprintf(e->field, sizeof(e->field), "X-Key");
	e->expires = expires;
	return vstore_put(vault_store(v), e, true, &err);
}

static void test_choice(struct vault *v)
{
	static const struct {
		const char *name, *blueprint, *instance;
		int want;
		const char *why;
	} rows[] = {
		{ "any", "claude", "one", 1, "" },
		{ "bp", "claude", "one", 1, "" },
		{ "bp", "base", "one", -EACCES, "not for blueprint 'base'" },
		{ "in", "claude", "ci-7", 1, "" },
		{ "in", "claude", "one", -EACCES, "not for instance 'one'" },
		{ "late", "claude", "one", -EKEYEXPIRED, "has expired" },
		{ "none", "claude", "one", -ENOENT, "ac vault add none" },
	};
	const struct vstore_entry *got[2];

	ok(keep(v, "any", NULL, NULL, 0) == 0 &&
		   keep(v, "bp", "claude", NULL, 0) == 0 &&
		   keep(v, "in", NULL, "ci-*", 0) == 0 &&
		   keep(v, "late", NULL, NULL, 1) == 0,
	   "entries");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *const names[] = { rows[i].name, NULL };
		struct err err = { 0 };

		is_int(vault_for_instance(v, names, rows[i].blueprint,
					  rows[i].instance, got, 2, &err),
		       rows[i].want, "%s for %s, %s", rows[i].name,
		       rows[i].blueprint, rows[i].instance);
		ok(strstr(err.msg, rows[i].why) != NULL, "says '%s'", err.msg);
	}
	{
		const char *const names[] = { "bp", "any", NULL };
		const char *const more[] = { "bp", "any", "any", NULL };
		struct err err = { 0 };

		is_int(vault_for_instance(v, names, "claude", "x1", got, 2,
					  &err),
		       2, "two");
		ok(strcmp(got[0]->name, "bp") == 0 &&
			   strcmp(got[1]->value, VALUE) == 0,
		   "in their order, with their values");
		is_int(vault_for_instance(v, more, "claude", "x1", got, 2,
					  &err),
		       -E2BIG, "no more than there is room");
		is_int(vault_for_instance(v, names + 2, "a", "b", got, 2, &err),
		       0, "none at all");
	}
}

int main(void)
{
	char dir[] = "/tmp/vault-test.XXXXXX", path[64];
	struct err err = { 0 };
	struct vault *v;

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/vault", dir);
	v = vault_new(path, getuid(), "/no-machine.yaml", &err);
	if (ok(v != NULL, "a vault %s", err.msg))
		test_choice(v);
	vault_free(v);
	file_remove_tree(dir);
	return done_testing();
}
