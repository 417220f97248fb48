/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt_keys.c - the key `prompt` of a blueprint: rules, and where they go
 *
 * The texts of presets are read with the blueprint. So a start uses what `ac
 * blueprint check` has checked, and a preset that is missing is told where it is
 * named. As in egress, presets are added to those of a parent.
 */
#include "control/acd/blueprint/keys.h"

#include <stdlib.h>

#include "control/acd/preset/preset.h"
#include "lib/str.h"

static int read_prompt_text(const struct blueprint_place *p,
			    const struct yaml_node *n)
{
	int rc = blueprint_read_string(p, n, &p->bp->prompt);

	return rc == 0 ? blueprint_check_text(p, n, p->bp->prompt) : rc;
}

static int read_prompt_paths(const struct blueprint_place *p,
			     const struct yaml_node *n)
{
	return blueprint_read_home_paths(p, n, "[.claude/CLAUDE.md]",
					 &p->bp->prompt_paths);
}

/* Appends @text to the rules, after an empty line. */
static int add_rules(struct blueprint *bp, const char *text)
{
	char *longer = str_printf("%s%s%s",
				  bp->prompt_rules ? bp->prompt_rules : "",
				  bp->prompt_rules ? "\n" : "", text);

	if (!longer)
		return -ENOMEM;
	free(bp->prompt_rules);
	bp->prompt_rules = longer;
	return 0;
}

static int read_preset(const struct blueprint_place *p,
		       const struct yaml_node *n, void *arg)
{
	struct preset preset = { 0 };
	struct strv *to = arg;
	struct err why = { 0 };
	const char *name = NULL;
	int rc = yaml_tree_string(p->tree, n, &name, p->err);

	if (rc < 0 || strv_has(to, name))
		return rc;
	if (to->n == PRESET_USE_MAX)
		return blueprint_much(p, n, PRESET_USE_MAX, "presets");
	rc = preset_load(PRESET_PROMPTS, name, &preset, &why);
	if (rc == -ENOMEM)
		return err_nomem(p->err);
	if (rc < 0) {
		yaml_tree_refuse(p->tree, n, p->err, "%s", why.msg);
		return rc == -ENOENT ? blueprint_code(p->err, MISTAKE_MISSING) :
				       -EINVAL;
	}
	rc = add_rules(p->bp, preset.text);
	preset_done(&preset);
	return rc < 0 || strv_push(to, name) < 0 ? err_nomem(p->err) : 0;
}

static int read_prompt_use(const struct blueprint_place *p,
			   const struct yaml_node *n)
{
	if (n->kind != YAML_LIST)
		return yaml_tree_refuse(p->tree, n, p->err,
					"use must be a list, such as "
					"[git-workflow]");
	return blueprint_each(p, n, read_preset, &p->bp->prompt_use);
}

static const struct schema name_is = { .kind = SCHEMA_TEXT,
				       .pattern = "[a-z0-9][a-z0-9_.-]{1,62}" };
static const struct schema use_is = { .kind = SCHEMA_LIST,
				      .item = &name_is,
				      .max = PRESET_USE_MAX };
static const struct blueprint_key prompt_keys[] = {
	{ { "text", &blueprint_text_is }, read_prompt_text },
	{ { "use", &use_is }, read_prompt_use },
	{ { "paths", &blueprint_home_paths_is }, read_prompt_paths },
};
const struct schema blueprint_prompt_is = { SCHEMA_ROWS(prompt_keys) };

int blueprint_read_prompt(const struct blueprint_place *p,
			  const struct yaml_node *n)
{
	return blueprint_read_map(p, n, &blueprint_prompt_is);
}
