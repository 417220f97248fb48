/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c - what a value may be, for its reader and as JSON Schema
 */
#include "lib/schema.h"

#include <stdlib.h>
#include <string.h>

#define PRINT_MAX (1024u * 1024)
#define LINE_MAX_BYTES 60u /* of a list or map that is kept on one line */

const struct schema schema_text = { .kind = SCHEMA_TEXT };
const struct schema schema_bool = { .kind = SCHEMA_BOOL };
const struct schema schema_true = { .kind = SCHEMA_TRUE };

const struct schema_key *schema_row(const struct schema *s, size_t i)
{
	const char *rows = s->rows;

	if (i >= s->n_rows)
		return s->also ? schema_row(s->also, i - s->n_rows) : NULL;
	return (const struct schema_key *)(const void *)(rows +
							 i * s->row_size);
}

const struct schema_key *schema_find(const struct schema *s, const char *key)
{
	const struct schema_key *k;

	for (size_t i = 0; (k = schema_row(s, i)); i++) {
		if (strcmp(k->key, key) == 0)
			return k;
	}
	return NULL;
}

static bool has_word(const char *const *words, const char *word)
{
	for (; words && *words; words++) {
		if (strcmp(*words, word) == 0)
			return true;
	}
	return false;
}

bool schema_requires(const struct schema *s, const char *key)
{
	return s->whole ? !has_word(s->optional, key) :
			  has_word(s->required, key);
}

/* How a schema is written. */
struct form {
	bool yaml; /* of a document that is YAML */
	bool null; /* null fits as well */
};

static void write_type(struct jsonw *w, const char *type, bool number,
		       bool null)
{
	if (!number && !null) {
		jsonw_str(w, "type", type);
		return;
	}
	jsonw_open(w, "type", '[');
	jsonw_str(w, NULL, type);
	if (number)
		jsonw_str(w, NULL, "number");
	if (null)
		jsonw_str(w, NULL, "null");
	jsonw_close(w, ']');
}

/* One of the schemas of "anyOf": null. */
static void write_or_null(struct jsonw *w, bool null)
{
	if (!null)
		return;
	jsonw_open(w, NULL, '{');
	jsonw_str(w, "type", "null");
	jsonw_close(w, '}');
}

static void write_pattern(struct jsonw *w, const char *key,
			  const struct schema *s)
{
	char text[512];

	if (!s->pattern)
		return;
	snprintf(text, sizeof(text), s->none ? "^(none|%s)$" : "^(%s)$",
		 s->pattern);
	jsonw_str(w, key, text);
}

/* What a reader of YAML makes a number of: "1.2". */
static bool is_number(const char *s)
{
	return *s && s[strspn(s, "0123456789.")] == '\0';
}

static void write_words(struct jsonw *w, const struct schema *s,
			struct form how)
{
	jsonw_open(w, "enum", '[');
	for (const char *const *p = s->words; *p; p++) {
		jsonw_str(w, NULL, *p);
		if (how.yaml && is_number(*p))
			jsonw_number(w, NULL, *p);
	}
	if (s->none)
		jsonw_str(w, NULL, "none");
	if (how.null)
		jsonw_str(w, NULL, NULL);
	jsonw_close(w, ']');
}

static void write_bounds(struct jsonw *w, uint64_t min, uint64_t max)
{
	jsonw_u64(w, "minimum", min);
	/* Beyond this a number of JSON is no longer exact. */
	if (max < UINT64_C(1) << 53)
		jsonw_u64(w, "maximum", max);
}

static void write_number(struct jsonw *w, const struct schema *s,
			 struct form how)
{
	if (s->none) {
		jsonw_open(w, "anyOf", '[');
		jsonw_open(w, NULL, '{');
	}
	write_type(w, "integer", false, !s->none && how.null);
	write_bounds(w, s->min, s->max);
	if (!s->none)
		return;
	jsonw_close(w, '}');
	jsonw_open(w, NULL, '{');
	jsonw_str(w, "const", "none");
	jsonw_close(w, '}');
	write_or_null(w, how.null);
	jsonw_close(w, ']');
}

static void write_list(struct jsonw *w, const struct schema *s, struct form how)
{
	write_type(w, "array", false, how.null);
	if (s->min)
		jsonw_u64(w, "minItems", s->min);
	if (s->max)
		jsonw_u64(w, "maxItems", s->max);
	schema_write(w, "items", s->item, how.yaml);
}

