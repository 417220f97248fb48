/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_keys.c - what a blueprint starts, where and with which environment
 *
 * Version 2 has these keys in the map `run`, version 1 has some of them at the
 * top.
 */
#include "control/acd/blueprint/keys.h"

#include <stdlib.h>
#include <string.h>

#include "control/shared/names.h"

#define WORDS_MAX 256u /* of a command; entries of env */
#define PROMPT_WORD "{prompt}"
#define MEMBER_MAX 128u /* bytes of a member's path */

static int read_word(const struct blueprint_place *p, const struct yaml_node *n,
		     void *arg)
{
	struct strv *to = arg;
	const char *text = NULL;
	int rc = yaml_tree_string(p->tree, n, &text, p->err);

	if (rc < 0)
		return rc;
	if (to->n == WORDS_MAX)
		return blueprint_much(p, n, WORDS_MAX, "words");
	return strv_push(to, text) < 0 ? err_nomem(p->err) : 0;
}

/* [program, argument, ...] */
int blueprint_read_words(const struct blueprint_place *p,
			 const struct yaml_node *n, struct strv *ret)
{
	int rc;

	strv_done(ret);
	if (n->kind != YAML_LIST || !n->first)
		return yaml_tree_refuse(p->tree, n, p->err,
					"'%s' must be a list of words, such as "
					"[bash, -l]",
					n->key);
	rc = blueprint_each(p, n, read_word, ret);
	if (rc == 0 && ret->v[0][0] == '\0')
		return yaml_tree_refuse(p->tree, n->first, p->err,
					"the program's name is empty");
	return rc;
}

int blueprint_read_command(const struct blueprint_place *p,
			   const struct yaml_node *n)
{
	return blueprint_read_words(p, n, &p->bp->command);
}

int blueprint_read_shell(const struct blueprint_place *p,
			 const struct yaml_node *n)
{
	return blueprint_read_words(p, n, &p->bp->shell);
}

int blueprint_read_workdir(const struct blueprint_place *p,
			   const struct yaml_node *n)
{
	int rc = blueprint_read_string(p, n, &p->bp->workdir);

	if (rc == 0 && p->bp->workdir[0] != '/')
		return yaml_tree_refuse(p->tree, n, p->err,
					"workdir must be an absolute path");
	return rc;
}

/* Replaces the entry of the same name. */
static int env_put(const struct blueprint_place *p, const struct yaml_node *n,
		   const char *entry)
{
	struct strv *env = &p->bp->env;

	if (env->n == WORDS_MAX && strv_find_env(env, entry) < 0)
		return blueprint_much(p, n, WORDS_MAX, "entries of env");
	return strv_put_env(env, entry) < 0 ? err_nomem(p->err) : 0;
}

static int read_env_entry(const struct blueprint_place *p,
			  const struct yaml_node *n, void *arg)
{
	SCOPED_STR entry = NULL;
	struct err why = { 0 };
	const char *value = NULL;
	int rc = yaml_tree_string(p->tree, n, &value, p->err);

	(void)arg;
	if (rc < 0)
		return rc;
	entry = str_printf("%s=%s", n->key, value);
	if (!entry)
		return err_nomem(p->err);
	if (name_check_env(entry, &why) < 0)
		return yaml_tree_refuse(p->tree, n, p->err, "%s", why.msg);
	return env_put(p, n, entry);
}

int blueprint_read_env(const struct blueprint_place *p,
		       const struct yaml_node *n)
{
	if (n->kind != YAML_MAP)
		return yaml_tree_refuse(p->tree, n, p->err,
					"env must be a map of NAME: value");
	return blueprint_each(p, n, read_env_entry, NULL);
}

/* ---- of version 2 alone ---- */

static const char *const args_words[] = { "replace", "append", NULL };
static const struct schema args_is = SCHEMA_WORDS(args_words);

static int read_args(const struct blueprint_place *p, const struct yaml_node *n)
{
	int rc = blueprint_read_word(p, n, &args_is,
				     "args must be append or replace");

	if (rc < 0)
		return rc;
	p->bp->args_append = rc == 1;
	return 0;
}

