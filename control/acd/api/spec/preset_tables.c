/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preset_tables.c - the call about presets
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"

static const struct schema_key request_keys[] = {
	{ "methods", LIST(&schema_text, .about = "empty: any") },
	{ "paths", LIST(&schema_text, .about = "empty: any") },
};
static const struct schema requests_are = {
	.kind = SCHEMA_LIST,
	.item = MAP(SCHEMA_ROWS(request_keys), .whole = true),
};
static const struct schema_key rule_keys[] = {
	{ "id", &schema_text },
	{ "hosts", LIST(&schema_text, .about = "names, addresses and ranges") },
	{ "ports", LIST(&schema_text, .about = "empty: the policy's, 443") },
	{ "proto", TEXT(.about = "\"\": by port") },
	{ "use", WORD(KEYS("tunnel", "inspect")) },
	{ "allow", &requests_are },
	{ "deny", &requests_are },
};
static const struct schema_key preset_keys[] = {
	{ "kind", WORD(KEYS("egress", "prompts", "tools")) },
	{ "name", &schema_text },
	{ "description", &schema_text },
	{ "source", WORD(KEYS("ac", "machine", "you"),
			 .about = "ac: shipped; machine: written by set-up; "
				  "you: the user's file") },
	{ "risk", TEXT(.about = "of egress: how data can get to somebody by "
				"it; \"\": no way is known") },
	{ "names", LIST(&schema_text, .about = "of egress: all its hosts") },
	{ "rules",
	  LIST(MAP(SCHEMA_ROWS(rule_keys), .whole = true),
	       .about = "of egress: as they are written, ac-policy(5); a rule "
			"without requests in allow allows all") },
	{ "text", TEXT(.about = "of prompts: what the agent is told") },
	{ "apt", LIST(&schema_text, .about = "of tools: packages") },
	{ "npm", LIST(&schema_text) },
	{ "pip", LIST(&schema_text) },
	{ "egress", LIST(&schema_text,
			 .about = "of tools: presets of egress that are used "
				  "with them") },
	{ "error",
	  TEXT(.about = "of prompts and tools: why the file cannot be read") },
};
static const struct schema preset_is = {
	SCHEMA_ROWS(preset_keys),
	.whole = true,
	.optional = KEYS("risk", "names", "rules", "text", "apt", "npm", "pip",
			 "egress", "error"),
	.name = "Preset",
};
static const struct schema_key preset_list_keys[] = {
	{ "presets", LIST(&preset_is) },
};

const struct http_call spec_preset_list = {
	.id = "preset_list",
	.summary = "Lists the presets that policies and blueprints may use",
	.answers = ANSWERS(JSON(
		200, "OK", MAP(SCHEMA_ROWS(preset_list_keys), .whole = true))),
	.fails = { 500 },
};
