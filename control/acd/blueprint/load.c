/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c - finds blueprints, and reads each over the one that it extends
 *
 * Theory of operation: a file is read by the tables over what its parent has
 * set, the eldest first, into one struct blueprint. So each mistake has the
 * place in its own file, and what a key does to that of a parent is the
 * reader's matter (keys.h). What no file has set is filled in at the end. A file
 * with mistakes is read to its end, and so are its heirs: all are noted.
 *
 * Lists replace, but for those whose items have a name: egress, credentials and
 * files. There an item replaces the parent's of the same name and else is added;
 * of credentials and files "-NAME" drops one of the parent's, and "none" all.
 *
 * The user's blueprints come first. One that extends its own name means the
 * shipped one.
 */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/acd/blueprint/keys.h"
#include "control/acd/blueprint/limit_keys.h"
#include "control/shared/names.h"
#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/guess.h"

#define NAMES_MAX 1024u /* folders that are looked at in each place */

static const char *user_dir = AC_STATE_BLUEPRINTS;
static const char *shipped_dir = AC_SHARE "/blueprints";

/* A file that is being read, and that which extends it. */
struct chain {
	const struct chain *heir;
	const char *file;
	unsigned level; /* heirs */
	struct blueprint_mistakes *mistakes; /* of all of them */
};

void blueprint_set_dirs(const char *user, const char *shipped)
{
	user_dir = user;
	shipped_dir = shipped;
}

static char *file_of(const char *dir, const char *name)
{
	return str_printf("%s/%s/blueprint.yaml", dir, name);
}

/* Reads the file of a blueprint; the caller frees *ret_path and *ret_text in
 * any case. Returns 0, -ENOENT, or another failure with its text in @err. */
static int text_from(const char *dir, const char *name, char **ret_path,
		     char **ret_text, size_t *ret_len, struct err *err)
{
	int rc;

	*ret_path = file_of(dir, name);
	if (!*ret_path)
		return err_nomem(err);
	rc = file_read(*ret_path, BLUEPRINT_FILE_MAX, ret_text, ret_len);
	if (rc < 0)
		return err_set(err, rc == -ENOTDIR ? -ENOENT : rc, "%s: %s",
			       *ret_path, err_text(rc));
	return 0;
}

/* "base, claude, codex", for a message. */
static void list_known(char *out, size_t size)
{
	struct strv names = { 0 };
	size_t used = 0;

	snprintf(out, size, "none");
	if (blueprint_names(&names, NULL) == 0) {
		for (size_t i = 0; i < names.n && used < size; i++)
			used += (size_t)snprintf(out + used, size - used,
						 "%s%s", i ? ", " : "",
						 names.v[i]);
	}
	strv_done(&names);
}

/* ---- extends ---- */

/* Returns the value of `extends` in a document that may have one, else NULL:
 * its reader refuses what is wrong. */
static const struct yaml_node *parent_of(const struct yaml_tree *t)
{
	const struct yaml_node *version = yaml_child(t->root, "version");
	const struct yaml_node *n = yaml_child(t->root, "extends");

	if (!version || version->kind != YAML_SCALAR ||
	    strcmp(version->text, "2") != 0)
		return NULL;
	if (!n || n->kind != YAML_SCALAR ||
	    name_check_blueprint(n->text, NULL) < 0)
		return NULL;
	return n;
}

/* Returns true if @c reads the file of @dir with this name. */
static bool is_file_of(const struct chain *c, const char *dir, const char *name)
{
	SCOPED_STR path = file_of(dir, name);

	return path && strcmp(path, c->file) == 0;
}

static int read_over(const char *text, size_t len, const struct chain *c,
		     struct blueprint *bp, struct err *err);

static int refuse_parent(const struct yaml_tree *t, const struct yaml_node *n,
			 struct err *err, const char *fmt, ...)
	ATTR_PRINTF(4, 5);

static int refuse_parent(const struct yaml_tree *t, const struct yaml_node *n,
			 struct err *err, const char *fmt, ...)
{
	char text[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	yaml_tree_refuse(t, n, err, "%s", text);
	return blueprint_code(err, MISTAKE_PARENT);
}

/* Refuses a parent that there is not. */
static int refuse_unknown(const struct yaml_tree *t, const struct yaml_node *n,
			  struct err *err)
{
	struct strv names = { 0 };
	struct guess g;
	char known[192];

	list_known(known, sizeof(known));
	guess_begin(&g, n->text);
	if (blueprint_names(&names, NULL) == 0) {
		for (size_t i = 0; i < names.n; i++)
			guess_try(&g, names.v[i]);
	}
	refuse_parent(t, n, err,
		      "there is no blueprint '%s' to extend%s%s%s; known are: "
		      "%s",
		      n->text, g.found ? ": did you mean '" : "",
		      g.found ? g.found : "", g.found ? "'?" : "", known);
	err_hint(err, g.found ? g.found : "");
	strv_done(&names);
	return -EINVAL;
}

/* Reads the file of the parent that @n of @c names; the caller frees *ret_path
 * and *ret_text in any case. */
static int parent_text(const struct yaml_tree *t, const struct yaml_node *n,
		       const struct chain *c, char **ret_path, char **ret_text,
		       size_t *ret_len, struct err *err)
{
	int rc = -ENOENT;

	if (!is_file_of(c, user_dir, n->text))
		rc = text_from(user_dir, n->text, ret_path, ret_text, ret_len,
			       err);
	if (rc == -ENOENT) {
		free(ptr_take(ret_path));
		rc = text_from(shipped_dir, n->text, ret_path, ret_text,
			       ret_len, err);
	}
	return rc == -ENOENT ? refuse_unknown(t, n, err) : rc;
}

static int read_parent(const struct yaml_tree *t, const struct yaml_node *n,
		       const struct chain *c, struct blueprint *bp,
		       struct err *err)
{
	SCOPED_STR path = NULL;
	SCOPED_STR text = NULL;
	struct chain up = { .heir = c,
			    .level = c->level + 1,
			    .mistakes = c->mistakes };
	size_t len = 0;
	int rc;

