/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full_snapshots.c - tools: snapshot_create, _list, _restore, _delete, sandbox_fork
 */
#include "control/cli/mcp/full.h"

#include <string.h>

#include "control/cli/mcp/scope.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/str.h"

static const struct schema is_new_name = {
	.kind = SCHEMA_TEXT,
	.about = "A name of your choice: the id is mcp-NAME."
};
static const struct schema_key tag_rows[] = { { "id", &full_is_id },
					      { "tag", &full_is_tag } };
static const struct schema_key list_rows[] = { { "id", &full_is_id } };
static const struct schema_key fork_rows[] = { { "id", &full_is_id },
					       { "tag", &full_is_tag },
					       { "name", &is_new_name } };
static const char *const needs_id[] = { "id", NULL };
static const char *const needs_tag[] = { "id", "tag", NULL };
static const struct schema tag_takes = { SCHEMA_ROWS(tag_rows), .nulls = true,
					 .required = needs_id };
static const struct schema tagged_takes = { SCHEMA_ROWS(tag_rows),
					    .required = needs_tag };
static const struct schema list_takes = { SCHEMA_ROWS(list_rows),
					  .nulls = true };
static const struct schema fork_takes = { SCHEMA_ROWS(fork_rows), .nulls = true,
					  .required = needs_id };

static const char *const shown[] = { "tag",   "created_at", "running", "files",
				     "bytes", "memory",     NULL };

static int tag_check(const struct tool_call *c, struct err *err)
{
	const char *tag = json_text(c->args, "tag");

	return *tag ? name_check_tag(tag, err) : 0;
}

static int fork_check(const struct tool_call *c, struct err *err)
{
	char name[AC_NAME_MAX + 1];
	int rc = tag_check(c, err);

	return rc < 0 ? rc :
			scope_new_name(json_text(c->args, "name"), name, err);
}

/* Returns {"tag": TAG}, without it if none is given. */
static json_t *tag_body(const struct tool_call *c)
{
	const char *tag = json_text(c->args, "tag");

	return json_pack("{s:s*}", "tag", *tag ? tag : NULL);
}

/* Returns what a client is told of a snapshot. */
static json_t *view(const json_t *snapshot)
{
	json_t *to = scope_pick(snapshot, shown);

	if (to && json_object_set_new(
			  to, "id",
			  jsonx_text(json_text(snapshot, "instance"))) < 0) {
		json_decref(to);
		return NULL;
	}
	return to;
}

static int create(const struct tool_call *c, json_t **ret, struct err *err)
{
	SCOPED_JSON body = tag_body(c);
	SCOPED_JSON got = NULL;
	int rc = body ? scope_call(c, "POST", "/snapshots", body, &got, err) :
			err_nomem(err);

	if (rc < 0)
		return rc;
	*ret = view(got);
	return *ret ? 0 : err_nomem(err);
}

static int list(const struct tool_call *c, json_t **ret, struct err *err)
{
	bool one = *json_text(c->args, "id");
	SCOPED_JSON got = NULL;
	json_t *all = json_array();
	const json_t *s;
	size_t i;
	int rc = !all ? err_nomem(err) :
		 one  ? scope_call(c, "GET", "/snapshots", NULL, &got, err) :
			scope_ask(c, "/v1/snapshots", &got, err);

	json_array_foreach (json_object_get(got, "snapshots"), i, s) {
		if (rc == 0 && scope_has(c->o, json_text(s, "instance")) &&
		    json_array_append_new(all, view(s)) < 0)
			rc = err_nomem(err);
	}
	if (rc < 0) {
		json_decref(all);
		return rc;
	}
	*ret = json_pack("{s:o}", "snapshots", all);
	return *ret ? 0 : err_nomem(err);
}

static int restore(const struct tool_call *c, json_t **ret, struct err *err)
{
	SCOPED_JSON body = tag_body(c);
	SCOPED_JSON got = NULL;
	int rc = body ? scope_call(c, "POST", "/restore", body, &got, err) :
			err_nomem(err);

	if (rc < 0)
		return rc;
	*ret = scope_view(got);
	return *ret ? 0 : err_nomem(err);
}

static int delete (const struct tool_call *c, json_t **ret, struct err *err)
{
	SCOPED_STR rest =
		client_path("/snapshots?tag=", json_text(c->args, "tag"), "");
	int rc = rest ? scope_call(c, "DELETE", rest, NULL, NULL, err) :
			err_nomem(err);

	if (rc < 0)
		return rc;
	*ret = json_pack("{s:b}", "deleted", 1);
	return *ret ? 0 : err_nomem(err);
}

static int fork_it(const struct tool_call *c, json_t **ret, struct err *err)
{
	char name[AC_NAME_MAX + 1];
	SCOPED_JSON body = tag_body(c);
	SCOPED_JSON got = NULL;
	int rc = scope_new_name(json_text(c->args, "name"), name, err);

	if (rc == 0 &&
	    (!body ||
	     json_object_set_new(body, "names", json_pack("[s]", name)) < 0))
		rc = err_nomem(err);
	if (rc == 0)
		rc = scope_call(c, "POST", "/fork", body, &got, err);
	if (rc < 0)
		return rc;
	*ret = scope_view(json_array_get(json_object_get(got, "instances"), 0));
	return *ret ? 0 : err_nomem(err);
}

const struct tool full_snapshot_create = {
	.name = "snapshot_create",
	.title = "Keep the files of a sandbox",
	.about = "Keeps the files of a sandbox as they are now (/workspace and "
		 "the home). Without a tag it is named by the time.",
	.takes = &tag_takes,
	.check = tag_check,
	.run = create,
};
const struct tool full_snapshot_list = {
	.name = "snapshot_list",
	.title = "List the snapshots",
	.about = "Lists the snapshots of a sandbox, or of all.",
	.takes = &list_takes,
	.reads = true,
	.run = list,
};
const struct tool full_snapshot_restore = {
	.name = "snapshot_restore",
	.title = "Restore a snapshot",
	.about = "Puts the files of a snapshot back (the latest without a "
		 "tag). The sandbox must be stopped; sandbox_start starts it.",
	.takes = &tag_takes,
	.check = tag_check,
	.run = restore,
};
const struct tool full_snapshot_delete = {
	.name = "snapshot_delete",
	.title = "Delete a snapshot",
	.about = "Deletes a snapshot.",
	.takes = &tagged_takes,
	.check = tag_check,
	.run = delete,
};
const struct tool full_fork = {
	.name = "sandbox_fork",
	.title = "Copy a sandbox",
	.about = "Makes a sandbox with a copy of another's files, as they are "
		 "or were at a snapshot. sandbox_start starts it.",
	.takes = &fork_takes,
	.check = fork_check,
	.run = fork_it,
};
