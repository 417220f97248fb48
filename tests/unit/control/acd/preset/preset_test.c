/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preset_test.c - presets that blueprints name: what is read and what is not
 */
#include "control/acd/preset/preset.h"

#include <stdlib.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/file.h"
#include "ottergate/yaml.h"
#include "tests/unit/tap.h"

#include "tests/unit/schema_check.h"

#define V "version: 1\nabout: a\n"

static json_t *schema;

/* 1 and 0: the schema takes it or does not; negative: it is no YAML of ours. */
static int schema_takes(const char *text, size_t len)
{
	struct yaml_tree t = { 0 };
	int rc = yaml_tree_parse(text, len, "f", &yaml_small, &t, NULL);

	if (rc == 0 && t.root) {
		SCOPED_JSON v = json_of_node(t.root);

		rc = check_value(schema, v);
	}
	yaml_tree_done(&t);
	return rc;
}

static int parse_tools(const char *text, struct preset *ret, struct err *err)
{
	return preset_parse(PRESET_TOOLS, text, strlen(text), "f", ret, err);
}

static int parse(const char *text, struct preset *ret, struct err *err)
{
	return preset_parse(PRESET_PROMPTS, text, strlen(text), "f", ret, err);
}

static void test_good(void)
{
	struct preset p = { 0 };
	struct err err = { 0 };

	is_int(parse(V "text: |\n  one\n\n  two\n", &p, &err), 0, "a preset");
	is_str(p.about, "a", "what it is about");
	is_str(p.text, "one\n\ntwo\n", "its text");
	preset_done(&p);
	is_int(parse(V "text: be kind", &p, &err), 0, "in one line");
	is_str(p.text, "be kind\n", "which is ended");
	preset_done(&p);
}

/* @fits: JSON Schema cannot say what is wrong. */
static const struct {
	const char *text, *want;
	bool fits;
} bad[] = {
	{ "", "f:1:1: ", false },
	{ "[]", "f:1:1: ", false },
	{ V, "f:1:1: 'text' is missing", true }, /* but as tools */
	{ "version: 1\ntext: b\n", "f:1:1: 'about' is missing", false },
	{ "about: a\ntext: b\n", "f:1:1: 'version' is missing", false },
	{ "version: 2\nabout: a\ntext: b\n", "f:1:10: this ac knows", false },
	{ "version: \"1\"\nabout: a\ntext: b\n", "f:1:10: this ac", false },
	{ V "text: b\ntxt: c\n", "f:4:6: unknown key 'txt'", false },
	{ V "text: b\ntext: c\n", "f:4:1: ", true },
	{ V "text: [b]\n", "f:3:7: ", false },
	{ V "text: no\n", "f:3:7: ", true },
	{ V "text: \"\"\n", "f:3:7: text is empty", true },
	{ V "text: \"a\\e[2J\"\n", "f:3:7: text has control", true },
	{ V "text: \"a\\x7f\"\n", "f:3:7: text has control", true },
	{ "version: 1\nabout: \"a\\nb\"\ntext: b\n",
	  "f:2:8: about must be one line", true },
	{ V "text: &a b\n", "f:3:7: ", true },
};

static void test_bad(void)
{
	struct preset p = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = { 0 };

		is_int(parse(bad[i].text, &p, &err), -EINVAL, "refused: %zu",
		       i);
		if (!ok(str_starts(err.msg, bad[i].want), "%s", bad[i].want))
			printf("# %s\n", err.msg);
		if (!bad[i].fits)
			is_int(schema_takes(bad[i].text, strlen(bad[i].text)),
			       0, "nor does the schema take it");
	}
}

static void test_tools(void)
{
	static const struct {
		const char *text, *want;
	} wrong[] = {
		{ V "apt: make\n", "f:3:6: apt must be a list" },
		{ V "apt: []\n", "f:3:6: apt must be a list" },
		{ V "pip: [[a]]\n", "f:3:7: " },
		{ V "npm: [\"a\\nb\"]\n", "f:3:7: a word of at most" },
		{ V "apt: [a]\nrun: [b]\n", "f:4:6: unknown key 'run'" },
		{ V "text: a\n", "f:3:7: unknown key 'text'" },
		{ "version: 1\napt: [a]\n", "f:1:1: 'about' is missing" },
	};
	struct preset p = { 0 };
	struct err err = { 0 };

	is_int(parse_tools(V "apt: [a, b]\nnpm: [\"@c/d@1\"]\npip: [e]\n"
			     "egress: [f]\n",
			   &p, &err),
	       0, "tools %s", err.msg);
	ok(!p.text && p.apt.n == 2 && strcmp(p.npm.v[0], "@c/d@1") == 0 &&
		   p.pip.n == 1 && strcmp(p.egress.v[0], "f") == 0,
	   "its packages and presets");
	preset_done(&p);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		is_int(parse_tools(wrong[i].text, &p, &err), -EINVAL,
		       "refused: %zu", i);
		if (!ok(str_starts(err.msg, wrong[i].want), "%s",
			wrong[i].want))
			printf("# %s\n", err.msg);
	}
}

