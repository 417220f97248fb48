/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full_files.c - tools: file_read, file_write, file_list, file_delete
 */
#include "control/cli/mcp/full.h"

#include <string.h>
#include <sys/mman.h>

#include "control/cli/mcp/bytes.h"
#include "control/cli/mcp/scope.h"
#include "control/cli/mcp/text.h"
#include "control/cli/wire/http_client.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"

#define BASE64 "base64"

static const char *const encodings[] = { "utf-8", BASE64, NULL };
static const struct schema is_encoding = {
	.kind = SCHEMA_WORD,
	.words = encodings,
	.about = "How content has the bytes: as text (the default), or in "
		 "Base64."
};
static const struct schema is_content = { .kind = SCHEMA_TEXT,
					  .about = "The whole file." };
static const struct schema is_recursive = { .kind = SCHEMA_BOOL,
					    .about = "A directory with all "
						     "that is in it." };
static const struct schema is_after = {
	.kind = SCHEMA_TEXT,
	.about = "Begin behind this name: the last of the page before."
};
static const struct schema_key read_rows[] = { { "id", &full_is_id },
					       { "path", &full_is_path } };
static const struct schema_key write_rows[] = { { "id", &full_is_id },
						{ "path", &full_is_path },
						{ "content", &is_content },
						{ "encoding", &is_encoding } };
static const struct schema_key list_rows[] = { { "id", &full_is_id },
					       { "path", &full_is_path },
					       { "after", &is_after } };
static const struct schema_key delete_rows[] = { { "id", &full_is_id },
						 { "path", &full_is_path },
						 { "recursive",
						   &is_recursive } };
static const char *const needs_path[] = { "id", "path", NULL };
static const char *const needs_content[] = { "id", "path", "content", NULL };
static const char *const needs_id[] = { "id", NULL };
static const struct schema read_takes = { SCHEMA_ROWS(read_rows),
					  .required = needs_path };
static const struct schema write_takes = { SCHEMA_ROWS(write_rows),
					   .nulls = true,
					   .required = needs_content };
static const struct schema list_takes = { SCHEMA_ROWS(list_rows), .nulls = true,
					  .required = needs_id };
static const struct schema delete_takes = { SCHEMA_ROWS(delete_rows),
					    .nulls = true,
					    .required = needs_path };

static char *files_of(const struct tool_call *c, const char *more)
{
	const char *path = json_text(c->args, "path");

	return client_path("/files?path=", *path ? path : "/workspace", more);
}

/* ---- read ---- */

static int read_file(const struct tool_call *c, json_t **ret, struct err *err)
{
	SCOPED_STR rest = files_of(c, "");
	struct slice bytes;
	struct buf b;
	bool cut, text;
	int rc;

	if (!rest)
		return err_nomem(err);
	rc = bytes_read(c, rest, c->o->output_max, &b, &cut, err);
	bytes = buf_slice(&b);
	text = text_is_utf8(bytes);
	if (rc == 0) {
		*ret = json_pack("{s:o, s:s, s:I, s:b}", "content",
				 text ? text_json(bytes) : text_base64(bytes),
				 "encoding", text ? "utf-8" : BASE64, "bytes",
				 (json_int_t)bytes.len, "truncated", cut);
		rc = *ret ? 0 : err_nomem(err);
	}
	buf_done(&b);
	return rc;
}

/* ---- write ---- */

/* Decodes @text into @to. Returns 0, or -EINVAL. */
static int base64_decode(struct slice text, struct buf *to)
{
	uint32_t bits = 0;
	unsigned n = 0, pads = 0;

	if (text.len % 4 != 0)
		return -EINVAL;
	for (size_t i = 0; i < text.len; i++) {
		int v = str_base64_value(text.ptr[i]);

		if (text.ptr[i] == '=' && i + 2 >= text.len)
			pads++;
		else if (v < 0 || pads > 0)
			return -EINVAL;
		bits = bits << 6 | (v < 0 ? 0u : (uint32_t)v);
		if (++n < 4)
			continue;
		if (buf_put_u8(to, (uint8_t)(bits >> 16)) < 0 ||
		    (pads < 2 && buf_put_u8(to, (uint8_t)(bits >> 8)) < 0) ||
		    (pads < 1 && buf_put_u8(to, (uint8_t)bits) < 0))
			return -ENOMEM;
		n = 0;
		bits = 0;
	}
	return 0;
}

static int put(const struct tool_call *c, const char *path, struct slice bytes,
	       struct err *err)
{
	SCOPED_CLIENT client = client_new(c->o->cli->sock, "acd");
	SCOPED_FD fd = memfd_create("content", MFD_CLOEXEC);
	const struct http_file file = { .fd = fd, .len = bytes.len };

