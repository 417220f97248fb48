/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grants_missing_test.c - credentials that a blueprint names and the vault does
 * not have
 */
#include "control/acd/instance/grant/grants.h"

#include <sodium.h>
#include <string.h>

#include "control/acd/credential/vault.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/grants_missing_test.XXXXXX";
static char name[] = "one", blueprint[] = "base", runsc[] = "runsc";

static void put(struct vault *vault, const char *id, const char *instance)
{
	static const char real[] = "github_pat_real_value_0123456789";
	struct vstore_entry *e = vstore_entry_new();
	struct err err = { 0 };

	if (!e || strv_push(&e->hosts, "github.com") < 0 ||
	    (instance && strv_push(&e->instances, instance) < 0) ||
	    vstore_entry_set_value(e, real, strlen(real)) < 0)
		abort();
	snprintf(e->name, sizeof(e->name), "%s", id);
	e->kind = SECRET_GITHUB;
	ok(vstore_put(vault_store(vault), e, true, &err) == 0, "put %s", id);
}

static struct instance_record record(char *credentials)
{
	return (struct instance_record){ .name = name,
					 .blueprint = blueprint,
					 .isolation = runsc,
					 .credentials_json = credentials };
}

static void test_missing(struct grants *g)
{
	static const struct {
		const char *blueprint, *own, *without, *want; /* NULL: none */
		int may;
	} rows[] = {
		{ "[]", NULL, "", NULL, 0 },
		{ "[\"github\"]", NULL, "", NULL, 0 },
		{ "[\"github\",\"nix\"]", NULL, "", "nix", 0 },
		{ "[\"nix\"]", "[\"github\"]", "", "nix", 0 },
		{ "[\"nix\",\"nix2\"]", NULL, "nix", "nix2", 0 },
		{ "[\"nix\"]", NULL, "nix", NULL, 0 },
		{ "[\"nix\"]", "[\"none\"]", "", NULL, 0 },
		/* What the instance names was typed: it is refused. */
		{ "[\"nix\"]", "[\"nix\"]", "", NULL, -ENOENT },
		{ "[\"nix\"]", "[\"nix2\"]", "", "nix", -ENOENT },
		/* It is there, but not for this one. */
		{ "[\"scoped\"]", NULL, "", NULL, -EACCES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON list = json_loads(rows[i].blueprint, 0, NULL);
		SCOPED_STR own = rows[i].own ? strdup(rows[i].own) : NULL;
		struct instance_record r = record(own);
		struct blueprint bp = { 0 };
		struct strv without = { 0 };
		struct err err = { 0 };
		const char *got;

		if (credentials_parse(list, &bp.credentials, &err) < 0 ||
		    strv_push(&without, rows[i].without) < 0)
			abort();
		got = grants_missing(g, &r, &bp, &without);
		is_str(got ? got : "none", rows[i].want ? rows[i].want : "none",
		       "missing %zu", i);
		is_int(grants_may(g, &r, &bp, &err), rows[i].may,
		       "whether it may: %s", err.msg);
		strv_done(&without);
		credentials_done(&bp.credentials);
	}
}

int main(void)
{
	struct err err = { 0 };
	struct vault *vault;
	struct grants *g;

	if (sodium_init() < 0 || !mkdtemp(dir))
		return 1;
	vault = vault_new(dir, getuid(), NULL, &err);
	g = grants_new(vault, "blueprints/credentials", &err);
	if (!ok(vault && g, "a vault %s", err.msg))
		return done_testing();
	put(vault, "github", NULL);
	put(vault, "scoped", "other");
	test_missing(g);
	grants_free(g);
	vault_free(vault);
	file_remove_tree(dir);
	return done_testing();
}