static void test_long(void)
{
	struct preset p = { 0 };
	struct err err = { 0 };
	SCOPED_STR text = malloc(PRESET_TEXT_MAX + 64);
	size_t at = sizeof(V "text: ") - 1;

	if (!text)
		return;
	memcpy(text, V "text: ", at);
	memset(text + at, 'x', PRESET_TEXT_MAX + 1);
	text[at + PRESET_TEXT_MAX + 1] = '\0';
	is_int(parse(text, &p, &err), -EINVAL, "too long: %s", err.msg);
	text[at + PRESET_TEXT_MAX] = '\0';
	is_int(parse(text, &p, &err), 0, "as long as it may be");
	preset_done(&p);
}

static void put(const char *dir, const char *name, const char *text)
{
	SCOPED_STR folder = str_printf("%s/prompts", dir);
	SCOPED_STR path = str_printf("%s/%s.yaml", folder, name);

	ok(folder && path && file_mkdir_p(folder, 0700) == 0 &&
		   file_write_atomic(path, text, strlen(text), 0600) == 0,
	   "write %s", name);
}

static void test_folders(const char *dir)
{
	struct preset p = { 0 };
	struct err err = { 0 };
	struct strv names = { 0 };

	preset_set_dirs(dir, "blueprints/presets");
	is_int(preset_load(PRESET_PROMPTS, "git-workflow", &p, &err), 0,
	       "a shipped one");
	ok(p.builtin && str_starts(p.text, "## Git\n"), "as it is shipped");
	preset_done(&p);
	put(dir, "git-workflow", V "text: mine\n");
	put(dir, "broken", "version: 1\n");
	put(dir, "Not-A-Name", V "text: x\n");
	is_int(preset_load(PRESET_PROMPTS, "git-workflow", &p, &err), 0,
	       "the user's goes before it");
	ok(!p.builtin && strcmp(p.text, "mine\n") == 0, "with its text");
	preset_done(&p);
	is_int(preset_load(PRESET_PROMPTS, "broken", &p, &err), -EINVAL,
	       "a broken one: %s", err.msg);
	is_int(preset_load(PRESET_PROMPTS, "none", &p, &err), -ENOENT,
	       "none of that name");
	ok(strstr(err.msg, "no preset 'none' of prompts; there are: broken, "
			   "browser-instructions, ") != NULL,
	   "%s", err.msg);
	is_int(preset_load(PRESET_PROMPTS, "../prompts/broken", &p, &err),
	       -EINVAL, "a path is no name");
	is_int(preset_names(PRESET_PROMPTS, &names), 0, "the names");
	ok(strv_has(&names, "broken") && strv_has(&names, "report-output") &&
		   !strv_has(&names, "Not-A-Name"),
	   "both folders', without what is none");
	strv_done(&names);
}

/* Each shipped file is read, fits the schema, and is short. */
static void test_shipped(void)
{
	struct strv names = { 0 };

	preset_set_dirs("/nonexistent", "blueprints/presets");
	is_int(preset_names(PRESET_PROMPTS, &names), 0, "the shipped ones");
	is_int(names.n, 10, "all of them");
	for (size_t i = 0; i < names.n; i++) {
		SCOPED_STR text = NULL;
		struct preset p = { 0 };
		struct err err = { 0 };
		size_t len = 0, lines = 0;

		is_int(preset_load(PRESET_PROMPTS, names.v[i], &p, &err), 0,
		       "%s %s", names.v[i], err.msg);
		for (const char *s = p.text; s && *s; s++)
			lines += *s == '\n';
		ok(p.text && str_starts(p.text, "## ") && lines >= 8 &&
			   lines <= 20,
		   "a heading, and 8 to 20 lines: %zu", lines);
		ok(p.file &&
			   file_read(p.file, PRESET_FILE_MAX, &text, &len) ==
				   0 &&
			   schema_takes(text, len) == 1,
		   "it fits the schema");
		preset_done(&p);
	}
	strv_done(&names);
}

/* Each shipped one names packages, and presets of egress that are shipped. */
static void test_shipped_tools(void)
{
	struct strv names = { 0 };

	is_int(preset_names(PRESET_TOOLS, &names), 0, "the shipped tools");
	ok(names.n == 14, "all of them: %zu", names.n);
	for (size_t i = 0; i < names.n; i++) {
		SCOPED_STR text = NULL;
		struct preset p = { 0 };
		struct err err = { 0 };
		size_t len = 0;

		is_int(preset_load(PRESET_TOOLS, names.v[i], &p, &err), 0,
		       "%s %s", names.v[i], err.msg);
		ok(p.apt.n + p.npm.n + p.pip.n > 0, "it has packages");
		for (size_t k = 0; k < p.egress.n; k++) {
			SCOPED_STR path =
				str_printf("blueprints/presets/egress/%s.yaml",
					   p.egress.v[k]);

			ok(path && access(path, R_OK) == 0, "egress %s",
			   p.egress.v[k]);
		}
		ok(p.file &&
			   file_read(p.file, PRESET_FILE_MAX, &text, &len) ==
				   0 &&
			   schema_takes(text, len) == 1,
		   "it fits the schema");
		preset_done(&p);
	}
	strv_done(&names);
}

int main(void)
{
	char dir[] = "/tmp/preset_test.XXXXXX";

	schema = schema_shipped("blueprints/preset.schema.json", &preset_schema,
				PRESET_SCHEMA_TITLE);
	if (!mkdtemp(dir) || !ok(schema != NULL, "the shipped schema is JSON"))
		return 1;
	test_good();
	test_bad();
	test_long();
	test_tools();
	test_shipped();
	test_shipped_tools();
	test_folders(dir);
	file_remove_tree(dir);
	json_decref(schema);
	return done_testing();
}
