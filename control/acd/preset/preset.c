/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preset.c - finds and reads presets that blueprints name
 */
#include "control/acd/preset/preset.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/shared/names.h"
#include "control/shared/paths.h"
#include "lib/file.h"
#include "ottergate/yaml.h"

#define FILES_MAX 256u /* that are looked at in each folder */
#define SUFFIX ".yaml"

static const char *user_dir = AC_STATE_PRESETS;
static const char *shipped_dir = AC_SHARE_PRESETS;

void preset_set_dirs(const char *user, const char *shipped)
{
	user_dir = user;
	shipped_dir = shipped;
}

const char *preset_kind_name(enum preset_kind kind)
{
	static const char *const names[PRESET_KINDS] = {
		[PRESET_PROMPTS] = "prompts",
		[PRESET_TOOLS] = "tools",
	};

	return names[kind];
}

void preset_done(struct preset *p)
{
	free(p->about);
	free(p->text);
	free(p->file);
	strv_done(&p->apt);
	strv_done(&p->npm);
	strv_done(&p->pip);
	strv_done(&p->egress);
	*p = (struct preset){ 0 };
}

/* ---- a document ---- */

/* The document that is being read. */
struct place {
	const struct yaml_tree *tree;
	struct preset *p;
	struct err *err;
};

struct key {
	struct schema_key is;
	int (*fn)(const struct place *at, const struct yaml_node *n);
};

static int read_version(const struct place *at, const struct yaml_node *n)
{
	if (n->kind == YAML_SCALAR && !n->quoted && strcmp(n->text, "1") == 0)
		return 0;
	return yaml_tree_refuse(at->tree, n, at->err,
				"this ac knows presets of version 1 only");
}

/* Reads a text of at most @max bytes over *@to. */
static int read_words(const struct place *at, const struct yaml_node *n,
		      size_t max, char **to)
{
	int rc = yaml_tree_copy(at->tree, n, to, at->err);

	if (rc == 0 && !**to)
		return yaml_tree_refuse(at->tree, n, at->err, "%s is empty",
					n->key);
	if (rc == 0 && strlen(*to) > max)
		return yaml_tree_refuse(at->tree, n, at->err,
					"%s has more than %zu bytes", n->key,
					max);
	return rc;
}

static int read_about(const struct place *at, const struct yaml_node *n)
{
	int rc = read_words(at, n, PRESET_ABOUT_MAX, &at->p->about);

	if (rc == 0 && str_has_control(at->p->about))
		return yaml_tree_refuse(at->tree, n, at->err,
					"about must be one line");
	return rc;
}

/* The text goes into a file of the agent, which people print on terminals. */
static int read_text(const struct place *at, const struct yaml_node *n)
{
	int rc = read_words(at, n, PRESET_TEXT_MAX, &at->p->text);

	for (const char *c = rc == 0 ? at->p->text : ""; *c; c++) {
		if (((unsigned char)*c < ' ' && *c != '\n' && *c != '\t') ||
		    *c == 0x7f)
			return yaml_tree_refuse(at->tree, n, at->err,
						"text has control characters");
	}
	return rc;
}

static int read_list(const struct place *at, const struct yaml_node *n,
		     struct strv *to)
{
	if (n->kind != YAML_LIST || !n->first)
		return yaml_tree_refuse(at->tree, n, at->err,
					"%s must be a list, and not empty",
					n->key);
	for (n = n->first; n; n = n->next) {
		const char *word = NULL;
		int rc = yaml_tree_string(at->tree, n, &word, at->err);

		if (rc < 0)
			return rc;
		if (!*word || strlen(word) > PRESET_WORD_MAX ||
		    str_has_control(word))
			return yaml_tree_refuse(at->tree, n, at->err,
						"a word of at most %u bytes is "
						"wanted here",
						PRESET_WORD_MAX);
		if (to->n == PRESET_WORDS_MAX)
			return yaml_tree_refuse(at->tree, n, at->err,
						"more than %u words",
						PRESET_WORDS_MAX);
		if (strv_push(to, word) < 0)
			return err_nomem(at->err);
	}
	return 0;
}

static int read_apt(const struct place *at, const struct yaml_node *n)
{
	return read_list(at, n, &at->p->apt);
}

static int read_npm(const struct place *at, const struct yaml_node *n)
{
	return read_list(at, n, &at->p->npm);
}

static int read_pip(const struct place *at, const struct yaml_node *n)
{
	return read_list(at, n, &at->p->pip);
}

static int read_egress(const struct place *at, const struct yaml_node *n)
{
	return read_list(at, n, &at->p->egress);
}

static const struct schema version_is = { .kind = SCHEMA_NUMBER,
					  .min = 1,
					  .max = 1 };
static const struct schema about_is = { .kind = SCHEMA_TEXT,
					.max = PRESET_ABOUT_MAX };
static const struct schema text_is = { .kind = SCHEMA_TEXT,
				       .max = PRESET_TEXT_MAX };
static const struct key prompt_keys[] = {
	{ { "version", &version_is }, read_version },
	{ { "about", &about_is }, read_about },
	{ { "text", &text_is }, read_text },
};
static const char *const prompt_needs[] = { "version", "about", "text", NULL };
static const struct schema prompt_is = { SCHEMA_ROWS(prompt_keys),
					 .required = prompt_needs };

static const struct schema word_is = { .kind = SCHEMA_TEXT,
				       .max = PRESET_WORD_MAX };
