/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_keys.c - the key `credentials` of a blueprint
 *
 *	credentials: [github, { name: ci, env: CI_TOKEN, git: { push: ask } }]
 */
#include "control/acd/blueprint/credential_keys.h"

#include <string.h>

#include "lib/str.h"

struct place {
	const struct yaml_tree *tree;
	struct credential *c;
	struct err *err;
};

struct key {
	const char *name;
	int (*fn)(const struct place *p, const struct yaml_node *n);
};

static int refuse(const struct place *p, const struct yaml_node *n,
		  const char *text)
{
	return yaml_tree_refuse(p->tree, n, p->err, "%s", text);
}

static int text_copy(const struct place *p, const struct yaml_node *n,
		     char **ret)
{
	const char *text = NULL;
	int r = yaml_tree_string(p->tree, n, &text, p->err);

	if (r < 0)
		return r;
	*ret = strdup(text);
	return *ret ? 0 : err_nomem(p->err);
}

static int read_name(const struct place *p, const struct yaml_node *n)
{
	return text_copy(p, n, &p->c->name);
}

static int read_env(const struct place *p, const struct yaml_node *n)
{
	return text_copy(p, n, &p->c->env);
}

static int read_mode(const struct place *p, const struct yaml_node *n)
{
	if (n->kind == YAML_SCALAR && strcmp(n->text, "handover") == 0)
		p->c->mode = CREDENTIAL_HANDOVER;
	else if (n->kind != YAML_SCALAR || strcmp(n->text, "surrogate") != 0)
		return refuse(p, n, "mode must be surrogate or handover");
	return 0;
}

static int read_push(const struct place *p, const struct yaml_node *n)
{
	if (n->kind == YAML_SCALAR && git_push_parse(n->text, &p->c->push) == 0)
		return 0;
	return refuse(p, n, "push must be ask, allow or deny");
}

static int read_list(const struct place *p, const struct yaml_node *n,
		     size_t max, struct strv *to)
{
	if (n->kind != YAML_LIST || !n->first)
		return refuse(p, n, "a list is wanted here");
	for (const struct yaml_node *i = n->first; i; i = i->next) {
		const char *text = NULL;
		int r = yaml_tree_string(p->tree, i, &text, p->err);

		if (r < 0)
			return r;
		if (to->n == max)
			return refuse(p, i, "this list is too long");
		if (strv_push(to, text) < 0)
			return err_nomem(p->err);
	}
	return 0;
}

static int read_methods(const struct place *p, const struct yaml_node *n)
{
	return read_list(p, n, CREDENTIAL_METHODS_MAX, &p->c->methods);
}

static int read_paths(const struct place *p, const struct yaml_node *n)
{
	return read_list(p, n, CREDENTIAL_PATHS_MAX, &p->c->paths);
}

static int read_keys(const struct place *p, const struct yaml_node *map,
		     const struct key *keys, size_t n_keys, const char *known)
{
	if (map->kind != YAML_MAP)
		return refuse(p, map, known);
	for (const struct yaml_node *k = map->first; k; k = k->next) {
		size_t i = 0;
		int r;

		while (i < n_keys && strcmp(keys[i].name, k->key) != 0)
			i++;
		if (i == n_keys)
			return refuse(p, k, known);
		r = keys[i].fn(p, k);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_git(const struct place *p, const struct yaml_node *n)
{
	static const struct key keys[] = { { "push", read_push } };

	return read_keys(p, n, keys, ARRAY_SIZE(keys), "git has push");
}

static int read_one(const struct place *p, const struct yaml_node *n)
{
	static const struct key keys[] = {
		{ "name", read_name },       { "mode", read_mode },
		{ "env", read_env },         { "git", read_git },
		{ "methods", read_methods }, { "paths", read_paths },
	};

	if (n->kind == YAML_SCALAR)
		return read_name(p, n);
	return read_keys(p, n, keys, ARRAY_SIZE(keys),
			 "a credential is a name, or has name, mode, env, git, "
			 "methods and paths");
}

int blueprint_read_credentials(const struct yaml_tree *tree,
			       const struct yaml_node *n,
			       struct credentials *ret, struct err *err)
{
	struct credential c = { 0 };
	const struct place p = { tree, &c, err };

	if (n->kind != YAML_LIST)
		return refuse(&p, n, "credentials must be a list");
	for (const struct yaml_node *i = n->first; i; i = i->next) {
		struct err why = { 0 };
		int r = read_one(&p, i);

		if (r < 0) {
			credential_done(&c);
			return r;
		}
		if (c.name && credentials_find(ret, c.name)) {
			credential_done(&c);
			return refuse(&p, i, "this credential is here twice");
		}
		if (credentials_put(ret, &c, &why) < 0)
			return refuse(&p, i, why.msg);
	}
	return 0;
}