static void write_member(struct jsonw *w, const char *key,
			 const struct schema *s, struct form how);

static void write_required(struct jsonw *w, const struct schema *s)
{
	const struct schema_key *k;

	if (!s->required && !s->whole)
		return;
	jsonw_open(w, "required", '[');
	for (size_t i = 0; (k = schema_row(s, i)); i++) {
		if (schema_requires(s, k->key))
			jsonw_str(w, NULL, k->key);
	}
	jsonw_close(w, ']');
}

static void write_map(struct jsonw *w, const struct schema *s, struct form how)
{
	const struct schema_key *k;
	struct form member = { .yaml = how.yaml };

	write_type(w, "object", false, how.null);
	jsonw_open(w, "properties", '{');
	for (size_t i = 0; (k = schema_row(s, i)); i++) {
		member.null = s->nulls && !schema_requires(s, k->key);
		if (k->is)
			write_member(w, k->key, k->is, member);
	}
	jsonw_close(w, '}');
	write_required(w, s);
	jsonw_bool(w, "additionalProperties", s->open);
}

static void write_named(struct jsonw *w, const struct schema *s,
			struct form how)
{
	write_type(w, "object", false, how.null);
	if (s->pattern) {
		jsonw_open(w, "propertyNames", '{');
		write_pattern(w, "pattern", s);
		jsonw_close(w, '}');
	}
	schema_write(w, "additionalProperties", s->item, how.yaml);
}

static void write_either(struct jsonw *w, const struct schema *s,
			 struct form how)
{
	jsonw_open(w, "anyOf", '[');
	for (const struct schema *const *p = s->either; *p; p++)
		schema_write(w, NULL, *p, how.yaml);
	if (s->none) {
		jsonw_open(w, NULL, '{');
		jsonw_str(w, "const", "none");
		jsonw_close(w, '}');
	}
	write_or_null(w, how.null);
	jsonw_close(w, ']');
}

static void write_text(struct jsonw *w, const struct schema *s, bool number,
		       bool null)
{
	write_type(w, "string", number, null);
	if (s->kind == SCHEMA_AMOUNT)
		write_bounds(w, s->min, s->max ? s->max : UINT64_MAX);
	else if (s->max)
		jsonw_u64(w, "maxLength", s->max);
	write_pattern(w, "pattern", s);
}

static void write_true(struct jsonw *w, bool null)
{
	if (!null) {
		jsonw_bool(w, "const", true);
		return;
	}
	jsonw_open(w, "enum", '[');
	jsonw_bool(w, NULL, true);
	jsonw_str(w, NULL, NULL);
	jsonw_close(w, ']');
}

static void write_json(struct jsonw *w, bool null)
{
	jsonw_open(w, "type", '[');
	jsonw_str(w, NULL, "object");
	jsonw_str(w, NULL, "array");
	if (null)
		jsonw_str(w, NULL, "null");
	jsonw_close(w, ']');
}

static void write_body(struct jsonw *w, const struct schema *s, struct form how)
{
	switch (s->kind) {
	case SCHEMA_TEXT:
	case SCHEMA_AMOUNT:
		write_text(w, s, how.yaml, how.null);
		break;
	case SCHEMA_FORM:
		write_text(w, s, false, how.null);
		break;
	case SCHEMA_WORD:
		write_words(w, s, how);
		break;
	case SCHEMA_NUMBER:
		write_number(w, s, how);
		break;
	case SCHEMA_INTEGER:
		write_type(w, "integer", false, how.null);
		break;
	case SCHEMA_DECIMAL:
		write_type(w, "number", false, how.null);
		break;
	case SCHEMA_BOOL:
		write_type(w, "boolean", false, how.null);
		break;
	case SCHEMA_TRUE:
		write_true(w, how.null);
		break;
	case SCHEMA_LIST:
		write_list(w, s, how);
		break;
	case SCHEMA_MAP:
		write_map(w, s, how);
		break;
	case SCHEMA_NAMED:
		write_named(w, s, how);
		break;
	case SCHEMA_EITHER:
		write_either(w, s, how);
		break;
	case SCHEMA_ANY:
		break;
	case SCHEMA_JSON:
		write_json(w, how.null);
		break;
	}
}