	if (up.level > BLUEPRINT_PARENTS_MAX)
		return refuse_parent(t, n, err,
				     "more than %u levels of 'extends'",
				     BLUEPRINT_PARENTS_MAX);
	rc = parent_text(t, n, c, &path, &text, &len, err);
	if (rc < 0)
		return rc;
	up.file = path;
	for (; c; c = c->heir) {
		if (strcmp(c->file, path) == 0)
			return refuse_parent(t, n, err, "'%s' extends itself",
					     n->text);
	}
	return read_over(text, len, &up, bp, err);
}

/* Reads a file over @bp, and notes its mistakes and those of its parents. Returns
 * what a reader does. */
static int read_over(const char *text, size_t len, const struct chain *c,
		     struct blueprint *bp, struct err *err)
{
	struct yaml_tree tree = { 0 };
	const struct yaml_tree none = { .file = c->file };
	struct blueprint_place p = { &tree, bp, err, c->mistakes };
	const struct yaml_node *parent;
	int rc = blueprint_tree(text, len, c->file, &tree, err);
	int up = 0;

	if (rc < 0) {
		p.tree = &none;
		return blueprint_note(&p, rc);
	}
	parent = parent_of(&tree);
	if (parent)
		up = blueprint_note(&p, read_parent(&tree, parent, c, bp, err));
	rc = up < 0 ? up : blueprint_read(&p);
	if (rc == 0 && up == 0 && sources_note(&bp->sources, &tree) < 0)
		rc = err_nomem(err);
	yaml_tree_done(&tree);
	return rc < 0 ? rc : rc | up;
}

int blueprint_judge(const char *text, size_t len, const char *file,
		    const char *name, struct blueprint *ret,
		    struct blueprint_mistakes *m, struct err *err)
{
	const struct chain c = { .file = file, .mistakes = m };
	struct blueprint bp = { 0 };
	int rc;

	blueprint_default_limits(&bp);
	bp.name = strdup(name); /* an image may be named after it */
	rc = bp.name ? read_over(text, len, &c, &bp, err) : err_nomem(err);
	if (rc == 0 && blueprint_fill(&bp, name) < 0)
		rc = err_nomem(err);
	if (m->n > 0 && (rc == 1 || rc == -EINVAL))
		rc = mistakes_fail(m, err);
	if (rc < 0) {
		blueprint_done(&bp);
		return rc;
	}
	*ret = bp;
	return 0;
}

int blueprint_parse(const char *text, size_t len, const char *file,
		    const char *name, struct blueprint *ret, struct err *err)
{
	struct blueprint_mistakes m = { 0 };
	struct err ignored = { 0 };
	int rc = blueprint_judge(text, len, file, name, ret, &m,
				 err ? err : &ignored);

	mistakes_done(&m);
	return rc;
}

/* ---- one ---- */

int blueprint_text(const char *name, char **ret_path, char **ret_text,
		   size_t *ret_len, bool *ret_builtin, struct err *err)
{
	char known[384];
	int rc = name_check_blueprint(name, err);

	*ret_path = *ret_text = NULL;
	if (rc < 0)
		return rc;
	*ret_builtin = false;
	rc = text_from(user_dir, name, ret_path, ret_text, ret_len, err);
	if (rc == -ENOENT) {
		free(ptr_take(ret_path));
		*ret_builtin = true;
		rc = text_from(shipped_dir, name, ret_path, ret_text, ret_len,
			       err);
	}
	if (rc != -ENOENT)
		return rc;
	list_known(known, sizeof(known));
	return err_set(err, -ENOENT,
		       "there is no blueprint '%s'; known are: %s", name,
		       known);
}

int blueprint_load(const char *name, struct blueprint *ret, struct err *err)
{
	SCOPED_STR path = NULL;
	SCOPED_STR text = NULL;
	bool builtin = false;
	size_t len = 0;
	int rc = blueprint_text(name, &path, &text, &len, &builtin, err);

	if (rc == 0)
		rc = blueprint_parse(text, len, path, name, ret, err);
	if (rc == 0)
		ret->builtin = builtin;
	return rc;
}

/* ---- all ---- */

/* A folder counts if its name is valid for a blueprint and it has the file. */
static int names_from(const char *dir, struct strv *ret)
{
	SCOPED_DIR d = opendir(dir);
	unsigned seen = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	for (struct dirent *e = readdir(d); e && seen < NAMES_MAX;
	     e = readdir(d)) {
		SCOPED_STR path = NULL;

		if (name_check_blueprint(e->d_name, NULL) < 0)
			continue;
		seen++;
		path = file_of(dir, e->d_name);
		if (!path)
			return -ENOMEM;
		if (access(path, F_OK) == 0 && strv_push(ret, e->d_name) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int blueprint_names(struct strv *ret, struct err *err)
{
	struct strv all = { 0 };
	int rc = names_from(user_dir, &all);

	if (rc == 0)
		rc = names_from(shipped_dir, &all);
	if (rc == 0 && all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_name);
	for (size_t i = 0; rc == 0 && i < all.n; i++) {
		if (i == 0 || strcmp(all.v[i - 1], all.v[i]) != 0)
			rc = strv_push(ret, all.v[i]);
	}
	strv_done(&all);
	if (rc < 0)
		return err_set(err, rc, "look for blueprints: %s",
			       err_text(rc));
	return 0;
}