static int read_headless(const struct blueprint_place *p,
			 const struct yaml_node *n)
{
	unsigned found = 0;
	int rc = blueprint_read_words(p, n, &p->bp->headless);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < p->bp->headless.n; i++) {
		const char *at = p->bp->headless.v[i];

		for (; (at = strstr(at, PROMPT_WORD)); at++)
			found++;
	}
	if (found != 1)
		return yaml_tree_refuse(p->tree, n, p->err,
					"one word of headless must have "
					"{prompt}, once");
	return 0;
}

static int read_resume(const struct blueprint_place *p,
		       const struct yaml_node *n)
{
	return blueprint_read_words(p, n, &p->bp->resume);
}

/* .a.b: members of objects */
static bool is_member_path(const char *s)
{
	size_t len;

	if (*s != '.' || strlen(s) > MEMBER_MAX)
		return false;
	for (; *s == '.'; s += 1 + len) {
		len = strspn(s + 1, "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
		if (len == 0)
			return false;
	}
	return *s == '\0';
}

static int read_member(const struct blueprint_place *p,
		       const struct yaml_node *n, char **at)
{
	int rc = blueprint_read_string(p, n, at);

	if (rc == 0 && !is_member_path(*at))
		return yaml_tree_refuse(p->tree, n, p->err,
					"%s must be the path of a member, such "
					"as .result",
					n->key);
	return rc;
}

static int read_result_json(const struct blueprint_place *p,
			    const struct yaml_node *n)
{
	return read_member(p, n, &p->bp->result_json);
}

static int read_result_usage(const struct blueprint_place *p,
			     const struct yaml_node *n)
{
	return read_member(p, n, &p->bp->result_usage);
}

static const struct schema member_is = {
	.kind = SCHEMA_FORM,
	.pattern = "(\\.[A-Za-z0-9_-]+)+",
	.max = MEMBER_MAX,
};
static const struct blueprint_key result_keys[] = {
	{ { "json", &member_is }, read_result_json },
	{ { "usage", &member_is }, read_result_usage },
};
static const struct schema result_map_is = { SCHEMA_ROWS(result_keys) };
static const char *const text_words[] = { "text", NULL };
static const struct schema text_is = SCHEMA_WORDS(text_words);
static const struct schema *const either_result[] = { &text_is, &result_map_is,
						      NULL };
static const struct schema result_is = { .kind = SCHEMA_EITHER,
					 .either = either_result };

static int read_result(const struct blueprint_place *p,
		       const struct yaml_node *n)
{
	int rc;

	if (n->kind == YAML_SCALAR && strcmp(n->text, "text") == 0) {
		free(ptr_take(&p->bp->result_json));
		free(ptr_take(&p->bp->result_usage));
		return 0;
	}
	if (n->kind != YAML_MAP)
		return yaml_tree_refuse(p->tree, n, p->err,
					"result must be text, or a map of json "
					"and usage");
	rc = blueprint_read_map(p, n, &result_map_is);
	if (rc != 0 || p->bp->result_json)
		return rc;
	yaml_tree_refuse(p->tree, n, p->err,
			 "result needs json: the member that is the last "
			 "message");
	return blueprint_code(p->err, MISTAKE_MISSING);
}

const struct schema blueprint_words_is = {
	.kind = SCHEMA_LIST, .item = &schema_text, .min = 1, .max = WORDS_MAX
};
const struct schema blueprint_workdir_is = { .kind = SCHEMA_FORM,
					     .pattern = "/.*" };
const struct schema blueprint_env_is = { .kind = SCHEMA_NAMED,
					 .item = &schema_text,
					 .pattern = "[A-Za-z_][A-Za-z0-9_]*" };
static const struct blueprint_key run_keys[] = {
	{ { "command", &blueprint_words_is }, blueprint_read_command },
	{ { "args", &args_is }, read_args },
	{ { "headless", &blueprint_words_is }, read_headless },
	{ { "resume", &blueprint_words_is }, read_resume },
	{ { "result", &result_is }, read_result },
	{ { "shell", &blueprint_words_is }, blueprint_read_shell },
	{ { "workdir", &blueprint_workdir_is }, blueprint_read_workdir },
	{ { "env", &blueprint_env_is }, blueprint_read_env },
	{ { "model_url", &blueprint_model_is }, blueprint_read_model },
};
const struct schema blueprint_run_is = { SCHEMA_ROWS(run_keys) };

int blueprint_read_run(const struct blueprint_place *p,
		       const struct yaml_node *n)
{
	return blueprint_read_map(p, n, &blueprint_run_is);
}
