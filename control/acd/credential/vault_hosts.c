/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_hosts.c - where a token of a kind is meant to go
 *
 * Services that have one place in the world are named here. Package registries
 * are the machine's own business: the preset `packages`, which set-up writes
 * from what its clients are set to, has rules "npm-1", "pip-2", … for them.
 */
#include "control/acd/credential/vault.h"

#include <string.h>

#include "control/acd/credential/vault_impl.h"
#include "control/shared/yaml_tree.h"
#include "lib/file.h"

#define MACHINE_MAX (256u * 1024)

static const struct {
	enum secret_kind kind;
	const char *host;
} known[] = {
	{ SECRET_GITHUB, "github.com" },
	{ SECRET_GITHUB, "api.github.com" },
	{ SECRET_GITHUB, "uploads.github.com" },
	{ SECRET_GITLAB, "gitlab.com" },
	{ SECRET_ANTHROPIC, "api.anthropic.com" },
	{ SECRET_OPENAI, "api.openai.com" },
	{ SECRET_GEMINI, "generativelanguage.googleapis.com" },
};

static const struct yaml_node *child(const struct yaml_node *n, const char *key)
{
	for (n = n && n->kind == YAML_MAP ? n->first : NULL; n; n = n->next)
		if (strcmp(n->key, key) == 0)
			return n;
	return NULL;
}

/* The names of the rules of @client that are for TLS. */
static int hosts_of(const struct yaml_node *root, const char *client,
		    struct strv *out)
{
	const struct yaml_node *rule =
		child(child(child(root, "presets"), "packages"), "rules");
	int r = 0;

	rule = rule && rule->kind == YAML_LIST ? rule->first : NULL;
	for (; r == 0 && rule; rule = rule->next) {
		const struct yaml_node *id = child(rule, "id");
		const struct yaml_node *names = child(rule, "names");
		const struct yaml_node *ports = child(rule, "ports");
		size_t len = strlen(client);

		if (!id || id->kind != YAML_SCALAR ||
		    strncmp(id->text, client, len) != 0 ||
		    id->text[len] != '-' || !names || !names->first || !ports ||
		    !ports->first || names->first->kind != YAML_SCALAR ||
		    ports->first->kind != YAML_SCALAR ||
		    strcmp(ports->first->text, "443") != 0)
			continue;
		if (!strv_has(out, names->first->text))
			r = strv_push(out, names->first->text);
	}
	return r;
}

/* A file that cannot be read has no hosts: the user is asked then. */
static int machine_hosts(const char *file, const char *client, struct strv *out)
{
	struct yaml_tree tree = { 0 };
	struct err ignored = { 0 };
	SCOPED_STR text = NULL;
	size_t len = 0;
	int r = 0;

	if (!file || file_read(file, MACHINE_MAX, &text, &len) < 0)
		return 0;
	if (yaml_tree_parse(text, len, file, &tree, &ignored) == 0)
		r = hosts_of(tree.root, client, out);
	yaml_tree_done(&tree);
	return r;
}

/* A token is for one registry: of several the user has to choose. */
static int registry_host(const char *machine, enum secret_kind kind,
			 struct strv *ret, struct err *err)
{
	const char *client = kind == SECRET_NPM ? "npm" : "pip";
	struct strv found = { 0 };
	int r = machine_hosts(machine, client, &found);

	if (r == 0 && found.n == 1)
		r = strv_push(ret, found.v[0]);
	if (r < 0)
		err_nomem(err);
	else if (found.n == 0)
		r = err_set(err, -EINVAL,
			    "which registry is it for? --host names it");
	else if (found.n > 1)
		r = err_set(err, -EINVAL,
			    "which registry is it for? --host names it; this "
			    "machine's %s uses %s and %s%s",
			    client, found.v[0], found.v[1],
			    found.n > 2 ? ", …" : "");
	strv_done(&found);
	return r;
}

int vault_default_hosts(const char *machine, enum secret_kind kind,
			struct strv *ret, struct err *err)
{
	int r = 0;

	if (kind == SECRET_NPM || kind == SECRET_PYPI)
		return registry_host(machine, kind, ret, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(known); i++)
		if (known[i].kind == kind)
			r = strv_push(ret, known[i].host);
	if (r < 0)
		return err_nomem(err);
	if (ret->n == 0)
		return err_set(err, -EINVAL,
			       "which host may it be sent to? --host names it");
	return 0;
}
