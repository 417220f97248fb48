/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - jansson with limits, and getters that name what is wrong
 */
#include "control/shared/json.h"

#include <malloc.h>
#include <string.h>

/*
 * jansson recurses once a level. Its own limit (2048) is a stack of several
 * hundred kilobytes; no text of ours is deeper than a handful.
 */
static bool depth_is_bounded(const char *text, size_t len)
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

	if (!depth_is_bounded(text, len))
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

/* The member, or NULL when it is absent or null. */
static json_t *member(const json_t *obj, const char *key)
{
	json_t *j = json_object_get(obj, key);

	return json_is_null(j) ? NULL : j;
}

int jsonx_str(const json_t *obj, const char *key, const char *def,
	      const char **ret, struct err *err)
{
	const json_t *j = member(obj, key);

	if (j && !json_is_string(j))
		return err_set(err, -EINVAL, "'%s' must be a string", key);
	*ret = j ? json_string_value(j) : def;
	return 0;
}

int jsonx_bool(const json_t *obj, const char *key, bool def, bool *ret,
	       struct err *err)
{
	const json_t *j = member(obj, key);

	if (j && !json_is_boolean(j))
		return err_set(err, -EINVAL, "'%s' must be true or false", key);
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
		return err_set(err, -EINVAL,
			       "'%s' must be a whole number, not negative",
			       key);

	v = (uint64_t)json_integer_value(j);
	if (v < min || v > max)
		return err_set(err, -EINVAL,
			       "'%s' must be between %llu and %llu", key,
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
		return err_set(err, -EINVAL, "'%s' must be a list of strings",
			       key);
	if (json_array_size(j) > max)
		return err_set(err, -EINVAL,
			       "'%s' has %zu entries, at most %zu are allowed",
			       key, json_array_size(j), max);

	for (size_t i = 0; i < json_array_size(j); i++) {
		const char *s = json_string_value(json_array_get(j, i));

		if (!s)
			return err_set(err, -EINVAL,
				       "'%s' must be a list of strings", key);
		if (strv_push(ret, s) < 0)
			return err_nomem(err);
	}
	return 0;
}

static bool list_has(const char *const *list, const char *s)
{
	for (; *list; list++) {
		if (strcmp(*list, s) == 0)
			return true;
	}
	return false;
}

int jsonx_known(json_t *obj, const char *const *keys, struct err *err)
{
	for (void *it = json_object_iter(obj); it;
	     it = json_object_iter_next(obj, it)) {
		const char *key = json_object_iter_key(it);
		char text[64];

		if (!list_has(keys, key))
			return err_set(err, -EINVAL, "unknown key '%s'",
				       str_escape(text, sizeof(text), key,
						  strlen(key)));
	}
	return 0;
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

json_t *jsonx_error(const char *code, const char *message)
{
	return json_pack("{s:{s:s,s:o}}", "error", "code", code, "message",
			 jsonx_text(message));
}

const char *jsonx_text_at(const json_t *obj, const char *key)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s ? s : "";
}

/* ---- secrets ---- */

/* Whoever frees a JSON string does not know whether it was one. */
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
