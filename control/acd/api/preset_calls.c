/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preset_calls.c - the route that lists presets of all kinds
 */
#include "control/acd/api/api.h"
#include "control/acd/egress/gate.h"
#include "control/acd/egress/presets.h"
#include "control/acd/preset/preset.h"
#include "control/shared/json.h"

/* Adds what the kind has. */
static int put_parts(json_t *j, enum preset_kind kind, const struct preset *p)
{
	if (kind == PRESET_PROMPTS)
		return json_object_set_new(j, "text", jsonx_text(p->text));
	return json_object_set_new(j, "apt", jsonx_from_strv(&p->apt)) |
	       json_object_set_new(j, "npm", jsonx_from_strv(&p->npm)) |
	       json_object_set_new(j, "pip", jsonx_from_strv(&p->pip)) |
	       json_object_set_new(j, "egress", jsonx_from_strv(&p->egress));
}

/* A preset that cannot be read is listed with the reason. */
static json_t *entry_of(enum preset_kind kind, const char *name)
{
	struct preset p = { 0 };
	struct err err = { 0 };
	json_t *j;

	if (preset_load(kind, name, &p, &err) < 0)
		return json_pack("{s:s, s:s, s:s, s:s, s:o}", "kind",
				 preset_kind_name(kind), "name", name,
				 "description", "", "source", "you", "error",
				 jsonx_text(err.msg));
	j = json_pack("{s:s, s:s, s:o, s:s}", "kind", preset_kind_name(kind),
		      "name", name, "description", jsonx_text(p.about),
		      "source", p.builtin ? "ac" : "you");
	if (j && put_parts(j, kind, &p) < 0)
		json_decref(ptr_take(&j));
	preset_done(&p);
	return j;
}

static int list_kind(enum preset_kind kind, json_t *list)
{
	struct strv names = { 0 };
	int rc = preset_names(kind, &names);

	for (size_t i = 0; i < names.n && rc == 0; i++)
		if (json_array_append_new(list, entry_of(kind, names.v[i])) < 0)
			rc = -ENOMEM;
	strv_done(&names);
	return rc;
}

void api_preset_list(void *ctx, struct http_req *req)
{
	SCOPED_JSON list = json_array();
	struct err err = { 0 };
	int rc = list ? 0 : -ENOMEM;

	(void)ctx;
	if (rc == 0)
		rc = presets_list(GATE_PRESETS, "ac", list);
	if (rc == 0)
		rc = presets_list(AC_STATE_POLICY, "you", list);
	for (int kind = 0; kind < PRESET_KINDS && rc == 0; kind++)
		rc = list_kind(kind, list);
	if (rc == 0) {
		http_reply_json(req, 200, json_pack("{s:O}", "presets", list));
		return;
	}
	err_nomem(&err);
	http_reply_error(req, &err, NULL);
}