static const struct schema words_are = {
	.kind = SCHEMA_LIST, .item = &word_is, .min = 1, .max = PRESET_WORDS_MAX
};
static const struct key tools_keys[] = {
	{ { "version", &version_is }, read_version },
	{ { "about", &about_is }, read_about },
	{ { "apt", &words_are }, read_apt },
	{ { "npm", &words_are }, read_npm },
	{ { "pip", &words_are }, read_pip },
	{ { "egress", &words_are }, read_egress },
};
static const char *const tools_needs[] = { "version", "about", NULL };
static const struct schema tools_are = { SCHEMA_ROWS(tools_keys),
					 .required = tools_needs };

static const struct schema *const kinds[PRESET_KINDS + 1] = {
	[PRESET_PROMPTS] = &prompt_is,
	[PRESET_TOOLS] = &tools_are,
};
const struct schema preset_schema = { .kind = SCHEMA_EITHER, .either = kinds };

static int read_all(const struct place *at, const struct schema *is)
{
	const struct yaml_node *root = at->tree->root;
	int rc;

	if (!root)
		return yaml_tree_refuse(at->tree, NULL, at->err,
					"the file is empty");
	rc = yaml_tree_want_map(at->tree, root, at->err);
	for (const struct yaml_node *n = rc == 0 ? root->first : NULL;
	     n && rc == 0; n = n->next) {
		const struct key *k = (const void *)schema_find(is, n->key);

		rc = k ? k->fn(at, n) : yaml_tree_unknown(at->tree, n, at->err);
	}
	for (size_t i = 0; rc == 0 && is->required[i]; i++) {
		if (!yaml_child(root, is->required[i]))
			rc = yaml_tree_refuse(at->tree, root, at->err,
					      "'%s' is missing",
					      is->required[i]);
	}
	return rc;
}

/* Ends the text with a newline. */
static int end_line(struct preset *p)
{
	size_t len = p->text ? strlen(p->text) : 0;
	char *longer;

	if (!p->text || p->text[len - 1] == '\n')
		return 0;
	longer = str_printf("%s\n", p->text);
	if (!longer)
		return -ENOMEM;
	free(p->text);
	p->text = longer;
	return 0;
}

int preset_parse(enum preset_kind kind, const char *text, size_t len,
		 const char *file, struct preset *ret, struct err *err)
{
	struct yaml_tree tree = { 0 };
	struct preset p = { .file = strdup(file) };
	const struct place at = { &tree, &p, err };
	int rc;

	if (!p.file)
		return err_nomem(err);
	rc = yaml_tree_parse(text, len, file, &yaml_small, &tree, err);
	if (rc == 0)
		rc = read_all(&at, kinds[kind]);
	yaml_tree_done(&tree);
	if (rc == 0 && end_line(&p) < 0)
		rc = err_nomem(err);
	if (rc < 0)
		preset_done(&p);
	else
		*ret = p;
	return rc;
}

/* ---- files ---- */

/* Reads the preset from a folder of all kinds. Returns -ENOENT, without a
 * message, if it is not there. */
static int load_from(const char *dir, enum preset_kind kind, const char *name,
		     struct preset *ret, struct err *err)
{
	SCOPED_STR path = str_printf("%s/%s/%s" SUFFIX, dir,
				     preset_kind_name(kind), name);
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc;

	if (!path)
		return err_nomem(err);
	rc = file_read(path, PRESET_FILE_MAX, &text, &len);
	if (rc == -ENOENT || rc == -ENOTDIR)
		return -ENOENT;
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path, err_text(rc));
	return preset_parse(kind, text, len, path, ret, err);
}

/* "a, b, c", for a message. */
static void list_known(enum preset_kind kind, char *out, size_t size)
{
	struct strv names = { 0 };
	size_t used = 0;

	snprintf(out, size, "none");
	if (preset_names(kind, &names) == 0) {
		for (size_t i = 0; i < names.n && used < size; i++)
			used += (size_t)snprintf(out + used, size - used,
						 "%s%s", i ? ", " : "",
						 names.v[i]);
	}
	strv_done(&names);
}

int preset_load(enum preset_kind kind, const char *name, struct preset *ret,
		struct err *err)
{
	char known[192];
	int rc = name_check_blueprint(name, err);

	if (rc < 0)
		return rc;
	rc = load_from(user_dir, kind, name, ret, err);
	if (rc != -ENOENT)
		return rc;
	rc = load_from(shipped_dir, kind, name, ret, err);
	if (rc == 0)
		ret->builtin = true;
	if (rc != -ENOENT)
		return rc;
	list_known(kind, known, sizeof(known));
	return err_set(err, -ENOENT,
		       "there is no preset '%s' of %s; there are: %s", name,
		       preset_kind_name(kind), known);
}

static int names_from(const char *dir, enum preset_kind kind, struct strv *ret)
{
	SCOPED_STR path = str_printf("%s/%s", dir, preset_kind_name(kind));
	SCOPED_DIR d = path ? opendir(path) : NULL;
	unsigned seen = 0;

	if (!path)
		return -ENOMEM;
	for (struct dirent *e = d ? readdir(d) : NULL; e && seen < FILES_MAX;
	     e = readdir(d), seen++) {
		SCOPED_STR name = NULL;
		size_t len = strlen(e->d_name);

		if (!str_ends(e->d_name, SUFFIX))
			continue;
		name = strndup(e->d_name, len - strlen(SUFFIX));
		if (!name)
			return -ENOMEM;
		if (name_check_blueprint(name, NULL) == 0 &&
		    !strv_has(ret, name) && strv_push(ret, name) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int preset_names(enum preset_kind kind, struct strv *ret)
{
	int rc = names_from(user_dir, kind, ret);

	if (rc == 0)
		rc = names_from(shipped_dir, kind, ret);
	if (rc == 0 && ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_name);
	return rc;
}
