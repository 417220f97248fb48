/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_test.c - what may be a name, and the JSON helpers
 */
#include "control/shared/names.h"

#include "control/shared/json.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static void test_names(void)
{
	static const struct {
		const char *name;
		bool instance, blueprint;
	} cases[] = {
		{ "ab", true, true },
		{ "a.b_c-9", true, true },
		{ "0x", true, true },
		{ "Hello", true, false },
		{ "hellO", true, false },
		{ "", false, false },
		{ "a", false, false },
		{ ".a", false, false },
		{ "..", false, false },
		{ "-a", false, false },
		{ "_a", false, false },
		{ "a/b", false, false },
		{ "a b", false, false },
		{ "a\nb", false, false },
		{ "a\xc3\xa9", false, false },
		{ "a%2f", false, false },
		/* The gateway knows image builds by such names. */
		{ "build.claude", false, true },
		{ "build-claude", true, true },
		/* 63 and 64 */
		{ "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff"
		  "012",
		  true, true },
		{ "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff"
		  "0123",
		  false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = { 0 };

		is_int(name_check_instance(cases[i].name, &err),
		       cases[i].instance ? 0 : -EINVAL, "instance %zu: %s", i,
		       err.msg);
		is_int(name_check_blueprint(cases[i].name, &err),
		       cases[i].blueprint ? 0 : -EINVAL, "blueprint %zu", i);
		is_int(name_check_volume(cases[i].name, &err),
		       cases[i].instance ||
				       str_starts(cases[i].name, "build.") ?
			       0 :
			       -EINVAL,
		       "volume %zu", i);
	}
	is_int(name_check_instance("a", NULL), -EINVAL, "no err wanted");
}

static void test_env(void)
{
	static const struct {
		const char *entry;
		bool good;
	} cases[] = {
		{ "A=", true },       { "_a9=x=y", true },
		{ "A=\n\xff", true }, { "A", false },
		{ "=x", false },      { "9A=x", false },
		{ "A B=x", false },   { "A\n=x", false },
		{ "", false },        { "\xc3\xa9=x", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_int(name_check_env(cases[i].entry, NULL),
		       cases[i].good ? 0 : -EINVAL, "env %zu", i);
}

static void test_states(void)
{
	for (int i = INSTANCE_CREATED; i <= INSTANCE_FAILED; i++) {
		enum instance_state st = INSTANCE_CREATED;
		const char *name = instance_state_name((enum instance_state)i);

		ok(instance_state_parse(name, &st) == 0 && (int)st == i,
		   "state %s", name);
	}
	enum instance_state st;
	is_int(instance_state_parse("gone", &st), -EINVAL, "unknown state");
	is_str(instance_state_name((enum instance_state)99), "?",
	       "no such state");
}

static int parse(const char *text, json_t **ret)
{
	return jsonx_parse(text, strlen(text), ret, NULL);
}

static void test_getters(void)
{
	SCOPED_JSON j = NULL;
	struct strv sv = { 0 };
	struct err err = { 0 };
	const char *s = NULL;
	uint64_t n = 0;
	bool b = false;

	parse("{\"s\":\"x\",\"b\":true,\"n\":7,\"l\":[\"a\",\"b\"],"
	      "\"z\":null}",
	      &j);
	ok(jsonx_str(j, "s", NULL, &s, &err) == 0 && strcmp(s, "x") == 0,
	   "string");
	ok(jsonx_str(j, "z", "def", &s, &err) == 0 && strcmp(s, "def") == 0,
	   "null is absent");
	is_int(jsonx_str(j, "n", NULL, &s, &err), -EINVAL, "not a string");
	ok(strstr(err.msg, "'n'") != NULL, "the key is named: %s", err.msg);
	ok(jsonx_bool(j, "b", false, &b, &err) == 0 && b, "bool");
	is_int(jsonx_bool(j, "n", false, &b, &err), -EINVAL, "not a bool");
	ok(jsonx_u64(j, "n", 0, 7, 1, &n, &err) == 0 && n == 7, "number");
	is_int(jsonx_u64(j, "n", 0, 6, 1, &n, &err), -EINVAL, "out of range");
	is_int(jsonx_u64(j, "s", 0, 6, 1, &n, &err), -EINVAL, "no number");
	ok(jsonx_u64(j, "q", 5, 6, 99, &n, &err) == 0 && n == 99, "default");
	ok(jsonx_strv(j, "l", 2, &sv, &err) == 0 && sv.n == 2, "list");
	is_int(jsonx_strv(j, "l", 1, &sv, &err), -EINVAL, "too many");
	strv_done(&sv);
}

/* ---- by a schema ---- */

static const char *const fit_words[] = { "on", NULL };
static const struct schema fit_number = { .kind = SCHEMA_NUMBER,
					  .min = 2,
					  .max = 9 };
static const struct schema fit_word = SCHEMA_WORDS(fit_words);
static const struct schema fit_texts = { .kind = SCHEMA_LIST,
					 .item = &schema_text,
					 .max = 2 };
static const struct schema fit_numbers = SCHEMA_LIST_OF(&fit_number);
static const struct schema fit_any = { .kind = SCHEMA_ANY };
static const struct schema_key inner_keys[] = { { "b", &schema_bool } };
static const struct schema fit_inner = { SCHEMA_ROWS(inner_keys) };
static const struct schema_key fit_keys[] = {
	{ "s", &schema_text }, { "b", &schema_bool }, { "n", &fit_number },
	{ "w", &fit_word },    { "l", &fit_texts },   { "p", &fit_numbers },
	{ "o", &fit_inner },   { "a", &fit_any },
};
static const char *const fit_needs[] = { "s", NULL };
static const struct schema fit_map = { SCHEMA_ROWS(fit_keys),
				       .required = fit_needs };

static void test_fit(void)
{
	static const struct {
		const char *text, *key, *says; /* NULL: it fits */
	} rows[] = {
		{ "{}", NULL, NULL },
		{ "{\"s\":\"x\",\"b\":true,\"n\":9,\"w\":\"on\"}", NULL, NULL },
		{ "{\"s\":null,\"n\":null,\"l\":null,\"o\":null}", NULL, NULL },
		{ "{\"l\":[\"a\",\"b\"],\"p\":[1],\"o\":{\"b\":false}}", NULL,
		  NULL },
		{ "{\"a\":[{}]}", NULL, NULL },
		{ "{\"w\":\"other\"}", NULL, NULL }, /* the reader's to say */
		{ "{\"x\":1}", "x", "'x' is an unknown key" },
		{ "{\"a\\n\":1}", "a\\x0a", "'a\\x0a' is an unknown key" },
		{ "{\"s\":1}", "s", "'s' must be a string" },
		{ "{\"w\":1}", "w", "'w' must be a string" },
		{ "{\"b\":1}", "b", "'b' must be true or false" },
		{ "{\"n\":1}", "n", "'n' must be between 2 and 9" },
		{ "{\"n\":10}", "n", "'n' must be between 2 and 9" },
		{ "{\"n\":-1}", "n", "must be a whole number, not negative" },
		{ "{\"n\":2.5}", "n", "must be a whole number" },
		{ "{\"l\":\"a\"}", "l", "'l' must be a list of strings" },
		{ "{\"l\":[1]}", "l", "'l' must be a list of strings" },
		{ "{\"l\":[\"a\",\"b\",\"c\"]}", "l", "at most 2 are allowed" },
		{ "{\"p\":[\"1\"]}", "p", "must be a list of whole numbers" },
		{ "{\"o\":[]}", "o", "'o' must be an object" },
		{ "{\"o\":{\"s\":\"x\"}}", "s", "'s' is an unknown key" },
		{ "{\"o\":{\"b\":0}}", "b", "'b' must be true or false" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON j = NULL;
		struct err err = { 0 };

		is_int(parse(rows[i].text, &j), 0, "row %zu", i);
		is_int(jsonx_fit(j, &fit_map, &err), rows[i].key ? -EINVAL : 0,
		       "%s: %s", rows[i].text, err.msg);
		is_str(err.key, rows[i].key ? rows[i].key : "", "its key");
		ok(!rows[i].says || strstr(err.msg, rows[i].says),
		   "and why: %s", err.msg);
	}
}

static void test_mount(void)
{
	static const char *const good[] = { "/mnt/a", "/mnt/A_b-c.d",
					    "/mnt/9" };
	static const char *const bad[] = { "",        "/mnt",    "/mnt/",
					   "/mnt/.",  "/mnt/-a", "/mnt/a/b",
					   "mnt/a",   "/mntx/a", "/mnt/a b",
					   "/mnt/a\n" };
	char longest[NAME_MOUNT_MAX + 2] = "/mnt/";

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ok(name_is_mount(good[i]), "%s is a place", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ok(!name_is_mount(bad[i]), "'%s' is none", bad[i]);
	memset(longest + 5, 'a', NAME_MOUNT_MAX - 5);
	ok(name_is_mount(longest), "the longest");
	longest[NAME_MOUNT_MAX] = 'a';
	ok(!name_is_mount(longest), "one byte more");
}

static void test_json(void)
{
	SCOPED_JSON j = NULL;
	SCOPED_JSON text = jsonx_text("a\xff");
	SCOPED_JSON error = jsonx_error("code", "pids", "m\xff");
	char deep[2 * JSONX_DEPTH_MAX + 1];

	is_int(parse("{\"a\":-1}", &j), 0, "parse");
	is_int(jsonx_u64(j, "a", 0, 9, 0, &(uint64_t){ 0 }, NULL), -EINVAL,
	       "negative");
	memset(deep, '[', JSONX_DEPTH_MAX);
	memset(deep + JSONX_DEPTH_MAX, ']', JSONX_DEPTH_MAX);
	deep[2 * JSONX_DEPTH_MAX] = '\0';
	json_decref(j);
	j = NULL;
	is_int(parse(deep, &j), 0, "as deep as may be");
	is_int(parse("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", &j), -EINVAL,
	       "too deep");
	is_int(parse("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[\"", &j),
	       -EINVAL, "a bare string is not a text of ours");
	is_int(parse("{\"a\":1,\"a\":1}", &j), -EINVAL, "twice");
	is_str(json_string_value(text), "a\\xff", "text that is not UTF-8");
	ok(json_object_get(json_object_get(error, "error"), "code") != NULL,
	   "error body");
	is_str(jsonx_text_at(json_object_get(error, "error"), "key"), "pids",
	       "with the key it is about");
}

int main(void)
{
	test_names();
	test_env();
	test_states();
	test_getters();
	test_fit();
	test_mount();
	test_json();
	return done_testing();
}
