/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress_keys.c - the key `egress` of a blueprint
 *
 * Limits are handed on to the gateway, whose loader knows what they mean:
 * here they are only held to words and numbers, so that they stay what they
 * are when they are written again.
 */
#include "control/acd/blueprint/egress_keys.h"

#include <string.h>

#define LIMITS_MAX 4096u /* bytes, written as one line */

struct place {
	const struct yaml_tree *tree;
	struct egress *e;
	struct err *err;
};

static int refuse(const struct place *p, const struct yaml_node *n,
		  const char *text)
{
	return yaml_tree_refuse(p->tree, n, p->err, "%s", text);
}

static int read_mode(const struct place *p, const struct yaml_node *n)
{
	if (n->kind != YAML_SCALAR ||
	    egress_mode_parse(n->text, &p->e->mode) < 0)
		return refuse(p, n, "mode must be locked, balanced or open");
	return 0;
}

/* Each string of a list. */
static int read_list(const struct place *p, const struct yaml_node *n,
		     int (*add)(const struct place *p, const char *text,
				struct err *err))
{
	if (n->kind != YAML_LIST)
		return refuse(p, n, "a list is wanted here");
	for (const struct yaml_node *i = n->first; i; i = i->next) {
		struct err why = { 0 };
		const char *text = NULL;
		int r = yaml_tree_string(p->tree, i, &text, p->err);

		if (r < 0)
			return r;
		r = add(p, text, &why);
		if (r < 0)
			return refuse(p, i, why.msg);
	}
	return 0;
}

static int add_preset(const struct place *p, const char *text, struct err *err)
{
	return egress_add_preset(p->e, text, err);
}

static int add_allow(const struct place *p, const char *text, struct err *err)
{
	int r = egress_check_allowable(text, err);

	return r == 0 ? egress_add_target(&p->e->allow, text, err) : r;
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

/* A map of words, or of such maps once more. */
static int write_limits(const struct place *p, const struct yaml_node *n,
			bool inner, struct buf *out)
{
	int r = buf_printf(out, "{ ");

	for (const struct yaml_node *i = n->first; r >= 0 && i; i = i->next) {
		if (!is_word(i->key) ||
		    (i->kind == YAML_SCALAR ? !is_word(i->text) :
					      i->kind != YAML_MAP || inner))
			return refuse(p, i,
				      "a limit must be a word or a "
				      "number, such as 256 or 50/s");
		r = buf_printf(out, "%s: ", i->key);
		if (r >= 0 && i->kind == YAML_MAP)
			r = write_limits(p, i, true, out);
		else if (r >= 0)
			r = buf_printf(out, "%s", i->text);
		if (r >= 0 && i->next)
			r = buf_printf(out, ", ");
	}
	if (r >= 0)
		r = buf_printf(out, " }");
	return r;
}

static int read_limits(const struct place *p, const struct yaml_node *n)
{
	struct buf out;
	int r;

	if (n->kind != YAML_MAP)
		return refuse(p, n, "a map (key: value) is wanted here");
	buf_init(&out, LIMITS_MAX);
	r = write_limits(p, n, false, &out);
	if (r >= 0)
		r = buf_append(&out, "", 1);
	if (r >= 0) {
		p->e->limits = strdup((const char *)buf_slice(&out).ptr);
		r = p->e->limits ? 0 : err_nomem(p->err);
	} else if (r != -EINVAL) {
		r = refuse(p, n, "these limits are too long");
	}
	buf_done(&out);
	return r;
}

int blueprint_read_egress(const struct yaml_tree *tree,
			  const struct yaml_node *n, struct egress *ret,
			  struct err *err)
{
	static const struct {
		const char *name;
		int (*fn)(const struct place *p, const struct yaml_node *n);
	} keys[] = {
		{ "mode", read_mode },     { "presets", read_presets },
		{ "allow", read_allow },   { "deny", read_deny },
		{ "limits", read_limits },
	};
	const struct place p = { tree, ret, err };

	if (n->kind != YAML_MAP)
		return refuse(&p, n, "a map (key: value) is wanted here");
	for (const struct yaml_node *k = n->first; k; k = k->next) {
		size_t i = 0;
		int r;

		while (i < ARRAY_SIZE(keys) &&
		       strcmp(keys[i].name, k->key) != 0)
			i++;
		if (i == ARRAY_SIZE(keys))
			return refuse(&p, k,
				      "egress has mode, presets, allow, "
				      "deny and limits");
		r = keys[i].fn(&p, k);
		if (r < 0)
			return r;
	}
	return 0;
}
