/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_test.c - each kind of value as JSON Schema, and a text that people
 * read
 */
#include "lib/schema.h"

#include "tests/unit/tap.h"

#define TEXT_MAX 4096u

static const char *const words[] = { "1.2", "on", NULL };
static const char *const needs[] = { "a", NULL };
static const struct schema item = { .kind = SCHEMA_WORD, .words = words };
static const struct schema number = { .kind = SCHEMA_NUMBER, .max = 7 };
static const struct schema *const either[] = { &schema_bool, &number, NULL };
static const struct schema_key more_keys[] = { { "c", &schema_bool } };
static const struct schema more = { SCHEMA_ROWS(more_keys) };
static const struct schema named = { .kind = SCHEMA_BOOL, .name = "Yes" };
static const struct schema_key named_keys[] = { { "a", &named },
						{ "b", &named } };
static const struct row {
	struct schema_key is;
	int other;
} table[] = {
	{ { "a", &schema_bool }, 1 },
	{ { "refused", NULL }, 2 },
	{ { "b", &schema_true }, 3 },
};

static const struct {
	struct schema is;
	bool yaml;
	const char *want;
} rows[] = {
	{ { .kind = SCHEMA_TEXT, .max = 9 },
	  false,
	  "{\"type\":\"string\",\"maxLength\":9}" },
	{ { .kind = SCHEMA_TEXT }, true, "{\"type\":[\"string\",\"number\"]}" },
	{ { .kind = SCHEMA_FORM, .pattern = "a|b" },
	  true,
	  "{\"type\":\"string\",\"pattern\":\"^(a|b)$\"}" },
	{ { .kind = SCHEMA_FORM, .pattern = "a", .none = true },
	  true,
	  "{\"type\":\"string\",\"pattern\":\"^(none|a)$\"}" },
	{ { .kind = SCHEMA_WORD, .words = words },
	  false,
	  "{\"enum\":[\"1.2\",\"on\"]}" },
	{ { .kind = SCHEMA_WORD, .words = words, .none = true },
	  true,
	  "{\"enum\":[\"1.2\",1.2,\"on\",\"none\"]}" },
	{ { .kind = SCHEMA_NUMBER, .min = 1, .max = 5 },
	  true,
	  "{\"type\":\"integer\",\"minimum\":1,\"maximum\":5}" },
	{ { .kind = SCHEMA_NUMBER, .max = UINT64_MAX },
	  true,
	  "{\"type\":\"integer\",\"minimum\":0}" },
	{ { .kind = SCHEMA_NUMBER, .none = true, .max = 5 },
	  true,
	  "{\"anyOf\":[{\"type\":\"integer\",\"minimum\":0,\"maximum\":5},"
	  "{\"const\":\"none\"}]}" },
	{ { .kind = SCHEMA_AMOUNT, .pattern = "x", .min = 4 },
	  true,
	  "{\"type\":[\"string\",\"number\"],\"minimum\":4,"
	  "\"pattern\":\"^(x)$\"}" },
	{ { .kind = SCHEMA_BOOL, .about = "One \"word\"." },
	  true,
	  "{\"description\":\"One \\\"word\\\".\",\"type\":\"boolean\"}" },
	{ { .kind = SCHEMA_TRUE }, true, "{\"const\":true}" },
	{ { .kind = SCHEMA_LIST, .item = &item, .min = 1, .max = 3 },
	  false,
	  "{\"type\":\"array\",\"minItems\":1,\"maxItems\":3,"
	  "\"items\":{\"enum\":[\"1.2\",\"on\"]}}" },
	{ { SCHEMA_ROWS(table), .required = needs },
	  true,
	  "{\"type\":\"object\",\"properties\":{"
	  "\"a\":{\"type\":\"boolean\"},\"b\":{\"const\":true}},"
	  "\"required\":[\"a\"],\"additionalProperties\":false}" },
	{ { .kind = SCHEMA_NAMED, .item = &schema_bool, .pattern = "[a-z]+" },
	  true,
	  "{\"type\":\"object\",\"propertyNames\":"
	  "{\"pattern\":\"^([a-z]+)$\"},"
	  "\"additionalProperties\":{\"type\":\"boolean\"}}" },
	{ { .kind = SCHEMA_EITHER, .either = either, .none = true },
	  true,
	  "{\"anyOf\":[{\"type\":\"boolean\"},"
	  "{\"type\":\"integer\",\"minimum\":0,\"maximum\":7},"
	  "{\"const\":\"none\"}]}" },
	{ { .kind = SCHEMA_INTEGER }, false, "{\"type\":\"integer\"}" },
	{ { .kind = SCHEMA_DECIMAL }, false, "{\"type\":\"number\"}" },
	{ { .kind = SCHEMA_ANY, .about = "x" },
	  false,
	  "{\"description\":\"x\"}" },
	{ { .kind = SCHEMA_TEXT, .null = true },
	  false,
	  "{\"type\":[\"string\",\"null\"]}" },
	{ { .kind = SCHEMA_WORD, .words = words, .null = true },
	  false,
	  "{\"enum\":[\"1.2\",\"on\",null]}" },
	{ { .kind = SCHEMA_NUMBER, .null = true, .max = 5 },
	  false,
	  "{\"type\":[\"integer\",\"null\"],\"minimum\":0,\"maximum\":5}" },
	{ { .kind = SCHEMA_NUMBER, .none = true, .null = true, .max = 5 },
	  false,
	  "{\"anyOf\":[{\"type\":\"integer\",\"minimum\":0,\"maximum\":5},"
	  "{\"const\":\"none\"},{\"type\":\"null\"}]}" },
	{ { .kind = SCHEMA_TRUE, .null = true },
	  false,
	  "{\"enum\":[true,null]}" },
	{ { .kind = SCHEMA_LIST, .item = &schema_bool, .null = true },
	  false,
	  "{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"boolean\"}}" },
	{ { .kind = SCHEMA_EITHER, .either = either, .null = true },
	  false,
	  "{\"anyOf\":[{\"type\":\"boolean\"},"
	  "{\"type\":\"integer\",\"minimum\":0,\"maximum\":7},"
	  "{\"type\":\"null\"}]}" },
	{ { SCHEMA_ROWS(table), .required = needs, .nulls = true },
	  false,
	  "{\"type\":\"object\",\"properties\":{"
	  "\"a\":{\"type\":\"boolean\"},\"b\":{\"enum\":[true,null]}},"
	  "\"required\":[\"a\"],\"additionalProperties\":false}" },
	{ { SCHEMA_ROWS(more_keys), .also = &more, .open = true },
	  false,
	  "{\"type\":\"object\",\"properties\":{"
	  "\"c\":{\"type\":\"boolean\"},\"c\":{\"type\":\"boolean\"}},"
	  "\"additionalProperties\":true}" },
	{ { SCHEMA_ROWS(named_keys), .whole = true, .optional = needs,
	    .nulls = true },
	  false,
	  "{\"type\":\"object\",\"properties\":{\"a\":{\"anyOf\":["
	  "{\"$ref\":\"#/components/schemas/Yes\"},{\"type\":\"null\"}]},"
	  "\"b\":{\"$ref\":\"#/components/schemas/Yes\"}},"
	  "\"required\":[\"b\"],\"additionalProperties\":false}" },
	{ { .kind = SCHEMA_JSON }, true, "{\"type\":[\"object\",\"array\"]}" },
};

