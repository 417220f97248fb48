/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_fuzz.c - any text is refused with its position, or gives a tree
 * within the limits whose positions lie in the text
 *
 * Read with the limits of policies and with those of other files: what the
 * stricter reading accepts, the other may refuse for its size alone.
 */
#include <string.h>

#include "lib/str.h"
#include "ottergate/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	const struct yaml_limits *max;
	size_t size, lines, nodes;
};

static void must(bool cond)
{
	if (!cond)
		abort();
}

static void check_scalar(const struct yaml_node *n, const struct seen *s)
{
	must(n->text && !n->first && strlen(n->text) <= s->max->scalar);
	must(!s->max->complete || n->quoted || *n->text);
	must(!n->quoted ||
	     (!yaml_word_is_ambiguous(n) && !yaml_word_is_number(n)));
}

/* The depth is bounded. */
static void check_node(const struct yaml_node *n, struct seen *s,
		       unsigned depth)
{
	size_t keys = 0;

	must(++s->nodes <= s->max->nodes && depth <= s->max->depth);
	must(n->line >= 1 && n->line <= s->lines && n->column >= 1);
	must(n->column <= s->size + 1);
	if (n->kind == YAML_SCALAR) {
		check_scalar(n, s);
		return;
	}
	must(!n->text && !n->quoted && depth < s->max->depth);
	for (const struct yaml_node *c = n->first; c; c = c->next) {
		must((n->kind == YAML_MAP) == (c->key != NULL));
		if (c->key) {
			keys++;
			must(c->key_line >= 1 && c->key_column >= 1);
			must(c->key_line <= s->lines);
			must(yaml_child(n, c->key) == c);
		}
		if (keys <= 64)
			check_node(c, s, depth + 1);
	}
	must(keys <= s->max->keys);
}

static void hash_add(void *arg, const void *data, size_t len)
{
	uint64_t *h = arg;

	for (size_t i = 0; i < len; i++)
		*h = (*h ^ ((const uint8_t *)data)[i]) * 1099511628211u;
}

/* The two readings of one text say the same. */
static uint64_t try_limits(const char *text, size_t size,
			   const struct yaml_limits *max)
{
	struct seen s = { .max = max, .size = size, .lines = 2 };
	struct yaml_tree t = { 0 };
	struct err err = { 0 };
	uint64_t hash = 1;
	int rc = yaml_tree_parse(text, size, "f", max, &t, &err);

	for (size_t i = 0; i < size; i++)
		s.lines += text[i] == '\n' || text[i] == '\r' ||
			   (uint8_t)text[i] >= 0x80;
	if (rc < 0) {
		must(err.code == rc && strncmp(err.msg, "f:", 2) == 0);
		must(!t.root);
		return 0;
	}
	must(t.root || !max->complete);
	if (t.root) {
		check_node(t.root, &s, 0);
		yaml_node_each(t.root, hash_add, &hash);
		must(yaml_tree_refuse(&t, t.root, &err, "no") == -EINVAL);
	}
	yaml_tree_done(&t);
	return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	uint64_t strict = try_limits(text, size, &yaml_policy);
	uint64_t other = try_limits(text, size, &yaml_small);

	must(!strict || !other || strict == other);
	return 0;
}
