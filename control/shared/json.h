/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - jansson with limits, and getters that name what is wrong
 *
 * A getter reads one member of an object. A member that is absent or null
 * yields the default; one of the wrong type or out of range is -EINVAL with
 * the key's name in @err, and the result is untouched. Strings are borrowed
 * from the object.
 */
#ifndef CONTROL_SHARED_JSON_H
#define CONTROL_SHARED_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/str.h"

#define JSONX_DEPTH_MAX 32u /* nested arrays and objects */

/* Dropped at the end of its scope; jansson brings the function. */
#define SCOPED_JSON ATTR_CLEANUP(json_decrefp) json_t *

/* Parses one text: at most JSONX_DEPTH_MAX deep, no duplicate keys, nothing
 * behind it. -EINVAL with line and column. *ret is a new reference. */
int jsonx_parse(const char *text, size_t len, json_t **ret, struct err *err);

int jsonx_str(const json_t *obj, const char *key, const char *def,
	      const char **ret, struct err *err);
int jsonx_bool(const json_t *obj, const char *key, bool def, bool *ret,
	       struct err *err);
int jsonx_u64(const json_t *obj, const char *key, uint64_t min, uint64_t max,
	      uint64_t def, uint64_t *ret, struct err *err);
/* An array of at most @max strings, copied behind what @ret has already.
 * Absent: nothing is added. On failure @ret may have got a part. */
int jsonx_strv(const json_t *obj, const char *key, size_t max, struct strv *ret,
	       struct err *err);
/* Refuses members that are not in @keys (NULL-terminated). */
int jsonx_known(json_t *obj, const char *const *keys, struct err *err);

/* A member's text, borrowed; "" when there is none. For what an engine says. */
const char *jsonx_text_at(const json_t *obj, const char *key);

/* New references. Text that is not UTF-8 is escaped (json_string() would
 * refuse it); NULL becomes null. */
json_t *jsonx_text(const char *s);
json_t *jsonx_from_strv(const struct strv *sv);
/* {"error": {"code": @code, "message": @message}} */
json_t *jsonx_error(const char *code, const char *message);

/* From now on what jansson frees is wiped: for who has values in JSON. */
void jsonx_wipe_freed(void);

#endif
