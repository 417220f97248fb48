/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress_keys.c - the key `egress` of a blueprint
 *
 * Limits are passed to the gateway, whose loader knows their meaning. Here they
 * are only checked to be words and numbers, so that writing them again does not
 * change them.
 */
#include "control/acd/blueprint/egress_keys.h"

#include <string.h>

#include "control/acd/blueprint/keys.h"
#include "lib/target.h"

#define LIMITS_MAX 4096u /* bytes, written as one line */

struct place {
	const struct blueprint_place *bp;
	struct egress *e;
};

static int refuse(const struct place *p, const struct yaml_node *n,
		  const char *text)
{
	return yaml_tree_refuse(p->bp->tree, n, p->bp->err, "%s", text);
}

static const char *const mode_words[] = { "locked", "balanced", "open", NULL };
static const struct schema mode_is = SCHEMA_WORDS(mode_words);

static int read_mode(const struct place *p, const struct yaml_node *n)
{
	int rc = blueprint_read_word(p->bp, n, &mode_is,
				     "mode must be locked, balanced or open");

	return rc < 0 ? rc : egress_mode_parse(n->text, &p->e->mode);
}

/* A list of strings, and what adds one. */
struct strings {
	const struct place *p;
	int (*add)(const struct place *p, const char *text, struct err *err);
};

static int read_string(const struct blueprint_place *bp,
		       const struct yaml_node *n, void *arg)
{
	const struct strings *l = arg;
	struct err why = { 0 };
	const char *text = NULL;
	int rc = yaml_tree_string(bp->tree, n, &text, bp->err);

	if (rc < 0)
		return rc;
	rc = l->add(l->p, text, &why);
	return rc < 0 ? refuse(l->p, n, why.msg) : 0;
}

/* Calls a function for each string of a list. */
static int read_list(const struct place *p, const struct yaml_node *n,
		     int (*add)(const struct place *p, const char *text,
				struct err *err))
{
	struct strings l = { p, add };

	if (n->kind != YAML_LIST)
		return refuse(p, n, "a list is wanted here");
	return blueprint_each(p->bp, n, read_string, &l);
}

static int add_preset(const struct place *p, const char *text, struct err *err)
{
	return egress_add_preset(p->e, text, err);
}

static int add_allow(const struct place *p, const char *text, struct err *err)
{
	int rc = egress_check_allowable(text, err);

	return rc == 0 ? egress_add_target(&p->e->allow, text, err) : rc;
}

static int add_deny(const struct place *p, const char *text, struct err *err)
{
	return egress_add_target(&p->e->deny, text, err);
}

static int read_presets(const struct place *p, const struct yaml_node *n)
{
	return read_list(p, n, add_preset);
}

static int read_allow(const struct place *p, const struct yaml_node *n)
{
	return read_list(p, n, add_allow);
}

static int read_deny(const struct place *p, const struct yaml_node *n)
{
	return read_list(p, n, add_deny);
}

static bool is_word(const char *s)
{
	return *s && s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789_./-")] == '\0';
}

static int write_limits(const struct place *p, const struct yaml_node *n,
			const struct yaml_node *old, bool inner,
			struct buf *out);

/* @old: the parent's limit of the same name, or NULL. */
static int write_limit(const struct place *p, const struct yaml_node *n,
		       const struct yaml_node *old, bool inner, bool first,
		       struct buf *out)
{
	int rc;

	if (!is_word(n->key) ||
	    (n->kind == YAML_SCALAR ? !is_word(n->text) :
				      n->kind != YAML_MAP || inner))
		return refuse(p, n,
			      "a limit must be a word or a "
			      "number, such as 256 or 50/s");
	rc = buf_printf(out, "%s%s: ", first ? "" : ", ", n->key);
	if (rc < 0)
		return rc;
	if (n->kind == YAML_MAP)
		return write_limits(p, n, old, true, out);
	return buf_printf(out, "%s", n->text);
}

/* Writes a map of words, or of such maps; first what only the map @old has. */
static int write_limits(const struct place *p, const struct yaml_node *n,
			const struct yaml_node *old, bool inner,
			struct buf *out)
{
	const struct yaml_node *i = old && old->kind == YAML_MAP ? old->first :
								   NULL;
	bool first = true;
	int rc = buf_printf(out, "{ ");

	for (; rc >= 0 && i; i = i->next) {
		if (yaml_child(n, i->key))
			continue;
		rc = write_limit(p, i, NULL, inner, first, out);
		first = false;
	}
	for (i = n->first; rc >= 0 && i; i = i->next) {
		rc = write_limit(p, i, yaml_child(old, i->key), inner, first,
				 out);
		first = false;
	}
	return rc >= 0 ? buf_printf(out, " }") : rc;
}

/* Returns the text of the limits @n, over those that a parent has set. */
static int merge_limits(const struct place *p, const struct yaml_node *n,
			struct buf *out)
{
	const char *had = p->e->limits ? p->e->limits : "{}";
	struct yaml_tree old = { 0 };
	int rc = yaml_tree_parse(had, strlen(had), "limits", &yaml_small, &old,
				 p->bp->err);

	if (rc == 0)
		rc = write_limits(p, n, old.root, false, out);
	if (rc >= 0)
		rc = buf_append(out, "", 1);
	yaml_tree_done(&old);
	return rc;
}

