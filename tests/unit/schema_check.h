/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_check.h - holds a document against JSON Schema, as far as ours use it
 *
 * A document is one of ottergate/yaml.h, which the test includes before. A
 * keyword that is not known here ends the test.
 */
#ifndef TESTS_UNIT_SCHEMA_CHECK_H
#define TESTS_UNIT_SCHEMA_CHECK_H

#include <jansson.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/file.h"
#include "lib/schema.h"

static bool check_value(json_t *schema, json_t *v);

static bool text_matches(const char *pattern, const char *text)
{
	regex_t re;
	bool yes;

	if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
		printf("Bail out! no pattern: %s\n", pattern);
		exit(1);
	}
	yes = regexec(&re, text, 0, NULL, 0) == 0;
	regfree(&re);
	return yes;
}

/* What a reader of YAML 1.2 makes of a plain word. */
static json_t *json_of_word(const char *s)
{
	if (strcmp(s, "true") == 0 || strcmp(s, "false") == 0)
		return json_boolean(*s == 't');
	if (!*s || strcmp(s, "~") == 0 || strcmp(s, "null") == 0)
		return json_null();
	if (text_matches("^[-+]?[0-9]{1,18}$", s))
		return json_integer(strtoll(s, NULL, 10));
	if (text_matches("^[-+]?[0-9]+\\.[0-9]*([eE][-+]?[0-9]+)?$", s))
		return json_real(strtod(s, NULL));
	return json_string(s);
}

static json_t *json_of_node(const struct yaml_node *n)
{
	json_t *v;

	if (n->kind == YAML_SCALAR)
		return n->quoted ? json_string(n->text) : json_of_word(n->text);
	v = n->kind == YAML_LIST ? json_array() : json_object();
	for (const struct yaml_node *c = n->first; c; c = c->next) {
		if (n->kind == YAML_LIST)
			json_array_append_new(v, json_of_node(c));
		else
			json_object_set_new(v, c->key, json_of_node(c));
	}
	return v;
}

static bool type_is(const char *type, const json_t *v)
{
	return (strcmp(type, "object") == 0 && json_is_object(v)) ||
	       (strcmp(type, "array") == 0 && json_is_array(v)) ||
	       (strcmp(type, "string") == 0 && json_is_string(v)) ||
	       (strcmp(type, "integer") == 0 && json_is_integer(v)) ||
	       (strcmp(type, "number") == 0 && json_is_number(v)) ||
	       (strcmp(type, "boolean") == 0 && json_is_boolean(v));
}

static bool check_type(json_t *type, const json_t *v)
{
	json_t *one;
	size_t i;

	if (json_is_string(type))
		return type_is(json_string_value(type), v);
	json_array_foreach (type, i, one) {
		if (type_is(json_string_value(one), v))
			return true;
	}
	return false;
}

static bool check_one_of(json_t *list, json_t *v,
			 bool (*fn)(json_t *, json_t *))
{
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one) {
		if (fn(one, v))
			return true;
	}
	return false;
}

static bool same(json_t *a, json_t *b)
{
	if (json_is_number(a) && json_is_number(b))
		return json_number_value(a) == json_number_value(b);
	return json_equal(a, b);
}

static bool check_items(json_t *schema, json_t *v)
{
	json_t *one;
	size_t i;

	json_array_foreach (v, i, one) {
		if (!check_value(schema, one))
			return false;
	}
	return true;
}

static bool check_required(json_t *keys, json_t *v)
{
	json_t *one;
	size_t i;

	json_array_foreach (keys, i, one) {
		if (json_is_object(v) &&
		    !json_object_get(v, json_string_value(one)))
			return false;
	}
	return true;
}

static bool check_names(json_t *schema, json_t *v)
{
	const char *key;
	json_t *value;

	json_object_foreach (v, key, value) {
		json_t *name = json_string(key);
		bool yes = check_value(schema, name);

		json_decref(name);
		if (!yes)
			return false;
	}
	return true;
}

/* Members by `properties`, all others by `additionalProperties`. */
static bool check_members(json_t *schema, json_t *v)
{
	json_t *known = json_object_get(schema, "properties");
	json_t *other = json_object_get(schema, "additionalProperties");
	const char *key;
	json_t *value;

	json_object_foreach (v, key, value) {
		json_t *is = json_object_get(known, key);

		is = is ? is : other;
		if (json_is_false(is) || (is && !check_value(is, value)))
			return false;
	}
	return true;
}

static bool check_word(json_t *schema, const char *word, json_t *arg, json_t *v)
{
	const double n = json_number_value(arg);
	const char *text = json_string_value(v);

	if (strcmp(word, "type") == 0)
		return check_type(arg, v);
	if (strcmp(word, "enum") == 0)
		return check_one_of(arg, v, same);
	if (strcmp(word, "anyOf") == 0)
		return check_one_of(arg, v, check_value);
	if (strcmp(word, "const") == 0)
		return same(arg, v);
	if (strcmp(word, "minimum") == 0)
		return !json_is_number(v) || json_number_value(v) >= n;
	if (strcmp(word, "maximum") == 0)
		return !json_is_number(v) || json_number_value(v) <= n;
	if (strcmp(word, "minItems") == 0)
		return !json_is_array(v) || (double)json_array_size(v) >= n;
	if (strcmp(word, "maxItems") == 0)
		return !json_is_array(v) || (double)json_array_size(v) <= n;
	if (strcmp(word, "maxLength") == 0)
		return !text || (double)strlen(text) <= n;
	if (strcmp(word, "pattern") == 0)
		return !text || text_matches(json_string_value(arg), text);
	if (strcmp(word, "items") == 0)
		return check_items(arg, v);
	if (strcmp(word, "required") == 0)
		return check_required(arg, v);
	if (strcmp(word, "propertyNames") == 0)
		return check_names(arg, v);
	if (strcmp(word, "properties") == 0 ||
	    strcmp(word, "additionalProperties") == 0)
		return check_members(schema, v);
	if (strcmp(word, "$schema") == 0 || strcmp(word, "title") == 0 ||
	    strcmp(word, "description") == 0)
		return true;
	printf("Bail out! not known in a schema: %s\n", word);
	exit(1);
}

/* Says whether @v is what @schema describes. */
static bool check_value(json_t *schema, json_t *v)
{
	const char *word;
	json_t *arg;

	json_object_foreach (schema, word, arg) {
		if (!check_word(schema, word, arg, v))
			return false;
	}
	return true;
}

/* The shipped schema; says whether it is what the tables print. */
static json_t *schema_shipped(const char *file, const struct schema *s,
			      const char *title)
{
	SCOPED_STR text = NULL;
	struct buf out;
	size_t len = 0;

	buf_init(&out, 1024 * 1024);
	is_int(schema_print(s, title, &out), 0, "%s: printed", file);
	is_int(file_read(file, 1024 * 1024, &text, &len), 0, "and shipped");
	ok(text && len == buf_len(&out) &&
		   memcmp(text, buf_slice(&out).ptr, len) == 0,
	   "%s is what the tables say: `make schemas` writes it", file);
	buf_done(&out);
	return text ? json_loads(text, 0, NULL) : NULL;
}

#endif
