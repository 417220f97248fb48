/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full_look.c - tools: policy_explain, blueprint_list
 */
#include "control/cli/mcp/full.h"

#include "control/cli/mcp/scope.h"
#include "control/shared/json.h"
#include "lib/str.h"

static const struct schema is_url = {
	.kind = SCHEMA_TEXT,
	.about = "https://host/path, host, host:port or tcp://host:port."
};
static const struct schema_key url_rows[] = { { "id", &full_is_id },
					      { "url", &is_url } };
static const char *const needs_url[] = { "id", "url", NULL };
static const struct schema url_takes = { SCHEMA_ROWS(url_rows),
					 .required = needs_url };
static const struct schema none_takes = { .kind = SCHEMA_MAP };

static int explain(const struct tool_call *c, json_t **ret, struct err *err)
{
	static const char *const keys[] = { "allow", "reason", "text", "target",
					    "rule",  "mode",   "hint", NULL };
	SCOPED_STR rest = client_path(
		"/policy/check?url=", json_text(c->args, "url"), "");
	SCOPED_JSON got = NULL;
	int rc = rest ? scope_call(c, "GET", rest, NULL, &got, err) :
			err_nomem(err);

	if (rc < 0)
		return rc;
	*ret = scope_pick(got, keys);
	return *ret ? 0 : err_nomem(err);
}

static int blueprints(const struct tool_call *c, json_t **ret, struct err *err)
{
	static const char *const keys[] = { "name",   "description", "ready",
					    "limits", "error",       NULL };
	SCOPED_JSON got = NULL;
	json_t *all = json_array();
	const json_t *b;
	size_t i;
	int rc = all ? scope_ask(c, "/v1/blueprints", &got, err) :
		       err_nomem(err);

	json_array_foreach (json_object_get(got, "blueprints"), i, b) {
		if (rc == 0 &&
		    json_array_append_new(all, scope_pick(b, keys)) < 0)
			rc = err_nomem(err);
	}
	if (rc < 0) {
		json_decref(all);
		return rc;
	}
	*ret = json_pack("{s:o}", "blueprints", all);
	return *ret ? 0 : err_nomem(err);
}

const struct tool full_policy_explain = {
	.name = "policy_explain",
	.title = "Explain what a sandbox may reach",
	.about = "Tells whether a sandbox may reach a place, by which rule, "
		 "and what its user can do about it.",
	.takes = &url_takes,
	.reads = true,
	.run = explain,
};
const struct tool full_blueprint_list = {
	.name = "blueprint_list",
	.title = "List the blueprints",
	.about = "Lists what sandboxes can be made from: names for the image "
		 "of sandbox_create.",
	.takes = &none_takes,
	.reads = true,
	.run = blueprints,
};
