/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openapi_test.c - what a table of routes becomes as an OpenAPI document
 */
#include "control/acd/api/spec/openapi.h"

#include <jansson.h>
#include <string.h>

#include "tests/unit/tap.h"

static const struct schema number = { .kind = SCHEMA_NUMBER, .max = 9 };
static const char *const needs[] = { "n", NULL };
static const struct schema_key keys[] = { { "n", &number },
					  { "t", &schema_text } };
static const struct schema inner = { SCHEMA_ROWS(keys), .name = "Inner" };
static const struct schema inners = { .kind = SCHEMA_LIST, .item = &inner };
static const struct schema_key outer_keys[] = { { "in", &inners } };
static const struct schema outer = { SCHEMA_ROWS(outer_keys), .name = "Outer" };
static const struct schema body = { SCHEMA_ROWS(keys), .required = needs,
				    .nulls = true };
static const struct schema free_body = { SCHEMA_ROWS(keys) };

static const struct http_answer forms[] = {
	{ .status = 200,
	  .about = "Bytes",
	  .media = "application/octet-stream" },
	{ .status = 200,
	  .about = "",
	  .media = "application/json",
	  .is = &outer },
	{ 0 },
};
static const struct http_answer upgrade[] = {
	{ .status = 101, .about = "Up", .header = "Who", .header_about = "it" },
	{ 0 },
};
static const struct http_answer done[] = {
	{ .status = 204, .about = "Done" },
	{ 0 },
};
static const struct http_call get = {
	.id = "one",
	.summary = "One",
	.query = &body,
	.answers = forms,
	.fails = { 404 },
};
static const struct http_call post = {
	.id = "two",
	.summary = "Two",
	.about = "More.",
	.body = &body,
	.answers = upgrade,
};
static const struct http_call put = {
	.id = "three",
	.summary = "Three",
	.path = &schema_text,
	.raw = true,
	.answers = done,
};
static const struct http_call other = {
	.id = "four",
	.summary = "Four",
	.path = &schema_text,
	.body = &free_body,
	.answers = done,
};

static const struct http_route routes[] = {
	{ "GET", "/a", NULL, &get },   { "PUT", "/b/{name}", NULL, &put },
	{ "POST", "/a", NULL, &post }, { "POST", "/b/{name}", NULL, &other },
	{ NULL, NULL, NULL, NULL },
};

/* What stands at @path, whose keys are parted by blanks. */
static json_t *at(json_t *v, const char *path)
{
	char key[64];

	while (*path) {
		size_t n = strcspn(path, " ");

		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		v = json_is_array(v) ?
			    json_array_get(v, strtoul(key, NULL, 10)) :
			    json_object_get(v, key);
		path += n + (path[n] == ' ');
	}
	return v;
}

static const struct {
	const char *path, *want; /* NULL: nothing stands there */
} rows[] = {
	{ "openapi", "\"3.1.0\"" },
	{ "paths /a parameters", NULL },
	{ "paths /a get operationId", "\"one\"" },
	{ "paths /a get summary", "\"One\"" },
	{ "paths /a get description", NULL },
	{ "paths /a get requestBody", NULL },
	{ "paths /a get parameters 0",
	  "{\"name\":\"n\",\"in\":\"query\",\"required\":true,"
	  "\"schema\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":9}}" },
	{ "paths /a get parameters 1", "{\"name\":\"t\",\"in\":\"query\","
				       "\"schema\":{\"type\":\"string\"}}" },
	{ "paths /a get responses 200 description", "\"Bytes\"" },
	{ "paths /a get responses 200 content",
	  "{\"application/octet-stream\":{\"schema\":{\"type\":\"string\","
	  "\"format\":\"binary\"}},\"application/json\":{\"schema\":"
	  "{\"$ref\":\"#/components/schemas/Outer\"}}}" },
	{ "paths /a get responses 400",
	  "{\"$ref\":\"#/components/responses/Invalid\"}" },
	{ "paths /a get responses 404",
	  "{\"$ref\":\"#/components/responses/NotFound\"}" },
	{ "paths /a get responses 409", NULL },
	{ "paths /a post description", "\"More.\"" },
	{ "paths /a post requestBody",
	  "{\"required\":true,\"content\":{\"application/json\":{\"schema\":{"
	  "\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\","
	  "\"minimum\":0,\"maximum\":9},\"t\":{\"type\":[\"string\",\"null\"]}}"
	  ","
	  "\"required\":[\"n\"],\"additionalProperties\":false}}}}" },
	{ "paths /a post responses 101 headers",
	  "{\"Upgrade\":{\"schema\":{\"const\":\"ac-link/1\"}},\"Who\":{"
	  "\"description\":\"it\",\"schema\":{\"type\":\"string\"}}}" },
	{ "paths /b/{name} parameters",
	  "[{\"name\":\"name\",\"in\":\"path\",\"required\":true,"
	  "\"schema\":{\"type\":\"string\"}}]" },
	{ "paths /b/{name} put requestBody",
	  "{\"required\":false,\"content\":{\"application/octet-stream\":{"
	  "\"schema\":{\"type\":\"string\",\"format\":\"binary\"}}}}" },
	{ "paths /b/{name} put responses 204", "{\"description\":\"Done\"}" },
	{ "paths /b/{name} post requestBody required", "false" },
	{ "components schemas Outer properties in items",
	  "{\"$ref\":\"#/components/schemas/Inner\"}" },
	{ "components schemas Inner type", "\"object\"" },
	{ "components schemas Error required", "[\"error\"]" },
	{ "components responses NotFound content application/json schema",
	  "{\"$ref\":\"#/components/schemas/Error\"}" },
};

static void test_document(json_t *doc)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *v = at(doc, rows[i].path);
		char *got = v ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY) :
				NULL;

		if (rows[i].want)
			is_str(got ? got : "", rows[i].want, "%s",
			       rows[i].path);
		else
			ok(!got, "no %s", rows[i].path);
		free(got);
	}
	is_int((long)json_object_size(at(doc, "paths")), 2, "a path once");
}

int main(void)
{
	struct buf out, again, small;
	json_t *doc;

	buf_init(&out, 1024 * 1024);
	buf_init(&again, 1024 * 1024);
	buf_init(&small, 64);
	is_int(openapi_print(routes, &out), 0, "printed");
	is_int(openapi_print(routes, &again), 0, "and again");
	ok(buf_len(&out) == buf_len(&again) &&
		   memcmp(buf_slice(&out).ptr, buf_slice(&again).ptr,
			  buf_len(&out)) == 0,
	   "the same text");
	ok(openapi_print(routes, &small) < 0, "no room");
	doc = json_loadb((const char *)buf_slice(&out).ptr, buf_len(&out),
			 JSON_REJECT_DUPLICATES, NULL);
	if (ok(doc != NULL, "it is JSON"))
		test_document(doc);
	json_decref(doc);
	buf_done(&small);
	buf_done(&again);
	buf_done(&out);
	return done_testing();
}
