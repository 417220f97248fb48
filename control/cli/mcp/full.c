/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full.c - the tools of `ac mcp --tools full`
 */
#include "control/cli/mcp/full.h"

#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/str.h"

const struct schema full_is_id = { .kind = SCHEMA_TEXT,
				   .about = "The sandbox, by its id." };
const struct schema full_is_path = {
	.kind = SCHEMA_TEXT, .about = "Absolute, or below /workspace."
};
const struct schema full_is_env = { .kind = SCHEMA_NAMED,
				    .item = &schema_text,
				    .about = "Variables: names and values." };
const struct schema full_is_tag = { .kind = SCHEMA_TEXT,
				    .about = "The name of a snapshot." };

const struct tool *const full_tools[] = {
	&full_create,
	&full_list,
	&full_get,
	&full_exec,
	&full_stop,
	&full_delete,
	&full_start,
	&full_file_read,
	&full_file_write,
	&full_file_list,
	&full_file_delete,
	&full_snapshot_create,
	&full_snapshot_list,
	&full_snapshot_restore,
	&full_snapshot_delete,
	&full_fork,
	&full_policy_explain,
	&full_blueprint_list,
	NULL,
};

int full_env(const json_t *args, struct strv *ret, struct err *err)
{
	json_t *env = json_object_get(args, "env");
	const char *name;
	const json_t *v;

	if (env && !json_is_null(env) && !json_is_object(env))
		return jsonx_refuse(err, "env",
				    "must be an object of names and values");
	json_object_foreach (env, name, v) {
		SCOPED_STR entry = NULL;

		if (!json_is_string(v) ||
		    strlen(json_string_value(v)) != json_string_length(v))
			return jsonx_refuse(err, "env",
					    "each value must be a string "
					    "without NUL");
		entry = str_printf("%s=%s", name, json_string_value(v));
		if (!entry)
			return err_nomem(err);
		if (name_check_env(entry, err) < 0)
			return err_wrap(err, "'env'");
		if (strv_push(ret, entry) < 0)
			return err_nomem(err);
	}
	return 0;
}
