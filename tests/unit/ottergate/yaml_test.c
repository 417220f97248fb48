/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_test.c - what one document says, and where a wrong one is wrong
 */
#include "ottergate/yaml.h"

#include <stdlib.h>

#include "lib/str.h"
#include "tests/unit/tap.h"

/* The message of a text that is refused, "" if it is not. */
static const char *why(const char *text, const struct yaml_limits *max)
{
	static struct err err;
	struct yaml_tree t = { 0 };

	err = (struct err){ 0 };
	yaml_tree_parse(text, strlen(text), "f", max, &t, &err);
	yaml_tree_done(&t);
	return err.msg;
}

static bool begins(const char *s, const char *want)
{
	return want ? *want && strncmp(s, want, strlen(want)) == 0 : !*s;
}

#define SAME ((const char *)-1)
#define DEEP_9 "a: [[[[[[[[1]]]]]]]]\n"
#define DEEP_17 "a: [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]\n"

/* NULL: accepted. */
static const struct {
	const char *text, *small, *policy;
} rows[] = {
	{ "a: 1\nb: [x, y]\nc: { d: \"\" }\n", NULL, SAME },
	{ "", NULL, "f:1:1: the file says nothing" },
	{ "# only this\n", NULL, "f:1:1: the file says nothing" },
	{ "word\n", NULL, "f:1:1: a map is wanted here" },
	{ "[a]\n", NULL, "f:1:1: a map is wanted here" },
	{ "a:\n", NULL, "f:1:3: a value is missing here" },
	{ "a: ~\n", NULL, "f:1:4: a value is missing here" },
	{ "a: NULL\n", NULL, "f:1:4: a value is missing here" },
	{ "a: \"null\"\n", NULL, SAME },
	{ "a: 1\n---\nb: 1\n", "f:2:1: a second document begins here", SAME },
	{ "%YAML 1.1\n---\na: 1\n", "f:1:1: directives are not allowed", SAME },
	{ "a: &x 1\n", "f:1:4: anchors, aliases and tags", SAME },
	{ "a: *x\n", "f:1:4: anchors, aliases and tags", SAME },
	{ "a: !!str 1\n", "f:1:4: anchors, aliases and tags", SAME },
	{ "a: !x [1]\n", "f:1:4: anchors, aliases and tags", SAME },
	{ "a: &x { b: 1 }\n", "f:1:4: anchors, aliases and tags", SAME },
	{ "a: 1\nb: 2\na: 3\n", "f:3:1: 'a' is here twice", SAME },
	{ "\"\\e[m\": 1\n\"\\e[m\": 2\n", "f:2:1: '\\x1b[m' is here twice",
	  SAME },
	{ "? [a]\n: 1\n", "f:1:3: a key must be a plain word", SAME },
	{ "? { a: 1 }\n: 1\n", "f:1:3: a key must be a plain word", SAME },
	{ "a: \"x\\0y\"\n", "f:1:4: a NUL byte cannot be in a text", SAME },
	{ "\"x\\0y\": 1\n", "f:1:1: a NUL byte cannot be in a text", SAME },
	{ "a: [1\nb: 2\n",
	  "f:1:4: the list that begins at line 1 is not closed", SAME },
	{ "a: { b: 1\n", "f:1:4: the map that begins at line 1 is not closed",
	  SAME },
	{ "a: 1\nb: \"x\n",
	  "f:2:4: the quoted text that begins at line 2 is not closed", SAME },
	{ "a: b: c\n", "f:1:5: ", SAME },
	{ "a: 1\n\tb: 2\n", "f:2:1: ", SAME },
	{ "a: \xff\n", "f:1:1: invalid leading UTF-8 octet (at byte 3)", SAME },
	{ DEEP_9, "f:1:11: nested too deeply", NULL },
	{ DEEP_17, "f:1:11: nested too deeply", "f:1:19: nested too deeply" },
};

static void test_refused(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *policy = rows[i].policy == SAME ? rows[i].small :
							      rows[i].policy;
		const char *said = why(rows[i].text, &yaml_small);

		ok(begins(said, rows[i].small), "row %zu: %s", i, said);
		said = why(rows[i].text, &yaml_policy);
		ok(begins(said, policy), "row %zu, a policy: %s", i, said);
	}
}

/* @n times @item, with a number where it has %zu, between two texts. */
static char *many(const char *before, const char *item, size_t n, bool keys)
{
	size_t size = strlen(before) + n * (strlen(item) + 24) + 8;
	char *out = malloc(size);
	size_t at = out ? (size_t)snprintf(out, size, "%s", before) : 0;

	for (size_t i = 0; out && i < n; i++)
		at += (size_t)(keys ? snprintf(out + at, size - at, "k%zu: %s",
					       i, item) :
				      snprintf(out + at, size - at, "%s",
					       item));
	return out;
}

