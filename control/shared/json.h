/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - jansson with limits, and getters that name what is wrong
 *
 * A getter reads one member of an object. For a member that is absent or null
 * it sets the default. It returns 0, or -EINVAL with the key's name in @err for
 * a wrong type or range; the result is untouched then. Strings are borrowed
 * from the object.
 */
#ifndef CONTROL_SHARED_JSON_H
#define CONTROL_SHARED_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/schema.h"
#include "lib/str.h"

#define JSONX_DEPTH_MAX 32u /* nested arrays and objects */

/* Released at the end of its scope. */
#define SCOPED_JSON ATTR_CLEANUP(json_decrefp) json_t *

/* Returns true if the JSON text has at most JSONX_DEPTH_MAX nested arrays and
 * objects. Does not check anything else. */
bool jsonx_is_shallow(const char *text, size_t len);
/* Parses a JSON text: at most JSONX_DEPTH_MAX deep, no duplicate keys, nothing
 * after it. Sets *ret to a new reference. Returns 0, or -EINVAL with the
 * position in @err. */
int jsonx_parse(const char *text, size_t len, json_t **ret, struct err *err);

int jsonx_str(const json_t *obj, const char *key, const char *def,
	      const char **ret, struct err *err);
int jsonx_bool(const json_t *obj, const char *key, bool def, bool *ret,
	       struct err *err);
int jsonx_u64(const json_t *obj, const char *key, uint64_t min, uint64_t max,
	      uint64_t def, uint64_t *ret, struct err *err);
/* Appends copies of an array of at most @max strings to @ret. An absent member
 * appends nothing. On failure (-EINVAL, -ENOMEM) a part may have been
 * appended. */
int jsonx_strv(const json_t *obj, const char *key, size_t max, struct strv *ret,
	       struct err *err);
/* Sets -EINVAL and "'@key' …", with the key for programs (err_key()). Returns
 * -EINVAL. */
int jsonx_refuse(struct err *err, const char *key, const char *fmt, ...)
	ATTR_PRINTF(3, 4);
/*
 * Checks the members of @obj by the map @s: each must have a row in it, the
 * type of that row and, if it is a number, its range; a list must not have more
 * entries than its row says. null stands for absent. Does not check words,
 * patterns and which members are required: the reader does, with messages of
 * its own. Returns 0, or -EINVAL with the key.
 */
int jsonx_fit(json_t *obj, const struct schema *s, struct err *err);

/* Returns a member's text, borrowed; "" if there is none. For engine
 * answers. */
const char *jsonx_text_at(const json_t *obj, const char *key);

/* Return new references, NULL without memory. Text that is not UTF-8 is
 * escaped, and cut at 1 KiB; NULL becomes null. */
json_t *jsonx_text(const char *s);
json_t *jsonx_from_strv(const struct strv *sv);
/* Returns {"error": {"code": @code, "message": @message, "key": @key}}, as above;
 * without the key if @key is NULL or "". */
json_t *jsonx_error(const char *code, const char *key, const char *message);

/* Makes jansson wipe all memory that it frees, for processes whose JSON holds
 * credentials. */
void jsonx_wipe_freed(void);

#endif
