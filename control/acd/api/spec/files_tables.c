/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_tables.c - calls about files in a sandbox
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"
#include "init-guard/filewire.h"

/* ---- what they take ---- */

#define PATH                           \
	TEXT(.max = FILEWIRE_PATH_MAX, \
	     .about = "an absolute path, or one below /workspace")

static const struct schema_key get_query_keys[] = {
	{ "path", PATH },
	{ "list", SWITCH("list the directory, in order of name") },
	{ "after", TEXT(.max = FILEWIRE_NAME_MAX,
			.about = "with list: begin behind this name, which is "
				 "\"next\" of the page before, unchanged") },
	{ "limit", NUMBER(.max = FILEWIRE_LIST_MAX,
			  .about = "with list: at most so many entries; "
				   "absent: 1000, 0: 1") },
	{ "stat", SWITCH("return its type, size and time; of a link, those of "
			 "the link itself") },
	{ "follow", SWITCH("with stat: those of what a link leads to") },
};
static const struct schema get_query = {
	SCHEMA_ROWS(get_query_keys),
	.required = KEYS("path"),
};
static const struct schema_key put_query_keys[] = {
	{ "path", PATH },
	{ "mode",
	  FORM("0?[0-7]{1,3}", .about = "in octal, up to 777; absent: that of "
					"the file that is replaced, or 644") },
	{ "mtime", NUMBER(.max = INT64_MAX,
			  .about = "its time, in seconds since 1970; 0: now") },
	{ "parents", SWITCH("make missing directories above it") },
	{ "exclusive", SWITCH("fail with 409 if the file exists") },
	{ "offset", NUMBER(.max = INT64_MAX,
			   .about = "write in place, from this byte on") },
};
static const struct schema put_query = {
	SCHEMA_ROWS(put_query_keys),
	.required = KEYS("path"),
};
static const struct schema_key path_query_keys[] = { { "path", PATH } };
static const struct schema path_query = {
	SCHEMA_ROWS(path_query_keys),
	.required = KEYS("path"),
};
static const struct schema_key delete_query_keys[] = {
	{ "path", PATH },
	{ "recursive", SWITCH("remove a directory with all its content") },
};
static const struct schema delete_query = {
	SCHEMA_ROWS(delete_query_keys),
	.required = KEYS("path"),
};

static const struct schema_key rename_keys[] = {
	{ "to", TEXT(.about = "rename: the new path") },
	{ "replace", FLAG(.about = "rename: replace what has the new name") },
};
static const struct schema rename_is = {
	BODY(rename_keys),
};
static const struct schema_key op_keys[] = {
	{ "op", WORD(KEYS("mkdir", "rename")) },
};
const struct schema files_rename_is = {
	BODY(op_keys),
	.also = &rename_is,
};
static const struct schema_key mkdir_keys[] = {
	{ "op", WORD(KEYS("mkdir", "rename")) },
	{ "mode", NUMBER(.max = 0777, .about = "mkdir; 0: 0755") },
	{ "parents", FLAG(.about = "mkdir: make missing directories above it, "
				   "too; succeed if it exists") },
};
const struct schema files_mkdir_is = {
	BODY(mkdir_keys),
};
static const struct schema files_body = {
	BODY(mkdir_keys),
	.also = &rename_is,
	.required = KEYS("op"),
	.name = "FileRequest",
};

/* ---- what they give ---- */

static const struct schema_key file_entry_keys[] = {
	{ "name", TEXT(.about = "in a list") },
	{ "encoded", TEXT(.about = "in a list: the bytes of the name, "
				   "percent-encoded for a query; name itself "
				   "is inexact if they are not UTF-8") },
	{ "type", WORD(KEYS("file", "directory", "link", "special")) },
	{ "mode", COUNT(.about = "permission bits, up to 07777") },
	{ "size", COUNT() },
	{ "mtime", COUNT(.about = "seconds since 1970") },
	{ "target", TEXT(.about = "of a link") },
};
static const struct schema file_entry_is = {
	SCHEMA_ROWS(file_entry_keys),
	.whole = true,
	.optional = KEYS("name", "encoded", "target"),
	.name = "FileEntry",
};
static const struct schema_key file_list_keys[] = {
	{ "entries", LIST(&file_entry_is, .max = 1000) },
	{ "more",
	  FLAG(.about = "there are further ones: ask again with after") },
	{ "next", TEXT(.about = "with more: the value of after for the next "
				"page, percent-encoded already") },
};
static const struct schema file_list_is = {
	SCHEMA_ROWS(file_list_keys),
	.whole = true,
	.optional = KEYS("next"),
	.name = "FileList",
};
static const struct schema_key files_put_keys[] = {
	{ "bytes", COUNT() },
};

/* ---- the calls ---- */

const struct http_call spec_files_get = {
	.id = "files_get",
	.summary = "Reads a file, looks at one, or lists a directory",
	.about = FILES
	" Without list and stat, returns the bytes of a regular file; Range "
	"may have the form bytes=A-B or bytes=A-. If the file becomes shorter "
	"meanwhile, the connection ends. A file of size 0 is read to its end, "
	"because files of /proc have content.",
	.path = &path_instance,
	.query = &get_query,
	.answers = ANSWERS(
		GIVES(200,
		      "The bytes; with stat a FileEntry; with list a FileList",
		      "application/octet-stream", NULL),
		JSON(200,
		     "The bytes; with stat a FileEntry; with list a FileList",
		     EITHER((const struct schema *const[]){
			     &file_entry_is, &file_list_is, NULL })),
		GIVES(206, "The range", "application/octet-stream", NULL)),
	.fails = { 403, 404, 409, 416, 500, 502 },
};

const struct http_call spec_files_put = {
	.id = "files_put",
	.summary = "Writes a file",
	.about = FILES
	" The body has the bytes of the file; it may have any length. The file "
	"appears whole or not at all. With offset, the file is written in "
	"place, and the bytes behind those written stay.",
	.path = &path_instance,
	.query = &put_query,
	.raw = true,
	.answers =
		ANSWERS(JSON(200, "Written",
			     MAP(SCHEMA_ROWS(files_put_keys), .whole = true))),
	.fails = { 403, 404, 409, 500, 502, 507 },
};

const struct http_call spec_files_post = {
	.id = "files_post",
	.summary = "Makes a directory, or renames",
	.about = FILES,
	.path = &path_instance,
	.query = &path_query,
	.body = &files_body,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 403, 404, 409, 500, 502, 507 },
};

const struct http_call spec_files_delete = {
	.id = "files_delete",
	.summary = "Removes a file or a directory",
	.about = FILES,
	.path = &path_instance,
	.query = &delete_query,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 403, 404, 409, 500, 502 },
};
