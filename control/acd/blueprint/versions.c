/* SPDX-License-Identifier: Apache-2.0 */
/*
 * versions.c - the keys of both versions of a blueprint
 *
 * Both give the same struct blueprint. A key of the other version is known, and
 * refused with what to write instead.
 */
#include <string.h>

#include "control/acd/blueprint/credential_keys.h"
#include "control/acd/blueprint/egress_keys.h"
#include "control/acd/blueprint/keys.h"
#include "control/acd/blueprint/limit_keys.h"
#include "control/shared/names.h"

#define DEPTH_MAX 8u /* of all but files: lists and maps within each other */
#define SCALAR_MAX 8192u /* of all but files and prompt */

/* Texts of files may be long, and their JSON deep. */
static const struct yaml_limits limits = {
	.depth = YAML_DEPTH_MAX,
	.keys = 4096,
	.nodes = 4096,
	.scalar = BLUEPRINT_TEXT_MAX,
};

int blueprint_tree(const char *text, size_t len, const char *file,
		   struct yaml_tree *ret, struct err *err)
{
	int rc;

	if (len > BLUEPRINT_FILE_MAX) {
		err_set(err, -EINVAL, "%s: larger than %u KiB", file,
			BLUEPRINT_FILE_MAX / 1024);
		return blueprint_code(err, MISTAKE_LIMIT);
	}
	rc = yaml_tree_parse(text, len, file, &limits, ret, err);
	if (rc == -EINVAL)
		blueprint_code(err, MISTAKE_YAML);
	return rc;
}

/* ---- keys of the other version ---- */

static int read_version(const struct blueprint_place *p,
			const struct yaml_node *n)
{
	(void)p;
	(void)n; /* It has chosen the table. */
	return 0;
}

static int refuse_new(const struct blueprint_place *p,
		      const struct yaml_node *n)
{
	yaml_tree_refuse(p->tree, n, p->err, "'%s' needs 'version: 2'", n->key);
	return blueprint_code(p->err, MISTAKE_VERSION);
}

static int refuse_moved(const struct blueprint_place *p,
			const struct yaml_node *n)
{
	yaml_tree_refuse(p->tree, n, p->err,
			 "'%s' is 'run: { %s }' in version 2", n->key, n->key);
	return blueprint_code(p->err, MISTAKE_VERSION);
}

/* `limits` of version 1 are `resources` of version 2. */
static int refuse_renamed(const struct blueprint_place *p,
			  const struct yaml_node *n)
{
	bool old = strcmp(n->key, "limits") == 0;

	yaml_tree_refuse(p->tree, n, p->err, "'%s' is '%s' in version %s",
			 n->key, old ? "resources" : "limits", old ? "2" : "1");
	err_hint(p->err, old ? "resources" : "limits");
	return blueprint_code(p->err, MISTAKE_VERSION);
}

/* The parent has been read already. */
static int read_extends(const struct blueprint_place *p,
			const struct yaml_node *n)
{
	struct err why = { 0 };
	const char *name = NULL;
	int rc = yaml_tree_string(p->tree, n, &name, p->err);

	if (rc == 0 && name_check_blueprint(name, &why) < 0)
		return yaml_tree_refuse(p->tree, n, p->err, "extends: %s",
					why.msg);
	return rc < 0 ? rc : blueprint_read_string(p, n, &p->bp->extends);
}

/* ---- the tables ---- */

static const struct schema version1_number = { .kind = SCHEMA_NUMBER,
					       .min = 1,
					       .max = 1 };
static const struct schema version2_number = { .kind = SCHEMA_NUMBER,
					       .min = 2,
					       .max = 2 };

#define SHARED_KEYS                                                      \
	{ { "description", &blueprint_description_is },                  \
	  blueprint_read_description },                                  \
		{ { "isolation", &blueprint_isolation_is },              \
		  blueprint_read_isolation },                            \
		{ { "credentials", &blueprint_credentials_is },          \
		  blueprint_read_credentials },                          \
		{ { "pool", &blueprint_pool_is }, blueprint_read_life }, \
		{ { "ttl", &blueprint_life_is }, blueprint_read_life },  \
		{ { "idle", &blueprint_life_is }, blueprint_read_life }, \
		{ { "hibernate_after", &blueprint_life_is },             \
		  blueprint_read_life },                                 \
		{ { "filesystem", &blueprint_filesystem_is },            \
		  blueprint_read_filesystem },                           \
	{                                                                \
		{ "blocked_paths", &blueprint_blocked_is },              \
			blueprint_read_blocked                           \
	}