	if (!client)
		return err_nomem(err);
	if (fd < 0 || fd_write_all(fd, bytes.ptr, bytes.len) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(err, "memfd");
	return client_put(client, path, &file, NULL, err);
}

static int write_file(const struct tool_call *c, json_t **ret, struct err *err)
{
	const json_t *content = json_object_get(c->args, "content");
	struct slice bytes = slice_of(json_string_value(content),
				      json_string_length(content));
	SCOPED_STR rest = files_of(c, "&parents=1");
	SCOPED_STR path = NULL;
	const char *id = NULL;
	struct buf b;
	int rc = rest ? scope_id(c, &id, err) : err_nomem(err);

	buf_init(&b, bytes.len + 3);
	if (rc == 0 && strcmp(json_text(c->args, "encoding"), BASE64) == 0) {
		rc = base64_decode(bytes, &b);
		bytes = buf_slice(&b);
		if (rc < 0)
			jsonx_refuse(err, "content", "is no Base64");
	}
	path = rc == 0 ? client_path("/v1/instances/", id, rest) : NULL;
	if (rc == 0)
		rc = path ? put(c, path, bytes, err) : err_nomem(err);
	if (rc == 0) {
		*ret = json_pack("{s:I}", "bytes", (json_int_t)bytes.len);
		rc = *ret ? 0 : err_nomem(err);
	}
	buf_done(&b);
	return rc;
}

static int write_check(const struct tool_call *c, struct err *err)
{
	const char *encoding = json_text(c->args, "encoding");

	if (*encoding && strcmp(encoding, encodings[0]) != 0 &&
	    strcmp(encoding, encodings[1]) != 0)
		return jsonx_refuse(err, "encoding", "must be utf-8 or base64");
	return 0;
}

/* ---- list, delete ---- */

static int list(const struct tool_call *c, json_t **ret, struct err *err)
{
	static const char *const keys[] = { "name",  "type",   "mode", "size",
					    "mtime", "target", NULL };
	const char *after = json_text(c->args, "after");
	SCOPED_STR more = client_path("&list=1&after=", after, "");
	SCOPED_STR rest = more ? files_of(c, *after ? more : "&list=1") : NULL;
	SCOPED_JSON got = NULL;
	json_t *entries = json_array();
	const json_t *e;
	size_t i;
	int rc = rest && entries ? scope_call(c, "GET", rest, NULL, &got, err) :
				   err_nomem(err);

	json_array_foreach (json_object_get(got, "entries"), i, e) {
		if (rc == 0 &&
		    json_array_append_new(entries, scope_pick(e, keys)) < 0)
			rc = err_nomem(err);
	}
	if (rc < 0) {
		json_decref(entries);
		return rc;
	}
	*ret = json_pack("{s:o, s:b}", "entries", entries, "more",
			 json_is_true(json_object_get(got, "more")));
	return *ret ? 0 : err_nomem(err);
}

static int delete (const struct tool_call *c, json_t **ret, struct err *err)
{
	bool all = json_is_true(json_object_get(c->args, "recursive"));
	SCOPED_STR rest = files_of(c, all ? "&recursive=1" : "");
	int rc = rest ? scope_call(c, "DELETE", rest, NULL, NULL, err) :
			err_nomem(err);

	if (rc < 0)
		return rc;
	*ret = json_pack("{s:b}", "deleted", 1);
	return *ret ? 0 : err_nomem(err);
}

const struct tool full_file_read = {
	.name = "file_read",
	.title = "Read a file",
	.about = "Returns a file of a running sandbox: as text, or in Base64 "
		 "if it is none. A long one is cut.",
	.takes = &read_takes,
	.reads = true,
	.run = read_file,
};
const struct tool full_file_write = {
	.name = "file_write",
	.title = "Write a file",
	.about = "Writes a whole file in a running sandbox, with the "
		 "directories above it.",
	.takes = &write_takes,
	.check = write_check,
	.run = write_file,
};
const struct tool full_file_list = {
	.name = "file_list",
	.title = "List a directory",
	.about = "Lists a directory of a running sandbox (/workspace), at most "
		 "1000 entries at once.",
	.takes = &list_takes,
	.reads = true,
	.run = list,
};
const struct tool full_file_delete = {
	.name = "file_delete",
	.title = "Delete a file",
	.about = "Deletes a file or a directory of a running sandbox.",
	.takes = &delete_takes,
	.run = delete,
};
