/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_keys.c - the key `credentials` of a blueprint
 *
 *	credentials: [github, { name: ci, env: CI_TOKEN, git: { push: ask } }]
 *
 * They are added to those of a parent; "-github" drops one of these, and "none",
 * as the first of the list, all.
 */
#include "control/acd/blueprint/credential_keys.h"

#include <string.h>

#include "control/acd/blueprint/keys.h"
#include "lib/guess.h"
#include "lib/str.h"

/* The credential that is being read. */
struct place {
	const struct blueprint_place *bp;
	struct credential *c;
};

struct key {
	struct schema_key is;
	int (*fn)(const struct place *p, const struct yaml_node *n);
};

static int refuse(const struct place *p, const struct yaml_node *n,
		  const char *text)
{
	return yaml_tree_refuse(p->bp->tree, n, p->bp->err, "%s", text);
}

static int text_copy(const struct place *p, const struct yaml_node *n,
		     char **ret)
{
	return yaml_tree_copy(p->bp->tree, n, ret, p->bp->err);
}

static int read_name(const struct place *p, const struct yaml_node *n)
{
	return text_copy(p, n, &p->c->name);
}

static int read_env(const struct place *p, const struct yaml_node *n)
{
	return text_copy(p, n, &p->c->env);
}

static const char *const mode_words[] = { "surrogate", "handover", NULL };
static const struct schema mode_is = SCHEMA_WORDS(mode_words);

static int read_mode(const struct place *p, const struct yaml_node *n)
{
	int rc = blueprint_read_word(p->bp, n, &mode_is,
				     "mode must be surrogate or handover");

	if (rc < 0)
		return rc;
	if (rc == 1)
		p->c->mode = CREDENTIAL_HANDOVER;
	return 0;
}

static const char *const push_words[] = { "ask", "allow", "deny", NULL };
static const struct schema push_is = SCHEMA_WORDS(push_words);

static int read_push(const struct place *p, const struct yaml_node *n)
{
	int rc = blueprint_read_word(p->bp, n, &push_is,
				     "push must be ask, allow or deny");

	return rc < 0 ? rc : git_push_parse(n->text, &p->c->push);
}

/* A list of strings, which has room for @max. */
struct strings {
	struct strv *to;
	size_t max;
};

static int read_string(const struct blueprint_place *p,
		       const struct yaml_node *n, void *arg)
{
	const struct strings *l = arg;
	const char *text = NULL;
	int rc = yaml_tree_string(p->tree, n, &text, p->err);

	if (rc < 0)
		return rc;
	if (l->to->n == l->max) {
		yaml_tree_refuse(p->tree, n, p->err, "this list is too long");
		return blueprint_code(p->err, MISTAKE_LIMIT);
	}
	return strv_push(l->to, text) < 0 ? err_nomem(p->err) : 0;
}

static int read_list(const struct place *p, const struct yaml_node *n,
		     size_t max, struct strv *to)
{
	struct strings l = { to, max };

	if (n->kind != YAML_LIST || !n->first)
		return refuse(p, n, "a list is wanted here");
	return blueprint_each(p->bp, n, read_string, &l);
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
		     const struct schema *is, const char *known)
{
	int all = 0;

	if (map->kind != YAML_MAP)
		return refuse(p, map, known);
	for (const struct yaml_node *k = map->first; k && all >= 0;
	     k = k->next) {
		const struct key *key = (const void *)schema_find(is, k->key);
		int rc = key ? key->fn(p, k) :
			       blueprint_unknown(p->bp->tree, k, is, known,
						 p->bp->err);

		rc = blueprint_note(p->bp, rc);
		all = rc < 0 ? rc : all | rc;
	}
	return all;
}

static const struct key git_keys[] = { { { "push", &push_is }, read_push } };
static const struct schema git_is = { SCHEMA_ROWS(git_keys) };

static int read_git(const struct place *p, const struct yaml_node *n)
{
	return read_keys(p, n, &git_is, "git has push");
}

static const struct schema methods_is = { .kind = SCHEMA_LIST,
					  .item = &schema_text,
					  .min = 1,
					  .max = CREDENTIAL_METHODS_MAX };
