/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_tables.c - calls about policies
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"
#include "control/acd/blueprint/model.h"
#include "control/acd/egress/egress.h"

/* ---- what they take ---- */

static const struct schema_key policy_option_keys[] = {
	{ "egress", LIST(&schema_text, .max = EGRESS_PRESETS_MAX,
			 .about = "a mode and presets; they replace those it "
				  "has; [] removes them") },
	{ "egress_reset",
	  FLAG(.about = "remove all its own options about egress first") },
	{ "allow", LIST(&schema_text, .max = EGRESS_TARGETS_MAX,
			.about = "added to those it has; [] removes all") },
	{ "deny", LIST(&schema_text, .max = EGRESS_TARGETS_MAX,
		       .about = "added to those it has; [] removes all") },
	{ "services", LIST(&schema_text, .max = EGRESS_SERVICES_MAX,
			   .about = "names of services, added to those it "
				    "has; \"none\" removes those before it, [] "
				    "all") },
	{ "model_url",
	  TEXT(.max = MODEL_URL_MAX,
	       .about = "http(s)://HOST[:PORT][/PATH]: where its model is; a "
			"service at that place is added; \"\": as the "
			"blueprint says") },
	{ "push", WORD(KEYS("", "ask", "allow", "deny"),
		       .about = "what becomes of git push with its "
				"credentials; \"\": as each credential says") },
};
const struct schema policy_options_are = {
	BODY(policy_option_keys),
	.name = "PolicyRequest",
};
static const struct schema_key lint_keys[] = {
	{ "text", TEXT(.about = "a policy file to check instead of "
				"policy/policy.yaml; absent: that file") },
	{ "name", TEXT(.about = "name of the file in messages") },
};
static const struct schema lint_body = {
	BODY(lint_keys),
	.name = "LintRequest",
};
static const struct schema_key check_query_keys[] = {
	{ "url", TEXT(.about = "https://host/path, host, host:port or "
			       "tcp://host:port") },
};
static const struct schema check_query = {
	SCHEMA_ROWS(check_query_keys),
	.required = KEYS("url"),
};

/* ---- what they give ---- */

static const struct schema_key policy_keys[] = {
	{ "name", &schema_text },
	{ "bound", FLAG(.about = "it runs, and the gateway has its policy") },
	{ "egress", &egress_is },
	{ "effective", &egress_is },
	{ "yaml", TEXT(.about = "the policy file, ac-policy(5)") },
	{ "rules",
	  NAMED(ANY(), .null = true,
		.about = "as compiled, from the gateway: rules (those that "
			 "inspect have credential and, in http, the methods "
			 "and paths that they allow and deny), denials and "
			 "limits; hash is that of all of it, policy_hash that "
			 "of the shared files") },
	{ "problem",
	  TEXT(.about = "why rules is null: a preset that no longer exists") },
	{ "warnings", LIST(&schema_text,
			   .about = "credentials that the vault does not give "
				    "now; what they would allow is left out") },
};
static const struct schema policy_is = {
	SCHEMA_ROWS(policy_keys),
	.whole = true,
	.optional = KEYS("problem", "warnings"),
	.name = "Policy",
	.about = "egress: the instance's own options; effective: with those of "
		 "its blueprint",
};
static const struct schema_key verdict_keys_addresses_keys[] = {
	{ "address", &schema_text },
	{ "allow", &schema_bool },
	{ "reason", &schema_text },
	{ "class", &schema_text },
};
static const struct schema_key verdict_keys[] = {
	{ "allow", &schema_bool },
	{ "reason", &schema_text },
	{ "text", &schema_text },
	{ "agent", &schema_text },
	{ "target", &schema_text },
	{ "path", &schema_text },
	{ "rule", TEXT(.null = true) },
	{ "source", TEXT(.null = true) },
	{ "credential", TEXT(.null = true) },
	{ "mode", &schema_text },
	{ "observed", &schema_bool },
	{ "use", &schema_text },
	{ "hint",
	  TEXT(.null = true,
	       .about = "the command that allows it; null: none does") },
	{ "addresses",
	  LIST(MAP(SCHEMA_ROWS(verdict_keys_addresses_keys), .open = true),
	       .about = "of an allowed name: the addresses that it resolves to "
			"now, each with its verdict; if all are denied, allow "
			"is false") },
	{ "lookup",
	  TEXT(.null = true,
	       .about = "why there are no addresses (no-address, dns-failed, "
			"upstream-proxy), or that they could not be judged "
			"(not-judged, with a warning; then allow is about the "
			"name alone); null: there are addresses") },
	{ "warnings", LIST(&schema_text,
			   .about = "credentials that the vault does not give "
				    "now, whose rules are left out; and why "
				    "the addresses could not be judged") },
};
static const struct schema verdict_is = {
	SCHEMA_ROWS(verdict_keys),
	.required = KEYS("allow", "reason"),
	.open = true,
	.name = "Verdict",
	.about =
		"as the gateway says it; of an allowed name also its addresses",
};
/* ---- the calls ---- */

const struct http_call spec_policy_reload = {
	.id = "policy_reload",
	.summary = "Makes the gateway read all policy files again",
	.about = "Closes connections whose rule is gone. If the policy is "
		 "refused (ok is false), the one before stays in force. If the "
		 "gateway is down, acd starts it with these files, waits at "
		 "most 10 s, and answers with the result: the items of a "
		 "reload, or one with the code gateway-down.",
	.answers = ANSWERS(JSON(200, "OK", &lint_is)),
	.fails = { 500, 503 },
};

const struct http_call spec_policy_lint = {
	.id = "policy_lint",
	.summary = "Checks a policy file",
	.body = &lint_body,
	.answers = ANSWERS(JSON(200, "OK", &lint_is)),
	.fails = { 413, 500 },
};

const struct http_call spec_policy_get = {
	.id = "policy_get",
	.summary = "Returns what an instance may reach",
	.path = &path_instance,
	.answers = ANSWERS(JSON(200, "OK", &policy_is)),
	.fails = { 404, 500, 503 },
};

const struct http_call spec_policy_set = {
	.id = "policy_set",
	.summary = "Changes what an instance may reach, at once if it runs",
	.about = "A policy that the linter refuses (400, in the user's words) "
		 "changes nothing. The last request about a host wins: allow "
		 "removes its denials, whatever their port; deny removes the "
		 "allowances that it covers. A request that has both for one "
		 "host is refused. While an instance is stopping, the change "
		 "is stored for its next run. conflict (409): it is starting, "
		 "or another change is under way. gateway_down (503): it runs "
		 "and the gateway is down; nothing has changed.",
	.path = &path_instance,
	.body = &policy_options_are,
	.answers = ANSWERS(
		JSON(200, "Stored and, if it runs, in force", &instance_is)),
	.fails = { 404, 409, 500, 503 },
};

const struct http_call spec_policy_check = {
	.id = "policy_check",
	.summary = "Tells whether the instance may send a request",
	.about = "bad_url (400): the URL cannot be judged as it is written.",
	.path = &path_instance,
	.query = &check_query,
	.answers = ANSWERS(JSON(200, "OK", &verdict_is)),
	.fails = { 404, 500, 503 },
};

const struct http_call spec_policy_learn = {
	.id = "policy_learn",
	.summary =
		"Returns the smallest policy that allows what the runs reached",
	.path = &path_instance,
	.answers = ANSWERS(GIVES(200, "A policy file with one preset",
				 "application/yaml", NULL)),
	.fails = { 404, 500 },
};
