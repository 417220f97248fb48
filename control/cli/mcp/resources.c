/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resources.c - logs and files of sandboxes as resources of MCP
 */
#include "control/cli/mcp/resources.h"

#include <string.h>

#include "control/cli/mcp/command.h"
#include "control/cli/mcp/bytes.h"
#include "control/cli/mcp/text.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/str.h"

#define BEGIN "ac://sandbox/"
#define LOG_LINES "2000"

static const struct schema is_uri = { .kind = SCHEMA_TEXT };
static const struct schema_key read_rows[] = { { "uri", &is_uri } };
static const char *const needs_uri[] = { "uri", NULL };
static const struct schema read_takes = { SCHEMA_ROWS(read_rows), .open = true,
					  .required = needs_uri };
static const struct schema list_takes = { .kind = SCHEMA_MAP, .open = true };

/* Decodes %XX of @in. Returns 0 or -EINVAL, also for a NUL. */
static int percent_decode(const char *in, char *out, size_t size)
{
	size_t n = 0;

	while (*in) {
		int hi = *in == '%' ? str_hex_digit((unsigned char)in[1]) : 0;
		int lo = *in == '%' && hi >= 0 ?
				 str_hex_digit((unsigned char)in[2]) :
				 0;

		if (hi < 0 || lo < 0 || n + 1 >= size)
			return -EINVAL;
		out[n] = *in == '%' ? (char)(hi << 4 | lo) : *in;
		if (out[n++] == '\0')
			return -EINVAL;
		in += *in == '%' ? 3 : 1;
	}
	out[n] = '\0';
	return 0;
}

int resource_parse(const char *uri, struct resource *ret)
{
	struct resource r = { 0 };
	struct err ignored = { 0 };
	const char *rest;
	size_t len;

	if (!str_starts(uri, BEGIN))
		return -EINVAL;
	uri += strlen(BEGIN);
	rest = strchr(uri, '/');
	len = rest ? (size_t)(rest - uri) : 0;
	if (!rest || len >= sizeof(r.id))
		return -EINVAL;
	memcpy(r.id, uri, len);
	if (name_check_instance(r.id, &ignored) < 0)
		return -EINVAL;
	if (strcmp(rest, "/log") != 0) {
		/* The path begins with the slash behind "file". */
		if (!str_starts(rest, "/file/") ||
		    percent_decode(rest + strlen("/file"), r.path,
				   sizeof(r.path)) < 0)
			return -EINVAL;
	}
	*ret = r;
	return 0;
}

json_t *resources_templates(void)
{
	return json_pack("{s:[{s:s, s:s, s:s, s:s}, {s:s, s:s, s:s}]}",
			 "resourceTemplates", "uriTemplate", BEGIN "{id}/log",
			 "name", "log", "description",
			 "The last " LOG_LINES
			 " lines that the main process of a "
			 "sandbox wrote",
			 "mimeType", "text/plain", "uriTemplate",
			 BEGIN "{id}/file/{+path}", "name", "file",
			 "description",
			 "A file of a running sandbox, by its path from /");
}

static json_t *log_entry(const char *id)
{
	SCOPED_STR uri = str_printf(BEGIN "%s/log", id);
	SCOPED_STR name = str_printf("log of %s", id);

	return uri && name ? json_pack("{s:s, s:s, s:s}", "uri", uri, "name",
				       name, "mimeType", "text/plain") :
			     NULL;
}

static int list(const struct tool_call *c, json_t **ret, struct err *err)
{
	SCOPED_JSON all = NULL;
	json_t *logs = json_array();
	const json_t *rec;
	size_t i;
	int rc = logs ? scope_ask(c, "/v1/instances", &all, err) :
			err_nomem(err);

	json_array_foreach (json_object_get(all, "instances"), i, rec) {
		const char *id = json_text(rec, "name");

		if (rc == 0 && scope_has(c->o, id) &&
		    json_array_append_new(logs, log_entry(id)) < 0)
			rc = err_nomem(err);
	}
	if (rc < 0) {
		json_decref(logs);
		return rc;
	}
	*ret = json_pack("{s:o}", "resources", logs);
	return *ret ? 0 : err_nomem(err);
}

static json_t *contents(const char *uri, bool log, struct slice bytes)
{
	bool text = log || text_is_utf8(bytes);

	return json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", uri,
			 "mimeType",
			 text ? "text/plain" : "application/octet-stream",
			 text ? "text" : "blob",
			 text ? text_json(bytes) : text_base64(bytes));
}

static int read_resource(const struct tool_call *c, json_t **ret,
			 struct err *err)
{
	const char *uri = json_text(c->args, "uri");
	SCOPED_JSON args = NULL;
	SCOPED_STR rest = NULL;
	struct tool_call of = *c;
	struct resource r;
	struct buf b;
	bool cut;
	int rc = resource_parse(uri, &r);

	if (rc < 0) {
		err_set(err, -ENOENT, "there is no such resource");
		return err_name(err, COMMAND_NOT_FOUND);
	}
	args = json_pack("{s:s}", "id", r.id);
	rest = *r.path ? client_path("/files?path=", r.path, "") :
			 strdup("/logs?tail=" LOG_LINES);
	if (!args || !rest)
		return err_nomem(err);
	of.args = args;
	rc = bytes_read(&of, rest, c->o->output_max, &b, &cut, err);
	if (rc == 0 && cut)
		rc = err_set(err, -EFBIG,
			     "it is too long: file_read returns "
			     "a part");
	if (rc == 0) {
		*ret = contents(uri, !*r.path, buf_slice(&b));
		rc = *ret ? 0 : err_nomem(err);
	}
	buf_done(&b);
	return rc;
}

const struct tool resources_list = {
	.name = "resources/list",
	.takes = &list_takes,
	.reads = true,
	.raw = true,
	.run = list,
};
const struct tool resources_read = {
	.name = "resources/read",
	.takes = &read_takes,
	.reads = true,
	.raw = true,
	.run = read_resource,
};