static const struct blueprint_key keys1[] = {
	{ { "version", &version1_number }, read_version },
	{ { "image", &blueprint_name_is }, blueprint_read_image1 },
	SHARED_KEYS,
	{ { "limits", &blueprint_limits_is }, blueprint_read_limits },
	{ { "command", &blueprint_words_is }, blueprint_read_command },
	{ { "shell", &blueprint_words_is }, blueprint_read_shell },
	{ { "workdir", &blueprint_workdir_is }, blueprint_read_workdir },
	{ { "env", &blueprint_env_is }, blueprint_read_env },
	{ { "egress", &blueprint_egress1_is }, blueprint_read_egress1 },
	{ { "extends", NULL }, refuse_new },
	{ { "resources", NULL }, refuse_renamed },
	{ { "run", NULL }, refuse_new },
	{ { "files", NULL }, refuse_new },
	{ { "prompt", NULL }, refuse_new },
	{ { "skills", NULL }, refuse_new },
	{ { "mounts", NULL }, refuse_new },
};
static const struct blueprint_key keys2[] = {
	{ { "version", &version2_number }, read_version },
	{ { "image", &blueprint_image_is }, blueprint_read_image2 },
	SHARED_KEYS,
	{ { "extends", &blueprint_name_is }, read_extends },
	{ { "resources", &blueprint_limits_is }, blueprint_read_limits },
	{ { "run", &blueprint_run_is }, blueprint_read_run },
	{ { "egress", &blueprint_egress2_is }, blueprint_read_egress2 },
	{ { "files", &blueprint_files_is }, blueprint_read_files },
	{ { "prompt", &blueprint_prompt_is }, blueprint_read_prompt },
	{ { "skills", &blueprint_skills_is }, blueprint_read_skills },
	{ { "mounts", &blueprint_mounts_is }, blueprint_read_mounts },
	{ { "limits", NULL }, refuse_renamed },
	{ { "command", NULL }, refuse_moved },
	{ { "shell", NULL }, refuse_moved },
	{ { "workdir", NULL }, refuse_moved },
	{ { "env", NULL }, refuse_moved },
};
static const char *const needs1[] = { "version", "image", NULL };
static const char *const needs2[] = { "version", NULL };
const struct schema blueprint_version1_is = { SCHEMA_ROWS(keys1),
					      .required = needs1 };
const struct schema blueprint_version2_is = { SCHEMA_ROWS(keys2),
					      .required = needs2 };
static const struct schema *const either[] = { &blueprint_version2_is,
					       &blueprint_version1_is, NULL };
const struct schema blueprint_schema = { .kind = SCHEMA_EITHER,
					 .either = either };

/* ---- a document ---- */

static int refuse_much(const struct blueprint_place *p,
		       const struct yaml_node *n, const char *text)
{
	yaml_tree_refuse(p->tree, n, p->err, "%s", text);
	return blueprint_code(p->err, MISTAKE_LIMIT);
}

static int check_size(const struct blueprint_place *p,
		      const struct yaml_node *n, unsigned depth, size_t scalar)
{
	int rc = 0;

	if ((n->key && strlen(n->key) > SCALAR_MAX) ||
	    (n->kind == YAML_SCALAR && strlen(n->text) > scalar))
		return refuse_much(p, n, "the text is too long");
	if (n->kind != YAML_SCALAR && depth == 0)
		return refuse_much(p, n, "nested too deeply");
	for (const struct yaml_node *c = n->first; c && rc == 0; c = c->next)
		rc = check_size(p, c, depth - 1, scalar);
	return rc;
}

/* Reads the key @n of the top by the table @arg. */
static int read_key(const struct blueprint_place *p, const struct yaml_node *n,
		    void *arg)
{
	const struct schema *is = *(const struct schema **)arg;
	const struct blueprint_key *k = (const void *)schema_find(is, n->key);
	bool files = strcmp(n->key, "files") == 0;
	bool prompt = strcmp(n->key, "prompt") == 0;
	int rc = check_size(p, n, files ? YAML_DEPTH_MAX : DEPTH_MAX - 1,
			    files || prompt ? BLUEPRINT_TEXT_MAX : SCALAR_MAX);

	if (rc < 0)
		return rc;
	return k ? k->fn(p, n) :
		   blueprint_unknown(p->tree, n, is, NULL, p->err);
}

static int refuse_version(const struct blueprint_place *p,
			  const struct yaml_node *n, const char *text,
			  const char *code)
{
	yaml_tree_refuse(p->tree, n, p->err, "%s", text);
	return blueprint_code(p->err, code);
}

static int version_of(const struct blueprint_place *p,
		      const struct schema **ret)
{
	const struct yaml_node *n = yaml_child(p->tree->root, "version");

	if (!n)
		return refuse_version(p, p->tree->root,
				      "'version: 1' is missing, or version: 2",
				      MISTAKE_MISSING);
	if (n->kind == YAML_SCALAR && !n->quoted && strcmp(n->text, "1") == 0)
		*ret = &blueprint_version1_is;
	else if (n->kind == YAML_SCALAR && !n->quoted &&
		 strcmp(n->text, "2") == 0)
		*ret = &blueprint_version2_is;
	else
		return refuse_version(p, n,
				      "this ac knows blueprints of version 1 "
				      "and 2 only",
				      MISTAKE_VERSION);
	return 0;
}

/* What can only be judged when all is read. One that is wrong for a mistake that
 * has been noted is no mistake. */
static int check_whole(const struct blueprint_place *p)
{
	const struct yaml_node *root = p->tree->root;
	bool good = !p->mistakes || p->mistakes->n == 0;

	if (p->bp->image)
		return good ? blueprint_check_home(p) : 0;
	if (!good && (yaml_child(root, "extends") || yaml_child(root, "image")))
		return 0;
	yaml_tree_refuse(p->tree, root, p->err, "'image' is missing");
	return blueprint_code(p->err, MISTAKE_MISSING);
}

int blueprint_read(const struct blueprint_place *p)
{
	const struct yaml_node *root = p->tree->root;
	const struct schema *is = NULL;
	int rc, whole;

	if (!root) {
		yaml_tree_refuse(p->tree, NULL, p->err, "the file is empty");
		return blueprint_note(p,
				      blueprint_code(p->err, MISTAKE_MISSING));
	}
	rc = yaml_tree_want_map(p->tree, root, p->err);
	if (rc == 0)
		rc = version_of(p, &is);
	if (rc < 0)
		return blueprint_note(p, rc);
	rc = blueprint_each(p, root, read_key, &is);
	if (rc < 0)
		return rc;
	whole = blueprint_note(p, check_whole(p));
	return whole < 0 ? whole : rc | whole;
}
