/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home_keys.c - what the keys share that put something into the agent's home
 *
 * Two of them must not have one path, nor one be a file where another needs a
 * directory. That is judged when all is read, since an heir may change either,
 * and the order of keys means nothing.
 */
#include "control/acd/blueprint/keys.h"

#include <string.h>

#include "control/acd/blueprint/slot.h"
#include "lib/str.h"

const struct schema blueprint_home_path_is = { .kind = SCHEMA_TEXT,
					       .pattern = "[^/].*",
					       .max = BLUEPRINT_PATH_MAX };
const struct schema blueprint_home_paths_is = { .kind = SCHEMA_LIST,
						.item = &blueprint_home_path_is,
						.min = 1,
						.max = BLUEPRINT_PATHS_MAX };
const struct schema blueprint_text_is = { .kind = SCHEMA_TEXT,
					  .max = BLUEPRINT_TEXT_MAX };

/* ---- paths ---- */

int blueprint_twice(const struct blueprint_place *p, const struct yaml_node *n,
		    const char *path)
{
	yaml_tree_refuse(p->tree, n, p->err, "'%s' is here twice", path);
	return blueprint_code(p->err, MISTAKE_TWICE);
}

int blueprint_read_home_path(const struct blueprint_place *p,
			     const struct yaml_node *n, char **at)
{
	int rc = blueprint_read_string(p, n, at);

	if (rc < 0)
		return rc;
	if (blueprint_path_is_below(*at, BLUEPRINT_PATH_MAX) &&
	    (*at)[strlen(*at) - 1] != '/' && !str_has_control(*at))
		return 0;
	return yaml_tree_refuse(p->tree, n, p->err,
				"a path is that of a file, relative to the "
				"agent's home, and has no '..'");
}

static int read_path(const struct blueprint_place *p, const struct yaml_node *n,
		     void *arg)
{
	struct strv *to = arg;
	SCOPED_STR path = NULL;
	int rc = blueprint_read_home_path(p, n, &path);

	if (rc < 0)
		return rc;
	if (to->n == BLUEPRINT_PATHS_MAX)
		return blueprint_much(p, n, BLUEPRINT_PATHS_MAX, "paths");
	if (strv_has(to, path))
		return blueprint_twice(p, n, path);
	return strv_push(to, path) < 0 ? err_nomem(p->err) : 0;
}

int blueprint_read_home_paths(const struct blueprint_place *p,
			      const struct yaml_node *n, const char *example,
			      struct strv *to)
{
	strv_done(to);
	if (n->kind != YAML_LIST || !n->first)
		return yaml_tree_refuse(p->tree, n, p->err,
					"paths must be a list, such as %s",
					example);
	return blueprint_each(p, n, read_path, to);
}

/* Returns true if both are one file, or one would have to be a directory of the
 * other. */
static bool paths_clash(const char *a, const char *b)
{
	size_t len = strlen(a), other = strlen(b);
	size_t min = len < other ? len : other;

	return strncmp(a, b, min) == 0 &&
	       (len == other || a[min] == '/' || b[min] == '/');
}

/* Returns the value of this document that has the path @path, the last one; or
 * NULL if a parent has it. */
static const struct yaml_node *path_node(const struct blueprint_place *p,
					 const char *path)
{
	const struct yaml_node *root = p->tree->root, *found = NULL;
	const struct yaml_node *n = yaml_child(root, "files");

	for (n = n ? n->first : NULL; n; n = n->next) {
		const struct yaml_node *is = yaml_child(n, "path");

		if (is && is->kind == YAML_SCALAR &&
		    strcmp(is->text, path) == 0)
			found = is;
	}
	n = yaml_child(yaml_child(root, "prompt"), "paths");
	for (n = n ? n->first : NULL; n; n = n->next) {
		if (n->kind == YAML_SCALAR && strcmp(n->text, path) == 0)
			found = n;
	}
	return found;
}

