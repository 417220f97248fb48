/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_tables.c - calls about the blueprints that projects bring along
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"
#include "control/acd/blueprint/mistakes.h"

#define DIR TEXT(.about = "the directory on the user's machine, absolute")
#define CONTENT "the content of .ac/blueprint.yaml in it"

/* ---- what they take ---- */

static const struct schema_key check_keys[] = {
	{ "dir", DIR },
	{ "text", TEXT(.about = CONTENT "; absent: there is no such file") },
};
static const struct schema check_body = {
	BODY(check_keys),
	.name = "ProjectCheckRequest",
};
static const struct schema_key approve_keys[] = {
	{ "dir", DIR },
	{ "text", TEXT(.about = CONTENT) },
	{ "hash", TEXT(.about = "of what the user has seen, from the check") },
};
static const struct schema approve_body = {
	BODY(approve_keys),
	.required = KEYS("dir", "text", "hash"),
	.name = "ProjectApproveRequest",
};
static const struct schema_key forget_keys[] = {
	{ "dir", DIR },
};
static const struct schema forget_body = {
	BODY(forget_keys),
	.required = KEYS("dir"),
	.name = "ProjectForgetRequest",
};

/* ---- what they give ---- */

static const struct schema_key project_keys[] = {
	{ "dir", DIR },
	{ "blueprint", TEXT(.about = "what it extends") },
	{ "hash", TEXT(.about = "SHA-256 of the resolved blueprint") },
	{ "approved_at", COUNT(.about = "seconds since the epoch") },
};
static const struct schema project_is = {
	SCHEMA_ROWS(project_keys),
	.whole = true,
	.name = "Project",
};
static const struct schema_key list_keys[] = {
	{ "projects", LIST(&project_is) },
};
static const struct schema_key checked_keys[] = {
	{ "ok", FLAG(.about = "it is a blueprint that a project may have, or "
			      "there is none") },
	{ "errors", LIST(&mistake_is, .max = BLUEPRINT_MISTAKES_MAX) },
	{ "more", FLAG(.about = "there are more errors than these") },
	{ "blueprint",
	  TEXT(.null = true, .about = "what it extends; of a directory without "
				      "the file, what was approved") },
	{ "hash",
	  TEXT(.null = true, .about = "SHA-256 of the resolved blueprint") },
	{ "keys", LIST(&schema_text,
		       .about = "that it sets, such as resources.memory") },
	{ "approved", FLAG(.about = "a run of it needs no approval") },
	{ "resolved",
	  TEXT(.null = true, .about = "what would be run, as in Blueprint, "
				      "without comments") },
	{ "parent",
	  TEXT(.null = true, .about = "the same of what it extends alone") },
	{ "before",
	  TEXT(.null = true, .about = "the same as it was approved last") },
};
static const struct schema checked_is = {
	SCHEMA_ROWS(checked_keys),
	.whole = true,
	.name = "ProjectCheck",
};

/* ---- the calls ---- */

const struct http_call spec_project_list = {
	.id = "project_list",
	.summary = "Lists the projects whose own blueprint is approved",
	.answers = ANSWERS(
		JSON(200, "OK", MAP(SCHEMA_ROWS(list_keys), .whole = true))),
	.fails = { 500 },
};

const struct http_call spec_project_check = {
	.id = "project_check",
	.summary = "Judges a project's own blueprint",
	.about = "It may narrow the one that it extends and little else; see "
		 "ac-blueprint(5).",
	.body = &check_body,
	.answers = ANSWERS(JSON(200, "OK", &checked_is)),
	.fails = { 500 },
};

const struct http_call spec_project_approve = {
	.id = "project_approve",
	.summary = "Approves a project's own blueprint for its directory",
	.about = "In place of one that was approved before. project_changed "
		 "(409): the text resolves to something else than the hash "
		 "names.",
	.body = &approve_body,
	.answers = ANSWERS(JSON(200, "OK", &project_is)),
	.fails = { 409, 500, 503 },
};

const struct http_call spec_project_forget = {
	.id = "project_forget",
	.summary = "Forgets the approval of a directory",
	.about = "Instances that were made with it ask again at their next "
		 "run.",
	.body = &forget_body,
	.answers = ANSWERS(EMPTY("Forgotten")),
	.fails = { 404, 500 },
};
