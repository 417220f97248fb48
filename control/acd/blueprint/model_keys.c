/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_keys.c - the key `model_url` of a blueprint's `run`
 */
#include "control/acd/blueprint/keys.h"

#include <stdlib.h>
#include <string.h>

/* The same reader as for `run: {env}`, over those that are here. */
static int read_env(const struct blueprint_place *p, const struct yaml_node *n)
{
	struct blueprint other = { .env = p->bp->model.env };
	struct blueprint_place q = *p;
	int rc;

	q.bp = &other;
	rc = blueprint_read_env(&q, n);
	p->bp->model.env = other.env;
	return rc;
}

static int read_args(const struct blueprint_place *p, const struct yaml_node *n)
{
	return blueprint_read_words(p, n, &p->bp->model.args);
}

static int read_without(const struct blueprint_place *p,
			const struct yaml_node *n)
{
	return blueprint_read_words(p, n, &p->bp->model.without);
}

static int read_keys(const struct blueprint_place *p, const struct yaml_node *n)
{
	return blueprint_read_words(p, n, &p->bp->model.keys);
}

/* A path and its JSON, read as an entry of `files` is. */
static int read_json_file(const struct blueprint_place *p,
			  const struct yaml_node *n, void *arg)
{
	struct blueprint *bp = p->bp;
	struct blueprint other = { .files = bp->model.files,
				   .n_files = bp->model.n_files };
	struct blueprint_place q = *p;
	struct yaml_node merge = { .text = "json",
				   .key = "merge",
				   .line = n->line,
				   .column = n->column };
	struct yaml_node json = *n;
	struct yaml_node path = { .text = n->key,
				  .key = "path",
				  .quoted = true,
				  .line = n->key_line,
				  .column = n->key_column };
	struct yaml_node map = { .kind = YAML_MAP,
				 .first = &path,
				 .line = n->line,
				 .column = n->column };
	struct yaml_node list = { .kind = YAML_LIST,
				  .first = &map,
				  .line = n->line,
				  .column = n->column };
	int rc;

	(void)arg;
	if (other.n_files == MODEL_FILES_MAX)
		return blueprint_much(p, n, MODEL_FILES_MAX, "files");
	json.key = "json";
	json.next = NULL;
	path.kind = merge.kind = YAML_SCALAR;
	path.next = &json;
	json.next = &merge;
	q.bp = &other;
	rc = blueprint_read_files(&q, &list);
	bp->model.files = other.files;
	bp->model.n_files = other.n_files;
	return rc;
}

static int read_json(const struct blueprint_place *p, const struct yaml_node *n)
{
	int rc = yaml_tree_want_map(p->tree, n, p->err);

	return rc < 0 ? rc : blueprint_each(p, n, read_json_file, NULL);
}

static const struct schema any = { .kind = SCHEMA_ANY };
static const struct schema json_is = { .kind = SCHEMA_NAMED, .item = &any };

static const struct blueprint_key model_keys[] = {
	{ { "env", &blueprint_env_is }, read_env },
	{ { "args", &blueprint_words_is }, read_args },
	{ { "json", &json_is }, read_json },
	{ { "without", &blueprint_words_is }, read_without },
	{ { "keys", &blueprint_words_is }, read_keys },
};
const struct schema blueprint_model_is = { SCHEMA_ROWS(model_keys) };

int blueprint_read_model(const struct blueprint_place *p,
			 const struct yaml_node *n)
{
	p->bp->model.given = true;
	return blueprint_read_map(p, n, &blueprint_model_is);
}
