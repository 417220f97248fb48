/* SPDX-License-Identifier: Apache-2.0 */
/*
 * body.c - members of a body that fits its call
 */
#include <jansson.h>

#include "control/acd/api/api.h"

bool api_flag(const json_t *body, const char *key)
{
	return json_is_true(json_object_get(body, key));
}

uint64_t api_number(const json_t *body, const char *key, uint64_t def)
{
	const json_t *v = json_object_get(body, key);

	return json_is_integer(v) ? (uint64_t)json_integer_value(v) : def;
}

const char *api_text(const json_t *body, const char *key)
{
	return json_string_value(json_object_get(body, key));
}

json_t *api_object(const json_t *body, const char *key)
{
	json_t *v = json_object_get(body, key);

	return json_is_object(v) ? v : NULL;
}