static int read_limits(const struct place *p, const struct yaml_node *n)
{
	struct buf out;
	char *text;
	int rc = yaml_tree_want_map(p->bp->tree, n, p->bp->err);

	if (rc < 0)
		return rc;
	buf_init(&out, LIMITS_MAX);
	rc = merge_limits(p, n, &out);
	if (rc >= 0) {
		text = strdup((const char *)buf_slice(&out).ptr);
		rc = text ? 0 : err_nomem(p->bp->err);
		if (text) {
			free(p->e->limits);
			p->e->limits = text;
		}
	} else if (rc == -ENOMEM) {
		rc = err_nomem(p->bp->err);
	} else if (rc != -EINVAL) {
		refuse(p, n, "these limits are too long");
		rc = blueprint_code(p->bp->err, MISTAKE_LIMIT);
	}
	buf_done(&out);
	return rc;
}

static int refuse_use(const struct place *p, const struct yaml_node *n)
{
	refuse(p, n, "'use' needs 'version: 2'; in version 1 it is 'presets'");
	return blueprint_code(p->bp->err, MISTAKE_VERSION);
}

static int refuse_presets(const struct place *p, const struct yaml_node *n)
{
	refuse(p, n, "'presets' is 'use' in version 2");
	return blueprint_code(p->bp->err, MISTAKE_VERSION);
}

static const struct schema presets_is = { .kind = SCHEMA_LIST,
					  .item = &schema_text,
					  .max = EGRESS_PRESETS_MAX };
static const struct schema target_is = { .kind = SCHEMA_TEXT,
					 .max = TARGET_HOST_MAX };
static const struct schema targets_is = { .kind = SCHEMA_LIST,
					  .item = &target_is,
					  .max = EGRESS_TARGETS_MAX };
/* Words that the gateway's loader judges. */
static const struct schema limit_word_is = { .kind = SCHEMA_TEXT,
					     .pattern = "[A-Za-z0-9_./-]+" };
static const struct schema limit_map_is = { .kind = SCHEMA_NAMED,
					    .item = &limit_word_is,
					    .pattern = "[A-Za-z0-9_./-]+" };
static const struct schema *const either_limit[] = { &limit_word_is,
						     &limit_map_is, NULL };
static const struct schema limit_is = { .kind = SCHEMA_EITHER,
					.either = either_limit };
static const struct schema limits_is = { .kind = SCHEMA_NAMED,
					 .item = &limit_is,
					 .pattern = "[A-Za-z0-9_./-]+" };

struct key {
	struct schema_key is;
	int (*fn)(const struct place *p, const struct yaml_node *n);
};
static const struct key keys1[] = {
	{ { "mode", &mode_is }, read_mode },
	{ { "presets", &presets_is }, read_presets },
	{ { "allow", &targets_is }, read_allow },
	{ { "deny", &targets_is }, read_deny },
	{ { "limits", &limits_is }, read_limits },
	{ { "use", NULL }, refuse_use },
};
static const struct key keys2[] = {
	{ { "mode", &mode_is }, read_mode },
	{ { "use", &presets_is }, read_presets },
	{ { "allow", &targets_is }, read_allow },
	{ { "deny", &targets_is }, read_deny },
	{ { "limits", &limits_is }, read_limits },
	{ { "presets", NULL }, refuse_presets },
};
static const struct key build_keys[] = {
	{ { "use", &presets_is }, read_presets },
	{ { "allow", &targets_is }, read_allow },
	{ { "deny", &targets_is }, read_deny },
};
const struct schema blueprint_egress_build_is = { SCHEMA_ROWS(build_keys) };
const struct schema blueprint_egress1_is = { SCHEMA_ROWS(keys1) };
const struct schema blueprint_egress2_is = { SCHEMA_ROWS(keys2) };

static int read_egress(const struct blueprint_place *bp, struct egress *to,
		       const struct yaml_node *n, const struct schema *is,
		       const char *has)
{
	const struct place p = { bp, to };
	int all = yaml_tree_want_map(bp->tree, n, bp->err);

	for (const struct yaml_node *k = all == 0 ? n->first : NULL;
	     k && all >= 0; k = k->next) {
		const struct key *key = (const void *)schema_find(is, k->key);
		int rc = key ? key->fn(&p, k) :
			       blueprint_unknown(bp->tree, k, is, has, bp->err);

		rc = blueprint_note(bp, rc);
		all = rc < 0 ? rc : all | rc;
	}
	return all;
}

int blueprint_read_egress1(const struct blueprint_place *p,
			   const struct yaml_node *n)
{
	return read_egress(p, &p->bp->egress, n, &blueprint_egress1_is,
			   "egress has mode, presets, allow, deny and limits");
}

int blueprint_read_egress2(const struct blueprint_place *p,
			   const struct yaml_node *n)
{
	return read_egress(p, &p->bp->egress, n, &blueprint_egress2_is,
			   "egress has mode, use, allow, deny and limits");
}

int blueprint_read_egress_build(const struct blueprint_place *p,
				const struct yaml_node *n)
{
	return read_egress(p, &p->bp->build.egress, n,
			   &blueprint_egress_build_is,
			   "egress of an image has use, allow and deny");
}