static void text_of(struct buf *b, char ret[TEXT_MAX])
{
	struct slice s = buf_slice(b);

	memcpy(ret, s.ptr, s.len);
	ret[s.len] = '\0';
	buf_done(b);
}

static void test_kinds(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char got[TEXT_MAX];
		struct jsonw w;
		struct buf b;

		buf_init(&b, TEXT_MAX - 1);
		jsonw_init(&w, &b);
		schema_write(&w, NULL, &rows[i].is, rows[i].yaml);
		is_int(w.rc, 0, "written");
		text_of(&b, got);
		is_str(got, rows[i].want, "kind %d", (int)rows[i].is.kind);
	}
}

static void test_rows(void)
{
	const struct schema map = { SCHEMA_ROWS(table) };

	is_str(schema_row(&map, 2)->key, "b", "a row");
	ok(!schema_row(&map, 3), "none behind the last");
	ok(schema_find(&map, "b") == schema_row(&map, 2), "found");
	ok(!schema_find(&map, "refused")->is, "known and refused");
	ok(!schema_find(&map, "c"), "not known");
}

static void test_also(void)
{
	const struct schema map = { SCHEMA_ROWS(table), .also = &more };

	is_str(schema_row(&map, 3)->key, "c", "the rows of another map follow");
	ok(!schema_row(&map, 4), "and none behind these");
	ok(schema_find(&map, "c") == &more_keys[0], "found there");
}

static void test_component(void)
{
	char got[TEXT_MAX];
	struct jsonw w;
	struct buf b;

	buf_init(&b, TEXT_MAX - 1);
	jsonw_init(&w, &b);
	jsonw_open(&w, NULL, '{');
	schema_write_component(&w, &named);
	jsonw_close(&w, '}');
	text_of(&b, got);
	is_str(got, "{\"Yes\":{\"type\":\"boolean\"}}", "itself, no reference");
}

static void test_indent(void)
{
	static const char in[] =
		"{\"a\":[1,2],\"b\":{\"c\":\"x, {y: \\\"}\",\"d\":[]},"
		"\"e\":[\"0123456789012345678901234567890123456789\","
		"\"0123456789012345678901234567890123456789\"]}";
	static const char want[] =
		"{\n"
		"\t\"a\": [1, 2],\n"
		"\t\"b\": {\n"
		"\t\t\"c\": \"x, {y: \\\"}\",\n"
		"\t\t\"d\": []\n"
		"\t},\n"
		"\t\"e\": [\n"
		"\t\t\"0123456789012345678901234567890123456789\",\n"
		"\t\t\"0123456789012345678901234567890123456789\"\n"
		"\t]\n"
		"}\n";
	char got[TEXT_MAX];
	struct buf b;

	buf_init(&b, TEXT_MAX - 1);
	is_int(schema_indent(slice_str(in), &b), 0, "indented");
	text_of(&b, got);
	is_str(got, want, "as people read it");
	buf_init(&b, 8);
	ok(schema_indent(slice_str(in), &b) < 0, "no room");
	buf_done(&b);
}

int main(void)
{
	test_kinds();
	test_rows();
	test_also();
	test_component();
	test_indent();
	return done_testing();
}
