/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_keys.c - the key `files` of a blueprint
 *
 * What is written into the agent's home at each start of a run. Values of YAML
 * become JSON; a word that readers of YAML do not agree about is refused.
 */
#include "control/acd/blueprint/keys.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/str.h"

#define MODE_DEFAULT 0644u

/* The file that is being read. */
struct place {
	const struct blueprint_place *p;
	struct blueprint_file *f;
};

struct key {
	struct schema_key is;
	int (*fn)(const struct place *at, const struct yaml_node *n);
};

static int refuse(const struct blueprint_place *p, const struct yaml_node *n,
		  const char *text)
{
	return yaml_tree_refuse(p->tree, n, p->err, "%s", text);
}

static int missing(const struct blueprint_place *p, const struct yaml_node *n,
		   const char *text)
{
	refuse(p, n, text);
	return blueprint_code(p->err, MISTAKE_MISSING);
}

void blueprint_file_done(struct blueprint_file *f)
{
	free(f->path);
	free(f->text);
	*f = (struct blueprint_file){ 0 };
}

void blueprint_files_done(struct blueprint *bp)
{
	for (size_t i = 0; i < bp->n_files; i++)
		blueprint_file_done(&bp->files[i]);
	free(bp->files);
	bp->files = NULL;
	bp->n_files = 0;
}

/* ---- where ---- */

static int read_path(const struct place *at, const struct yaml_node *n)
{
	return blueprint_read_home_path(at->p, n, &at->f->path);
}

/* ---- what ---- */

static int read_text(const struct place *at, const struct yaml_node *n)
{
	int rc;

	if (at->f->text)
		return refuse(at->p, n, "a file has text or json, not both");
	rc = blueprint_read_string(at->p, n, &at->f->text);
	return rc == 0 ? blueprint_check_text(at->p, n, at->f->text) : rc;
}

static int json_of(const struct blueprint_place *p, const struct yaml_node *n,
		   json_t **ret);

static int json_of_word(const struct blueprint_place *p,
			const struct yaml_node *n, json_t **ret)
{
	const char *s = n->text;

	if (!n->quoted && (strcmp(s, "true") == 0 || strcmp(s, "false") == 0))
		*ret = json_boolean(*s == 't');
	else if (!n->quoted && strcmp(s, "null") == 0)
		*ret = json_null();
	else if (yaml_word_is_ambiguous(n))
		return yaml_tree_refuse(p->tree, n, p->err,
					"write \"%s\" in quotes, or true, "
					"false or null",
					s);
	else if (yaml_word_is_number(n))
		*ret = json_loads(s, JSON_DECODE_ANY, NULL);
	else
		*ret = json_string(s);
	if (*ret)
		return 0;
	return refuse(p, n,
		      "a number must be as in JSON; write a text in quotes");
}

static int json_of_all(const struct blueprint_place *p,
		       const struct yaml_node *n, json_t *to)
{
	int rc = 0;

	for (const struct yaml_node *c = n->first; c && rc == 0; c = c->next) {
		json_t *v = NULL;

		rc = json_of(p, c, &v);
		if (rc == 0 && (n->kind == YAML_LIST ?
					json_array_append_new(to, v) :
					json_object_set_new(to, c->key, v)) < 0)
			rc = err_nomem(p->err);
	}
	return rc;
}

/* The depth was bounded when the document was parsed. */
static int json_of(const struct blueprint_place *p, const struct yaml_node *n,
		   json_t **ret)
{
	int rc;

	if (n->kind == YAML_SCALAR)
		return json_of_word(p, n, ret);
	*ret = n->kind == YAML_LIST ? json_array() : json_object();
	rc = *ret ? json_of_all(p, n, *ret) : err_nomem(p->err);
	if (rc < 0)
		json_decref(ptr_take(ret));
	return rc;
}

static int read_json(const struct place *at, const struct yaml_node *n)
{
	SCOPED_JSON v = NULL;
	int rc;

	if (at->f->text)
		return refuse(at->p, n, "a file has text or json, not both");
	if (n->kind == YAML_SCALAR)
		return refuse(at->p, n, "json must be a map or a list");
	rc = json_of(at->p, n, &v);
	if (rc < 0)
		return rc;
	at->f->is_json = true;
	at->f->text = json_dumps(v, JSON_COMPACT);
	if (!at->f->text)
		return err_nomem(at->p->err);
	return blueprint_check_text(at->p, n, at->f->text);
}

/* ---- how ---- */

static const char *const merge_words[] = { "json", NULL };
static const struct schema merge_is = SCHEMA_WORDS(merge_words);

static int read_merge(const struct place *at, const struct yaml_node *n)
{
	int rc = blueprint_read_word(at->p, n, &merge_is, "merge must be json");

	if (rc == 0)
		at->f->merge = true;
	return rc;
}

static int read_always(const struct place *at, const struct yaml_node *n)
{
	return blueprint_read_bool(at->p, n, &at->f->always);
}

static int read_mode(const struct place *at, const struct yaml_node *n)
{
	const char *s = n->kind == YAML_SCALAR ? n->text : "";
	size_t len;

	s += *s == '0';
	len = strspn(s, "01234567");
	if (len != 3 || s[3] || *s < '4')
		return refuse(at->p, n,
			      "mode must be octal, such as 0600 or 0755, and "
			      "let its owner read");
	at->f->mode = (unsigned)strtoul(s, NULL, 8);
	return 0;
}

static const struct schema json_is = { .kind = SCHEMA_JSON };
static const struct schema mode_is = { .kind = SCHEMA_TEXT,
				       .pattern = "0?[4-7][0-7][0-7]" };
