/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.c - how the keys of a blueprint are read
 */
#include "control/acd/blueprint/keys.h"

#include <stdlib.h>
#include <string.h>

#include "lib/guess.h"

int blueprint_note(const struct blueprint_place *p, int rc)
{
	if (rc != -EINVAL || !p->mistakes)
		return rc;
	rc = mistakes_add(p->mistakes, p->tree->file, p->err);
	if (rc == -ENOMEM)
		return err_nomem(p->err);
	return rc < 0 ? -EINVAL : 1;
}

int blueprint_each(const struct blueprint_place *p, const struct yaml_node *n,
		   int (*fn)(const struct blueprint_place *p,
			     const struct yaml_node *n, void *arg),
		   void *arg)
{
	int all = 0;

	for (const struct yaml_node *e = n->first; e; e = e->next) {
		int rc = blueprint_note(p, fn(p, e, arg));

		if (rc < 0)
			return rc;
		all |= rc;
	}
	return all;
}

int blueprint_much(const struct blueprint_place *p, const struct yaml_node *n,
		   unsigned max, const char *what)
{
	yaml_tree_refuse(p->tree, n, p->err, "more than %u %s", max, what);
	return blueprint_code(p->err, MISTAKE_LIMIT);
}

int blueprint_code(struct err *err, const char *code)
{
	err_name(err, code);
	return -EINVAL;
}

/* Refuses @n with @what, and the word that was probably meant. */
static int refuse_guessed(const struct yaml_tree *tree,
			  const struct yaml_node *n, const char *what,
			  const char *found, struct err *err)
{
	yaml_tree_refuse(tree, n, err, "%s%s%s%s", what,
			 found ? ": did you mean '" : "", found ? found : "",
			 found ? "'?" : "");
	err_hint(err, found ? found : "");
	return -EINVAL;
}

int blueprint_unknown(const struct yaml_tree *tree, const struct yaml_node *n,
		      const struct schema *is, const char *has, struct err *err)
{
	const struct schema_key *k;
	struct guess g;
	char shown[64], what[96];

	guess_begin(&g, n->key);
	for (size_t i = 0; (k = schema_row(is, i)); i++) {
		if (k->is)
			guess_try(&g, k->key);
	}
	snprintf(what, sizeof(what), "unknown key '%s'",
		 str_escape(shown, sizeof(shown), n->key, strlen(n->key)));
	refuse_guessed(tree, n, has ? has : what, g.found, err);
	return blueprint_code(err, MISTAKE_KEY);
}

int blueprint_read_word(const struct blueprint_place *p,
			const struct yaml_node *n, const struct schema *is,
			const char *want)
{
	const char *const *words = is->words;
	struct guess g;

	if (n->kind != YAML_SCALAR)
		return yaml_tree_refuse(p->tree, n, p->err, "%s", want);
	guess_begin(&g, n->text);
	for (int i = 0; words[i]; i++) {
		if (strcmp(n->text, words[i]) == 0)
			return i;
		guess_try(&g, words[i]);
	}
	return refuse_guessed(p->tree, n, want, g.found, p->err);
}

int blueprint_read_map(const struct blueprint_place *p,
		       const struct yaml_node *n, const struct schema *is)
{
	int all = yaml_tree_want_map(p->tree, n, p->err);

	for (const struct yaml_node *e = all == 0 ? n->first : NULL;
	     e && all >= 0; e = e->next) {
		const struct blueprint_key *k =
			(const void *)schema_find(is, e->key);
		int rc = k ? k->fn(p, e) :
			     blueprint_unknown(p->tree, e, is, NULL, p->err);

		rc = blueprint_note(p, rc);
		all = rc < 0 ? rc : all | rc;
	}
	return all;
}

int blueprint_read_string(const struct blueprint_place *p,
			  const struct yaml_node *n, char **at)
{
	char *copy = NULL;
	int rc = yaml_tree_copy(p->tree, n, &copy, p->err);

	if (rc < 0)
		return rc;
	free(*at);
	*at = copy;
	return 0;
}

int blueprint_read_bool(const struct blueprint_place *p,
			const struct yaml_node *n, bool *ret)
{
	bool yes = n->kind == YAML_SCALAR && strcmp(n->text, "true") == 0;

	if (n->kind != YAML_SCALAR || n->quoted ||
	    (!yes && strcmp(n->text, "false") != 0))
		return yaml_tree_refuse(p->tree, n, p->err,
					"%s must be true or false", n->key);
	*ret = yes;
	return 0;
}

bool blueprint_path_is_below(const char *path, size_t max)
{
	const char *p = path;

	if (*path == '\0' || strlen(path) > max)
		return false;
	for (;;) {
		size_t len = strcspn(p, "/");

		if (len == 0 || (len == 1 && p[0] == '.') ||
		    (len == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		if (p[len] == '\0' || p[len + 1] == '\0')
			return true; /* "dir/" is allowed */
		p += len + 1;
	}
}
