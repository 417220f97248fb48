/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool.c - what a tool of the MCP server is
 */
#include "control/cli/mcp/tool.h"

#include <string.h>

#include "control/shared/json.h"
#include "lib/jsonw.h"
#include "lib/str.h"

#define SCHEMA_TEXT_MAX (64u * 1024)

/* Returns the JSON Schema of @s, NULL without memory. */
static json_t *schema_json(const struct schema *s)
{
	SCOPED_JSON whole = NULL;
	struct jsonw w;
	struct slice text;
	struct buf b;

	buf_init(&b, SCHEMA_TEXT_MAX);
	jsonw_init(&w, &b);
	jsonw_open(&w, NULL, '{');
	schema_write(&w, "schema", s, false);
	jsonw_close(&w, '}');
	text = buf_slice(&b);
	if (w.rc == 0)
		whole = json_loadb((const char *)text.ptr, text.len, 0, NULL);
	buf_done(&b);
	return json_incref(json_object_get(whole, "schema"));
}

/* Returns the description, to be freed, or NULL without memory. */
static char *about(const struct tool *t, const struct mcp_opts *o)
{
	const char *text = t->session && o->about ? o->about : t->about;
	const char *more = t->session && o->about_more ? o->about_more : NULL;

	return str_printf("%s%s%s", text, more ? "\n\n" : "", more ? more : "");
}

json_t *tool_entry(const struct tool *t, const struct mcp_opts *o)
{
	SCOPED_STR text = about(t, o);
	SCOPED_JSON takes = schema_json(t->takes);
	SCOPED_JSON gives = t->gives ? schema_json(t->gives) : NULL;

	if (!text || !takes || (t->gives && !gives))
		return NULL;
	return json_pack("{s:s, s:s, s:o, s:O, s:O*, s:{s:b, s:b}}", "name",
			 t->name, "title", t->title, "description",
			 jsonx_text(text), "inputSchema", takes, "outputSchema",
			 gives, "annotations", "readOnlyHint", t->reads,
			 "openWorldHint", !t->reads);
}

/* A text with a NUL inside would be cut. Only what goes to a stdin or a file may
 * have one. */
static int check_nul(const char *key, const json_t *v, struct err *err)
{
	size_t i;
	const json_t *item;
	int rc = 0;

	if (json_is_string(v) &&
	    strlen(json_string_value(v)) != json_string_length(v))
		return jsonx_refuse(err, key, "must not have a NUL in it");
	json_array_foreach (v, i, item) {
		if (rc == 0)
			rc = check_nul(key, item, err);
	}
	return rc;
}

static int check_texts(const struct tool_call *c, struct err *err)
{
	const char *key;
	const json_t *v;
	int rc = 0;

	json_object_foreach (c->args, key, v) {
		if (rc == 0 && strcmp(key, "stdin") != 0 &&
		    strcmp(key, "content") != 0)
			rc = check_nul(key, v, err);
	}
	return rc;
}

int tool_check(const struct tool *t, const struct tool_call *c, struct err *err)
{
	const struct schema_key *k;
	int rc = jsonx_fit(c->args, t->takes, err);

	for (size_t i = 0; rc == 0 && (k = schema_row(t->takes, i)); i++) {
		const json_t *v = json_object_get(c->args, k->key);

		if (schema_requires(t->takes, k->key) &&
		    (!v || json_is_null(v)))
			rc = jsonx_refuse(err, k->key, "is missing");
	}
	if (rc == 0)
		rc = check_texts(c, err);
	return rc == 0 && t->check ? t->check(c, err) : rc;
}

json_t *tool_result(json_t *what)
{
	SCOPED_STR text = json_dumps(what, JSON_COMPACT);

	return text ? json_pack("{s:[{s:s, s:s}], s:O, s:b}", "content", "type",
				"text", "text", text, "structuredContent", what,
				"isError", 0) :
		      NULL;
}

json_t *tool_failure(const char *text)
{
	return json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text",
			 "text", jsonx_text(text), "isError", 1);
}