static void write_reference(struct jsonw *w, const struct schema *s, bool null)
{
	char text[128];

	snprintf(text, sizeof(text), "#/components/schemas/%s", s->name);
	if (!null) {
		jsonw_str(w, "$ref", text);
		return;
	}
	jsonw_open(w, "anyOf", '[');
	jsonw_open(w, NULL, '{');
	jsonw_str(w, "$ref", text);
	jsonw_close(w, '}');
	write_or_null(w, true);
	jsonw_close(w, ']');
}

static void write_member(struct jsonw *w, const char *key,
			 const struct schema *s, struct form how)
{
	how.null |= s->null;
	jsonw_open(w, key, '{');
	if (s->name) {
		write_reference(w, s, how.null);
	} else {
		if (s->about)
			jsonw_str(w, "description", s->about);
		write_body(w, s, how);
	}
	jsonw_close(w, '}');
}

void schema_write(struct jsonw *w, const char *key, const struct schema *s,
		  bool yaml)
{
	write_member(w, key, s, (struct form){ .yaml = yaml });
}

void schema_write_component(struct jsonw *w, const struct schema *s)
{
	jsonw_open(w, s->name, '{');
	if (s->about)
		jsonw_str(w, "description", s->about);
	write_body(w, s, (struct form){ .null = s->null });
	jsonw_close(w, '}');
}

/* The bytes of the list or map at @p if nothing is nested in it and it is
 * short, else 0. */
static size_t short_len(const uint8_t *p, size_t len)
{
	bool quoted = false;

	for (size_t i = 1; i < len && i < LINE_MAX_BYTES; i++) {
		if (p[i] == '"')
			quoted = !quoted;
		else if (quoted && p[i] == '\\')
			i++;
		else if (!quoted && (p[i] == '[' || p[i] == '{'))
			return 0;
		else if (!quoted && (p[i] == ']' || p[i] == '}'))
			return i + 1;
	}
	return 0;
}

struct indent {
	struct buf *out;
	unsigned depth;
	size_t flat; /* bytes that stay on this line */
	bool quoted, escaped;
	int rc;
};

static void indent_put(struct indent *in, const char *text)
{
	if (in->rc == 0)
		in->rc = buf_append(in->out, text, strlen(text));
}

static void indent_line(struct indent *in)
{
	indent_put(in, "\n");
	for (unsigned i = 0; i < in->depth; i++)
		indent_put(in, "\t");
}

static void indent_byte(struct indent *in, const uint8_t *p, size_t len)
{
	const char c = (char)*p, text[2] = { c, '\0' };
	const bool open = c == '{' || c == '[', close = c == '}' || c == ']';

	if (in->quoted) {
		indent_put(in, text);
		in->quoted = in->escaped || c != '"';
		in->escaped = !in->escaped && c == '\\';
		return;
	}
	if (open && !in->flat)
		in->flat = short_len(p, len);
	if (close && !in->flat) {
		in->depth--;
		indent_line(in);
	}
	indent_put(in, text);
	in->quoted = c == '"';
	if (open && !in->flat) {
		in->depth++;
		indent_line(in);
	} else if (c == ',' && !in->flat) {
		indent_line(in);
	} else if (c == ',' || c == ':') {
		indent_put(in, " ");
	}
}

int schema_indent(struct slice text, struct buf *out)
{
	struct indent in = { .out = out };

	for (size_t i = 0; i < text.len && in.rc == 0; i++) {
		indent_byte(&in, text.ptr + i, text.len - i);
		in.flat -= in.flat > 0;
	}
	indent_put(&in, "\n");
	return in.rc;
}

int schema_print(const struct schema *s, const char *title, struct buf *out)
{
	struct buf text;
	struct jsonw w;
	int rc;

	buf_init(&text, PRINT_MAX);
	jsonw_init(&w, &text);
	jsonw_open(&w, NULL, '{');
	jsonw_str(&w, "$schema",
		  "https://json-schema.org/draft/2020-12/schema");
	jsonw_str(&w, "title", title);
	if (s->about)
		jsonw_str(&w, "description", s->about);
	write_body(&w, s, (struct form){ .yaml = true });
	jsonw_close(&w, '}');
	rc = w.rc < 0 ? w.rc : schema_indent(buf_slice(&text), out);
	buf_done(&text);
	return rc;
}