static void test_limits(void)
{
	static const struct {
		const char *what, *before, *item;
		size_t n;
		bool keys;
		const char *small, *policy;
	} large[] = {
		{ "4094 nodes and two", "a:\n", "- x\n", 4094, false, NULL,
		  NULL },
		{ "one more", "a:\n", "- x\n", 4095, false,
		  "f:4096:3: too many values", NULL },
		{ "4096 keys", "", "x\n", 4096, true,
		  "f:4096:8: too many values", NULL },
		{ "one more", "", "x\n", 4097, true,
		  "f:4096:8: too many values",
		  "f:4097:1: too many keys in one map" },
		{ "4096 bytes", "a: ", "x", 4096, false, NULL, NULL },
		{ "one more", "a: ", "x", 4097, false, NULL,
		  "f:1:4: the text is too long" },
		{ "8192 bytes", "a: ", "x", 8192, false, NULL,
		  "f:1:4: the text is too long" },
		{ "one more", "a: ", "x", 8193, false,
		  "f:1:4: the text is too long",
		  "f:1:4: the text is too long" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(large); i++) {
		SCOPED_STR text = many(large[i].before, large[i].item,
				       large[i].n, large[i].keys);
		const char *said;

		if (!ok(text != NULL, "memory"))
			return;
		said = why(text, &yaml_small);
		ok(begins(said, large[i].small), "%s: %s", large[i].what, said);
		said = why(text, &yaml_policy);
		ok(begins(said, large[i].policy), "%s, a policy: %s",
		   large[i].what, said);
	}
}

static void test_tree(void)
{
	static const char text[] = "a: 1\n"
				   "list:\n"
				   "  - x\n"
				   "  - 'no'\n"
				   "map: { k: no }\n"
				   "none:\n";
	struct yaml_tree t = { 0 };
	const struct yaml_node *n;
	struct err err = { 0 };
	const char *s = NULL;

	is_int(yaml_tree_parse(text, strlen(text), "f", &yaml_small, &t, &err),
	       0, "it reads: %s", err.msg);
	n = yaml_child(t.root, "list");
	if (!ok(n && n->kind == YAML_LIST && n->first->next, "a list"))
		return;
	is_int(n->key_line, 2, "its key's line");
	is_int(n->key_column, 1, "and column");
	is_int(n->line, 3, "its line");
	is_int(n->column, 3, "and column");
	is_str(yaml_kind_name(n), "a list", "its name");
	is_int(yaml_tree_string(&t, n, &s, &err), -EINVAL, "no string");
	is_str(err.msg, "f:3:3: a string is wanted here, not a list", "why");
	n = n->first->next;
	is_int(yaml_tree_string(&t, n, &s, &err), 0, "a quoted word is one");
	is_str(s, "no", "which it is");
	n = yaml_child(yaml_child(t.root, "map"), "k");
	is_int(yaml_tree_string(&t, n, &s, &err), -EINVAL, "no quotes");
	is_str(err.msg,
	       "f:5:11: a string is wanted here: write \"no\", in quotes",
	       "why");
	n = yaml_child(t.root, "none");
	is_int(yaml_tree_string(&t, n, &s, &err), -EINVAL, "nothing");
	is_str(err.msg, "f:6:6: a string is wanted here: write \"\", in quotes",
	       "why");
	ok(!yaml_child(n, "x") && !yaml_child(NULL, "x") &&
		   !yaml_child(t.root, "lis"),
	   "no such child");
	is_int(yaml_tree_refuse(&t, NULL, &err, "%s", "so"), -EINVAL, "refuse");
	is_str(err.msg, "f:1:1: so", "without a node");
	yaml_tree_done(&t);
	yaml_tree_done(&t);
}

static void test_words(void)
{
	static const struct {
		const char *text;
		bool ambiguous, number;
	} words[] = {
		{ "a", false, false },    { "Yes", true, false },
		{ "off", true, false },   { "~", true, false },
		{ "Null", true, false },  { "n", true, false },
		{ "'n'", false, false },  { "12", false, true },
		{ "'12'", false, false }, { "1e3", false, true },
		{ "0x7f", false, true },  { "-.5", false, true },
		{ ".inf", false, true },  { "10:20", false, true },
		{ "1.2.3", false, true }, { "12a", false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct yaml_tree t = { 0 };
		const char *s = words[i].text;

		if (!ok(yaml_tree_parse(s, strlen(s), "f", &yaml_small, &t,
					NULL) == 0 &&
				t.root,
			"%s reads", s))
			return;
		is_int(yaml_word_is_ambiguous(t.root), words[i].ambiguous,
		       "%s: ambiguous", s);
		is_int(yaml_word_is_number(t.root), words[i].number,
		       "%s: a number", s);
		yaml_tree_done(&t);
	}
}

/* A column past that of 16 bits is told as it is. */
static void test_column(void)
{
	SCOPED_STR text = str_printf("{ a: 1,%*s b: &x 1 }\n", 70000, "");

	if (!ok(text != NULL, "memory"))
		return;
	is_str(why(text, &yaml_small),
	       "f:1:70012: anchors, aliases and tags are not allowed: write "
	       "the value out",
	       "far to the right");
}

static void test_far_node(void)
{
	SCOPED_STR text = str_printf("{ a: 1,%*s b: no }\n", 70000, "");
	struct yaml_tree t = { 0 };
	const struct yaml_node *n;

	if (!ok(text && yaml_tree_parse(text, strlen(text), "f", &yaml_small,
					&t, NULL) == 0,
		"it reads"))
		return;
	n = yaml_child(t.root, "b");
	is_int(n ? n->column : 0, 70012, "a node's column");
	is_int(n ? n->key_column : 0, 70009, "and its key's");
	yaml_tree_done(&t);
}

int main(void)
{
	test_refused();
	test_limits();
	test_tree();
	test_words();
	test_column();
	test_far_node();
	return done_testing();
}
