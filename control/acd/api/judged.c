/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judged.c - the mistakes of a blueprint, as the API shows them
 */
#include "control/acd/api/judged.h"

#include "control/shared/json.h"

static json_t *mistake_json(const struct blueprint_mistake *one)
{
	return json_pack("{s:s, s:o, s:o, s:I, s:I, s:o}", "code", one->code,
			 "message", jsonx_text(one->message), "file",
			 jsonx_text(one->file), "line", (json_int_t)one->line,
			 "column", (json_int_t)one->column, "suggestion",
			 one->hint[0] ? jsonx_text(one->hint) : json_null());
}

json_t *blueprint_judged_json(const struct blueprint_mistakes *m)
{
	json_t *errors = json_array();

	for (size_t i = 0; i < m->n; i++)
		json_array_append_new(errors, mistake_json(&m->v[i]));
	return json_pack("{s:b, s:b, s:o}", "ok", m->n == 0, "more", m->more,
			 "errors", errors);
}
