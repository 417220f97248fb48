/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint_tables.c - calls about blueprints and their images
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"
#include "control/acd/blueprint/blueprint.h"
#include "control/acd/blueprint/mistakes.h"
#include "control/acd/credential/credentials.h"

/* ---- what they take ---- */

static const struct schema path_blueprint = {
	.kind = SCHEMA_FORM,
	.pattern = BLUEPRINT_NAME,
};
static const struct schema_key build_keys[] = {
	{ "no_cache", FLAG(.about = "build again, without the layer cache") },
	{ "force",
	  FLAG(.about = "check the inputs of the image even if it is ready") },
	{ "retry", FLAG(.about = "build again after a failure, even if nothing "
				 "has changed") },
	{ "update",
	  FLAG(.about = "build nothing: ask for newer versions of what the "
			"image installs; package.json and "
			"package-lock.json, requirements.txt or all three are "
			"then in cache/update/IMAGE of AC_HOME") },
};
static const struct schema build_body = {
	BODY(build_keys),
	.name = "BuildRequest",
};

static const struct schema_key check_keys[] = {
	{ "name", TEXT(.about = "of a stored one; with text, what that is "
				"called") },
	{ "text", TEXT(.about = "a blueprint; absent: the stored one") },
	{ "file", TEXT(.about = "what messages call the text") },
	{ "project",
	  FLAG(.about = "the text is a project's own blueprint, which may do "
			"less") },
};
static const struct schema check_body = {
	BODY(check_keys),
	.name = "BlueprintCheckRequest",
};

/* ---- what they give ---- */

static const struct schema *const listed_kinds[] = { WORD(KEYS("none")),
						     &credential_is, NULL };
static const struct schema listed_is = {
	.kind = SCHEMA_EITHER,
	.either = listed_kinds,
};
static const struct schema credential_list_is = {
	.kind = SCHEMA_LIST,
	.item = &listed_is,
	.max = CREDENTIALS_MAX,
	.name = "CredentialList",
};
static const struct schema_key result_keys[] = {
	{ "json", TEXT(.null = true) },
	{ "usage", TEXT(.null = true) },
};
static const struct schema_key line_keys[] = {
	{ "text", &schema_text },
	{ "file",
	  TEXT(.null = true,
	       .about = "that the value is from, of the blueprint or of "
			"a parent; null: none has set it") },
	{ "line", COUNT(.null = true) },
	{ "value", FLAG(.about = "false: the line is the key of a map or list "
				 "alone") },
	{ "inside", FLAG(.about = "it is a part of a text or of JSON, so that "
				  "a comment behind it would be one as well") },
};
static const struct schema line_is = { SCHEMA_ROWS(line_keys), .whole = true };
static const struct schema_key blueprint_keys_limits_keys[] = {
	{ "cpus_milli", COUNT(.about = "thousandths of a CPU, 0: no limit") },
	{ "memory",
	  COUNT(.about = "bytes, 0: no limit; else at least 16 MiB") },
	{ "pids", COUNT(.about = "processes of the agent, 0: no limit") },
	{ "timeout_ms", COUNT(.about = "wall clock of a run, 0: no limit") },
};
static const struct schema_key mount_keys[] = {
	{ "from", TEXT(.about = "absolute, or ~/ and a path below the home of "
				"the user") },
	{ "to", TEXT(.about = "in the sandbox") },
	{ "mode", WORD(KEYS("ro", "live")) },
};
static const struct schema_key volume_keys[] = {
	{ "volume", TEXT(.about = "its name") },
	{ "to", TEXT(.about = "in the sandbox") },
	{ "mode", WORD(KEYS("ro", "rw")) },
};
static const struct schema_key blueprint_keys[] = {
	{ "name", &schema_text },
	{ "description", &schema_text },
	{ "image", &schema_text },
	{ "ready",
	  FLAG(.about = "its image was found up to date since acd started") },
	{ "image_bytes",
	  COUNT(.null = true, .about = "of the image with all its layers; "
				       "null: not known") },
	{ "builtin", FLAG(.about = "shipped, not the user's own") },
	{ "command", LIST(&schema_text) },
	{ "shell", LIST(&schema_text) },
	{ "env", LIST(&schema_text) },
	{ "workdir", &schema_text },
	{ "isolation", WORD(KEYS("runsc", "crun")) },
	{ "limits",
	  MAP(SCHEMA_ROWS(blueprint_keys_limits_keys), .whole = true) },
	{ "error", TEXT(.about = "in a list: why the file cannot be read; then "
				 "only name and description are there") },
	{ "egress", &egress_is },
	{ "credentials", &credential_list_is },
	{ "mounts", LIST(MAP(SCHEMA_ROWS(mount_keys), .whole = true),
			 .max = BLUEPRINT_MOUNTS_MAX,
			 .about = "directories of the user's that it shows") },
	{ "volumes",
	  LIST(MAP(SCHEMA_ROWS(volume_keys), .whole = true),
	       .max = BLUEPRINT_MOUNTS_MAX, .about = "volumes that it shows") },
	{ "agent",
	  FLAG(.about = "it takes a prompt or appends words to its command") },
	{ "args", WORD(KEYS("append", "replace"),
		       .about = "what the words of a run do with its "
				"command") },
	{ "headless", FLAG(.about = "a run may have a prompt") },
	{ "resume", FLAG(.about = "a run may go on with the last "
				  "conversation") },
	{ "result",
	  MAP(SCHEMA_ROWS(result_keys), .whole = true,
	      .about =
		      "of a run with a prompt: where its last line of JSON has "
		      "the message and the usage, such as .a.b. A null json is "
		      "all of its output as text") },
	{ "file",
	  TEXT(.about = "of one blueprint: its file, as the four below") },
	{ "text", TEXT(.about = "what is in that file") },
	{ "resolved", TEXT(.about = "the text of a blueprint of version 2 "
				    "without parents that is the same") },
	{ "lines", LIST(&line_is, .about = "those of resolved, with what each "
					   "is from") },
	{ "extends", TEXT(.null = true, .about = "its parent") },
};
static const struct schema blueprint_is = {
	SCHEMA_ROWS(blueprint_keys),
	.whole = true,
	.optional = KEYS("image", "ready", "image_bytes", "builtin", "command",
			 "shell", "env", "workdir", "isolation", "limits",
			 "error", "egress", "credentials", "mounts", "volumes",
			 "agent", "args", "headless", "resume", "result",
			 "file", "text", "resolved", "lines", "extends"),
	.name = "Blueprint",
};
static const struct schema_key build_line_keys[] = {
	{ "line", TEXT(.about = "a line of progress") },
	{ "done", FLAG(.about = "the last line: the build succeeded") },
	{ "error", &error_is },
};
static const struct schema build_line_is = {
	SCHEMA_ROWS(build_line_keys),
	.name = "BuildLine",
	.about = "One line of the stream. The last one has done or error.",
};
static const struct schema_key check_error_keys[] = {
	{ "code", WORD(KEYS(MISTAKE_YAML, MISTAKE_KEY, MISTAKE_VERSION,
			    MISTAKE_MISSING, MISTAKE_TWICE, MISTAKE_LIMIT,
			    MISTAKE_PARENT, MISTAKE_PROJECT, MISTAKE_VALUE)) },
	{ "message", TEXT(.about = "begins with file:line:column") },
	{ "file", TEXT(.about = "the blueprint's, or that of a parent") },
	{ "line", COUNT(.about = "from 1; 0: of the whole file") },
	{ "column", COUNT() },
	{ "suggestion",
	  TEXT(.null = true, .about = "the word that was probably meant") },
};
const struct schema mistake_is = { SCHEMA_ROWS(check_error_keys), .whole = true,
				   .name = "Mistake" };