/* Refuses two paths, of which this document has at least one. */
static int refuse_both(const struct blueprint_place *p, const char *a,
		       const char *b)
{
	const struct yaml_node *n = path_node(p, b);

	if (!n)
		n = path_node(p, a);
	if (!n)
		n = yaml_child(p->tree->root, "skills");
	if (strcmp(a, b) == 0)
		return blueprint_twice(p, n, a);
	yaml_tree_refuse(p->tree, n, p->err,
			 "'%s' and '%s' cannot both be files", a, b);
	return blueprint_code(p->err, MISTAKE_TWICE);
}

/* Appends all paths in the home: of files, the prompt and skills. */
static int paths_collect(const struct blueprint *bp, struct strv *ret)
{
	int rc = 0;

	for (size_t i = 0; i < bp->n_files && rc == 0; i++)
		rc = strv_push(ret, bp->files[i].path);
	for (size_t i = 0; i < bp->prompt_paths.n && rc == 0; i++)
		rc = strv_push(ret, bp->prompt_paths.v[i]);
	for (size_t i = 0; i < bp->skill_paths.n; i++) {
		for (size_t k = 0; k < bp->n_skills && rc == 0; k++)
			rc = strv_pushf(ret, "%s/%s", bp->skill_paths.v[i],
					bp->skills[k].name);
	}
	return rc;
}

static int check_paths(const struct blueprint_place *p)
{
	struct strv all = { 0 };
	int rc = paths_collect(p->bp, &all) < 0 ? err_nomem(p->err) : 0;

	for (size_t i = 0; i < all.n && rc == 0; i++) {
		for (size_t k = i + 1; k < all.n && rc == 0; k++) {
			if (paths_clash(all.v[i], all.v[k]))
				rc = refuse_both(p, all.v[i], all.v[k]);
		}
	}
	strv_done(&all);
	return rc;
}

/* ---- texts ---- */

int blueprint_check_text(const struct blueprint_place *p,
			 const struct yaml_node *n, const char *text)
{
	struct slot slot;
	struct err why = { 0 };
	size_t end;

	if (strlen(text) > BLUEPRINT_TEXT_MAX) {
		yaml_tree_refuse(p->tree, n, p->err, "%s has more than %u KiB",
				 n->key, BLUEPRINT_TEXT_MAX / 1024);
		return blueprint_code(p->err, MISTAKE_LIMIT);
	}
	for (; *text; text += end) {
		if (slot_next(text, &slot, &end, &why) < 0)
			return yaml_tree_refuse(p->tree, n, p->err, "%s",
						why.msg);
	}
	return 0;
}

static int check_names(const struct blueprint_place *p,
		       const struct yaml_node *n, const char *text)
{
	struct slot slot;
	size_t end;

	for (; *text; text += end) {
		ssize_t at = slot_next(text, &slot, &end, NULL);

		if (at < 0 || (size_t)at == end ||
		    credentials_find(&p->bp->credentials, slot.name))
			continue;
		yaml_tree_refuse(p->tree, n, p->err,
				 "{credential:%s}: this blueprint has no "
				 "credential '%s'; name it in credentials",
				 slot.name, slot.name);
		return blueprint_code(p->err, MISTAKE_MISSING);
	}
	return 0;
}

static int check_slots(const struct blueprint_place *p)
{
	const struct blueprint *bp = p->bp;
	const struct yaml_node *root = p->tree->root;
	const struct yaml_node *n = yaml_child(root, "files");
	int rc = 0;

	for (size_t i = 0; i < bp->n_files && rc == 0; i++)
		rc = check_names(p, n ? n : root, bp->files[i].text);
	n = yaml_child(root, "prompt");
	if (rc == 0 && bp->prompt)
		rc = check_names(p, n ? n : root, bp->prompt);
	return rc;
}

int blueprint_check_home(const struct blueprint_place *p)
{
	int rc = check_paths(p);

	return rc == 0 ? check_slots(p) : rc;
}