static const struct key file_keys[] = {
	{ { "path", &blueprint_home_path_is }, read_path },
	{ { "text", &blueprint_text_is }, read_text },
	{ { "json", &json_is }, read_json },
	{ { "merge", &merge_is }, read_merge },
	{ { "always", &schema_bool }, read_always },
	{ { "mode", &mode_is }, read_mode },
};
static const char *const file_needs[] = { "path", NULL };
static const struct schema file_is = { SCHEMA_ROWS(file_keys),
				       .required = file_needs };
static const struct schema dropped_is = { .kind = SCHEMA_TEXT,
					  .pattern = "none|-[^/].*",
					  .max = BLUEPRINT_PATH_MAX + 1 };
static const struct schema *const either_file[] = { &file_is, &dropped_is,
						    NULL };
static const struct schema either_file_is = { .kind = SCHEMA_EITHER,
					      .either = either_file };
const struct schema blueprint_files_is = { .kind = SCHEMA_LIST,
					   .item = &either_file_is,
					   .max = BLUEPRINT_FILES_MAX };

static int check_file(const struct blueprint_place *p,
		      const struct yaml_node *n, const struct blueprint_file *f)
{
	if (!f->path)
		return missing(p, n, "a file needs path");
	if (!f->text)
		return missing(p, n, "a file needs text or json");
	if (f->merge && (!f->is_json || f->text[0] != '{'))
		return refuse(p, n, "merge needs json: a map");
	if (f->merge && f->always)
		return refuse(p, n,
			      "a file that is merged is not overwritten: leave "
			      "out merge or always");
	return 0;
}

static int read_file_keys(const struct place *at, const struct yaml_node *n)
{
	const struct blueprint_place *p = at->p;
	int all = yaml_tree_want_map(p->tree, n, p->err);

	for (const struct yaml_node *e = all == 0 ? n->first : NULL;
	     e && all >= 0; e = e->next) {
		const struct key *k =
			(const void *)schema_find(&file_is, e->key);
		int rc = k ? k->fn(at, e) :
			     blueprint_unknown(p->tree, e, &file_is, NULL,
					       p->err);

		rc = blueprint_note(p, rc);
		all = rc < 0 ? rc : all | rc;
	}
	return all;
}

static struct blueprint_file *file_find(const struct blueprint *bp,
					const char *path)
{
	for (size_t i = 0; i < bp->n_files; i++) {
		if (strcmp(bp->files[i].path, path) == 0)
			return &bp->files[i];
	}
	return NULL;
}

/* "-PATH": a parent's file that this blueprint does not have. */
static int drop_file(const struct blueprint_place *p, const struct yaml_node *n)
{
	struct blueprint *bp = p->bp;
	struct blueprint_file *f = file_find(bp, n->text + 1);

	if (!f) {
		yaml_tree_refuse(p->tree, n, p->err,
				 "no parent has the file '%s'", n->text + 1);
		return blueprint_code(p->err, MISTAKE_MISSING);
	}
	blueprint_file_done(f);
	bp->n_files--;
	memmove(f, f + 1, (size_t)(bp->files + bp->n_files - f) * sizeof(*f));
	bp->files[bp->n_files] = (struct blueprint_file){ 0 };
	return 0;
}

/* "none": no file of a parent. */
static int drop_files(const struct blueprint_place *p,
		      const struct yaml_node *n, const struct strv *seen)
{
	struct blueprint *bp = p->bp;

	if (seen->n > 0)
		return refuse(p, n,
			      "none must be the first of the list: it drops "
			      "those of the parent");
	while (bp->n_files > 0)
		blueprint_file_done(&bp->files[--bp->n_files]);
	return 0;
}

/* Puts @f in the place of a parent's of the same path, or behind all. @seen: the
 * paths of this file. */
static int put_file(const struct blueprint_place *p, const struct yaml_node *n,
		    const struct blueprint_file *f, struct strv *seen)
{
	struct blueprint *bp = p->bp;
	struct blueprint_file *had = file_find(bp, f->path);

	if (strv_has(seen, f->path))
		return blueprint_twice(p, yaml_child(n, "path"), f->path);
	if (!had && bp->n_files == BLUEPRINT_FILES_MAX)
		return blueprint_much(p, n, BLUEPRINT_FILES_MAX, "files");
	if (strv_push(seen, f->path) < 0)
		return err_nomem(p->err);
	if (had)
		blueprint_file_done(had);
	else
		had = &bp->files[bp->n_files++];
	*had = *f;
	return 0;
}

static int read_file(const struct blueprint_place *p, const struct yaml_node *n,
		     void *arg)
{
	struct blueprint_file f = { .mode = MODE_DEFAULT };
	const struct place at = { p, &f };
	int rc;

	if (n->kind == YAML_SCALAR && n->text[0] == '-')
		return drop_file(p, n);
	if (n->kind == YAML_SCALAR && strcmp(n->text, "none") == 0)
		return drop_files(p, n, arg);
	rc = read_file_keys(&at, n);
	if (rc == 0)
		rc = check_file(p, n, &f);
	if (rc == 0)
		rc = put_file(p, n, &f, arg);
	if (rc != 0)
		blueprint_file_done(&f);
	return rc;
}

int blueprint_read_files(const struct blueprint_place *p,
			 const struct yaml_node *n)
{
	struct blueprint *bp = p->bp;
	struct strv seen = { 0 };
	int rc;

	if (n->kind != YAML_LIST)
		return refuse(p, n, "files must be a list");
	if (!bp->files)
		bp->files = calloc(BLUEPRINT_FILES_MAX, sizeof(*bp->files));
	if (!bp->files)
		return err_nomem(p->err);
	rc = blueprint_each(p, n, read_file, &seen);
	strv_done(&seen);
	return rc;
}