static const struct schema_key checked_keys[] = {
	{ "ok", FLAG() },
	{ "errors", LIST(&mistake_is, .max = BLUEPRINT_MISTAKES_MAX) },
	{ "more", FLAG(.about = "there are more errors than these") },
	{ "resolved", TEXT(.about = "of a good one; see Blueprint") },
	{ "lines", LIST(&line_is, .about = "the same") },
	{ "extends", TEXT(.null = true, .about = "the same") },
};
static const struct schema checked_is = {
	SCHEMA_ROWS(checked_keys),
	.whole = true,
	.optional = KEYS("resolved", "lines", "extends"),
	.name = "BlueprintCheck",
};
static const struct schema_key blueprint_list_keys[] = {
	{ "blueprints", LIST(&blueprint_is) },
};

/* ---- the calls ---- */

const struct http_call spec_blueprint_list = {
	.id = "blueprint_list",
	.summary = "Lists the blueprints",
	.answers = ANSWERS(
		JSON(200, "OK",
		     MAP(SCHEMA_ROWS(blueprint_list_keys), .whole = true))),
	.fails = { 500 },
};

const struct http_call spec_blueprint_get = {
	.id = "blueprint_get",
	.summary = "Returns one blueprint",
	.path = &path_blueprint,
	.answers = ANSWERS(JSON(200, "OK", &blueprint_is)),
	.fails = { 404 },
};

const struct http_call spec_blueprint_check = {
	.id = "blueprint_check",
	.summary = "Checks a blueprint",
	.about = "A stored one, by its name, or a text. unknown_blueprint "
		 "(404): there is none of that name.",
	.body = &check_body,
	.answers = ANSWERS(JSON(200, "OK", &checked_is)),
	.fails = { 404 },
};

const struct http_call spec_blueprint_build = {
	.id = "blueprint_build",
	.summary = "Builds the image of a blueprint, if it is not up to date",
	.path = &path_blueprint,
	.body = &build_body,
	.answers = ANSWERS(GIVES(200,
				 "Progress, one JSON object a line. The build "
				 "is ended when no client reads any more.",
				 "application/x-ndjson", &build_line_is)),
	.fails = { 404, 503 },
};