static const struct schema paths_is = { .kind = SCHEMA_LIST,
					.item = &schema_text,
					.min = 1,
					.max = CREDENTIAL_PATHS_MAX };
static const struct schema env_is = { .kind = SCHEMA_TEXT,
				      .max = CREDENTIAL_ENV_MAX };
static const struct key one_keys[] = {
	{ { "name", &schema_text }, read_name },
	{ { "mode", &mode_is }, read_mode },
	{ { "env", &env_is }, read_env },
	{ { "git", &git_is }, read_git },
	{ { "methods", &methods_is }, read_methods },
	{ { "paths", &paths_is }, read_paths },
};
static const char *const one_needs[] = { "name", NULL };
static const struct schema one_map_is = { SCHEMA_ROWS(one_keys),
					  .required = one_needs };
static const struct schema *const either_one[] = { &schema_text, &one_map_is,
						   NULL };
static const struct schema one_is = { .kind = SCHEMA_EITHER,
				      .either = either_one };
const struct schema blueprint_credentials_is = { .kind = SCHEMA_LIST,
						 .item = &one_is,
						 .max = CREDENTIALS_MAX };

static int read_one(const struct place *p, const struct yaml_node *n)
{
	if (n->kind == YAML_SCALAR)
		return read_name(p, n);
	return read_keys(p, n, &one_map_is,
			 "a credential is a name, or has name, mode, env, git, "
			 "methods and paths");
}

/* "-NAME": a credential of a parent that this blueprint does not have. */
static int drop_one(const struct blueprint_place *p, const struct yaml_node *n)
{
	struct credentials *all = &p->bp->credentials;
	struct guess g;

	if (credentials_find(all, n->text + 1)) {
		credentials_drop(all, n->text + 1);
		return 0;
	}
	guess_begin(&g, n->text + 1);
	for (size_t i = 0; i < all->n; i++)
		guess_try(&g, all->v[i].name);
	yaml_tree_refuse(p->tree, n, p->err,
			 "no parent has the credential '%s'%s%s%s", n->text + 1,
			 g.found ? ": did you mean '-" : "",
			 g.found ? g.found : "", g.found ? "'?" : "");
	err_hint(p->err, g.found ? g.found : "");
	return blueprint_code(p->err, MISTAKE_MISSING);
}

/* "none": no credential of a parent. */
static int drop_all(const struct blueprint_place *p, const struct yaml_node *n,
		    const struct strv *seen)
{
	if (seen->n > 0)
		return yaml_tree_refuse(p->tree, n, p->err,
					"none must be the first of the list: "
					"it drops those of the parent");
	credentials_done(&p->bp->credentials);
	return 0;
}

/* Reads one credential of the list. @arg: the names before it; those of a parent
 * are replaced. */
static int add_one(const struct blueprint_place *bp, const struct yaml_node *n,
		   void *arg)
{
	struct credential c = { 0 };
	const struct place p = { bp, &c };
	struct strv *seen = arg;
	struct err why = { 0 };
	int rc;

	if (n->kind == YAML_SCALAR && n->text[0] == '-')
		return drop_one(bp, n);
	if (n->kind == YAML_SCALAR && strcmp(n->text, "none") == 0)
		return drop_all(bp, n, seen);
	rc = read_one(&p, n);
	if (rc == 0 && c.name && strv_has(seen, c.name)) {
		refuse(&p, n, "this credential is here twice");
		rc = blueprint_code(bp->err, MISTAKE_TWICE);
	}
	if (rc == 0 && c.name && strv_push(seen, c.name) < 0)
		rc = err_nomem(bp->err);
	if (rc != 0) {
		credential_done(&c);
		return rc;
	}
	return credentials_put(&bp->bp->credentials, &c, &why) < 0 ?
		       refuse(&p, n, why.msg) :
		       0;
}

int blueprint_read_credentials(const struct blueprint_place *bp,
			       const struct yaml_node *n)
{
	struct strv seen = { 0 };
	int rc;

	if (n->kind != YAML_LIST)
		return yaml_tree_refuse(bp->tree, n, bp->err,
					"credentials must be a list");
	rc = blueprint_each(bp, n, add_one, &seen);
	strv_done(&seen);
	return rc;
}
