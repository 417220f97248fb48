/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - jansson with limits, and getters that name what is wrong
 */
#include "control/shared/json.h"

#include <malloc.h>
#include <stdarg.h>
#include <string.h>

/*
 * jansson recurses once a level. Its own limit (2048) needs several hundred
 * kilobytes of stack; our texts have a handful of levels.
 */
bool jsonx_is_shallow(const char *text, size_t len)
{
	unsigned depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			if (++depth > JSONX_DEPTH_MAX)
				return false;
		} else if ((c == '}' || c == ']') && depth) {
			depth--;
		}
	}
	return true;
}

int jsonx_parse(const char *text, size_t len, json_t **ret, struct err *err)
{
	json_error_t je;
	json_t *j;

	if (!jsonx_is_shallow(text, len))
		return err_set(err, -EINVAL,
			       "the JSON text is nested deeper than %u levels",
			       JSONX_DEPTH_MAX);

	j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &je);
	if (!j)
		return err_set(err, -EINVAL,
			       "not valid JSON (line %d, column %d): %s",
			       je.line, je.column, je.text);
	*ret = j;
	return 0;
}

/* Returns the member, or NULL if it is absent or null. */
static json_t *member(const json_t *obj, const char *key)
{
	json_t *j = json_object_get(obj, key);

	return json_is_null(j) ? NULL : j;
}

int jsonx_refuse(struct err *err, const char *key, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(err, -EINVAL, "%s", text);
	err_key(err, key);
	return -EINVAL;
}

int jsonx_str(const json_t *obj, const char *key, const char *def,
	      const char **ret, struct err *err)
{
	const json_t *j = member(obj, key);

	if (j && !json_is_string(j))
		return jsonx_refuse(err, key, "must be a string");
	*ret = j ? json_string_value(j) : def;
	return 0;
}

int jsonx_bool(const json_t *obj, const char *key, bool def, bool *ret,
	       struct err *err)
{
	const json_t *j = member(obj, key);

	if (j && !json_is_boolean(j))
		return jsonx_refuse(err, key, "must be true or false");
	*ret = j ? json_is_true(j) : def;
	return 0;
}

int jsonx_u64(const json_t *obj, const char *key, uint64_t min, uint64_t max,
	      uint64_t def, uint64_t *ret, struct err *err)
{
	const json_t *j = member(obj, key);
	uint64_t v;

	if (!j) {
		*ret = def;
		return 0;
	}
	if (!json_is_integer(j) || json_integer_value(j) < 0)
		return jsonx_refuse(err, key,
				    "must be a whole number, not negative");

	v = (uint64_t)json_integer_value(j);
	if (v < min || v > max)
		return jsonx_refuse(err, key, "must be between %llu and %llu",
				    (unsigned long long)min,
				    (unsigned long long)max);
	*ret = v;
	return 0;
}

int jsonx_strv(const json_t *obj, const char *key, size_t max, struct strv *ret,
	       struct err *err)
{
	const json_t *j = member(obj, key);

	if (!j)
		return 0;
	if (!json_is_array(j))
		return jsonx_refuse(err, key, "must be a list of strings");
	if (json_array_size(j) > max)
		return jsonx_refuse(err, key,
				    "has %zu entries, at most %zu are allowed",
				    json_array_size(j), max);

	for (size_t i = 0; i < json_array_size(j); i++) {
		const char *s = json_string_value(json_array_get(j, i));

		if (!s)
			return jsonx_refuse(err, key,
					    "must be a list of strings");
		if (strv_push(ret, s) < 0)
			return err_nomem(err);
	}
	return 0;
}

/* ---- by a schema ---- */

static const char *list_of(const struct schema *item)
{
	switch (item->kind) {
	case SCHEMA_TEXT:
	case SCHEMA_FORM:
	case SCHEMA_WORD:
		return "must be a list of strings";
	case SCHEMA_NUMBER:
		return "must be a list of whole numbers";
	default:
		return "must be a list";
	}
}

static bool item_fits(const json_t *v, const struct schema *item)
{
	switch (item->kind) {
	case SCHEMA_TEXT:
	case SCHEMA_FORM:
	case SCHEMA_WORD:
		return json_is_string(v);
	case SCHEMA_NUMBER:
		return json_is_integer(v);
	default:
		return true;
	}
}

static int list_fit(const json_t *list, const char *key, const struct schema *s,
		    struct err *err)
{
	const json_t *v;
	size_t i;

	if (!json_is_array(list))
		return jsonx_refuse(err, key, "%s", list_of(s->item));
	if (s->max && json_array_size(list) > s->max)
		return jsonx_refuse(err, key,
				    "has %zu entries, at most %llu are allowed",
				    json_array_size(list),
				    (unsigned long long)s->max);
	json_array_foreach (list, i, v) {
		if (!item_fits(v, s->item))
			return jsonx_refuse(err, key, "%s", list_of(s->item));
	}
	return 0;
}

static int member_fit(json_t *obj, const char *key, const struct schema *s,
		      struct err *err)
{
	json_t *v = member(obj, key);
	const char *text;
	uint64_t number;
	bool flag;

	if (!v)
		return 0;
	switch (s->kind) {
	case SCHEMA_TEXT:
	case SCHEMA_FORM:
	case SCHEMA_WORD:
		return jsonx_str(obj, key, NULL, &text, err);
	case SCHEMA_BOOL:
		return jsonx_bool(obj, key, false, &flag, err);
	case SCHEMA_NUMBER:
		return jsonx_u64(obj, key, s->min, s->max, 0, &number, err);
	case SCHEMA_LIST:
		return list_fit(v, key, s, err);
	case SCHEMA_MAP:
		return json_is_object(v) ?
			       jsonx_fit(v, s, err) :
			       jsonx_refuse(err, key, "must be an object");
	default:
		return 0;
	}
}

int jsonx_fit(json_t *obj, const struct schema *s, struct err *err)
{
	int rc = 0;

	for (void *it = json_object_iter(obj); it && rc == 0;
	     it = json_object_iter_next(obj, it)) {
		const char *key = json_object_iter_key(it);
		const struct schema_key *k = schema_find(s, key);
		char text[64];

		if (k && k->is)
			rc = member_fit(obj, key, k->is, err);
		else if (k || !s->open)
			rc = jsonx_refuse(err,
					  str_escape(text, sizeof(text), key,
						     strlen(key)),
					  "is an unknown key");
	}
	return rc;
}

json_t *jsonx_text(const char *s)
{
	json_t *j;
	char text[1024];

	if (!s)
		return json_null();
	j = json_string(s);
	if (j)
		return j;
	return json_string(str_escape(text, sizeof(text), s, strlen(s)));
}

json_t *jsonx_from_strv(const struct strv *sv)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < sv->n; i++) {
		if (json_array_append_new(list, jsonx_text(sv->v[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

json_t *jsonx_error(const char *code, const char *key, const char *message)
{
	return json_pack("{s:{s:s,s:o,s:s*}}", "error", "code", code, "message",
			 jsonx_text(message), "key", key && *key ? key : NULL);
}

const char *jsonx_text_at(const json_t *obj, const char *key)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s ? s : "";
}

/* ---- secrets ---- */

/* A string may be a credential; at this point nothing tells. */
static void wipe_and_free(void *p)
{
	if (p)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

void jsonx_wipe_freed(void)
{
	json_set_alloc_funcs(malloc, wipe_and_free);
}
