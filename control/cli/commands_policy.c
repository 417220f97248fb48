/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands_policy.c - the commands behind `ac policy`
 */
#include "control/cli/commands.h"

#include "control/cli/cmd/policy/policy.h"

#define O(name) ARG_IN(name)
#define O_TALK O(JSON), O(QUIET)
#define MANY ARGS_WORDS_MAX

static const char hosts_help[] =
	"HOST is a name, .NAME for all below it, +NAME for both, or an "
	"address. Without a\nport it is 443. tcp://HOST:PORT is for what is "
	"neither TLS nor HTTP, as ssh.\n--last in place of HOST is what was "
	"blocked last: it is named, and allowed when\nyou say yes.";
static const char deny_help[] =
	"HOST is a name, .NAME for all below it, +NAME for both, or an "
	"address. Without a\nport it is every port.";

const struct command policy_verbs[] = {
	{ .name = "policy show",
	  .words = "NAME",
	  .summary = "Show what an instance may reach, rule by rule",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_INSTANCE },
	  .run = cmd_policy_show },
	{ .name = "policy check",
	  .words = "NAME [METHOD] URL",
	  .summary = "Would it reach this, and why; 3 when it would not",
	  .more = "URL is https://…, http://…, tcp://HOST:PORT or HOST[:PORT]. "
		  "Nothing is connected\nto; what a name resolves to is "
		  "judged when it is. METHOD (GET) and path\ncount where "
		  "requests are inspected; their fields and bodies are not "
		  "judged here.\nMETHOD is any in upper case: `get` is "
		  "another one to a server, and refused.",
	  .rules = { ARG_SET(O_TALK), 2, 3, false },
	  .complete = { WORDS_INSTANCE },
	  .run = cmd_policy_check },
	{ .name = "policy log",
	  .words = "[NAME]",
	  .summary = "Show what was blocked, and what would allow it",
	  .more = "With -n the last N of what it shows.",
	  .rules = { ARG_SET(O(FOLLOW), O(TAIL), O(ALL), O_TALK), 0, 1, false },
	  .complete = { WORDS_INSTANCE },
	  .run = cmd_policy_log },
	{ .name = "policy allow",
	  .words = "NAME HOST[:PORT]...|--last",
	  .summary = "Let an instance reach hosts, at once if it runs",
	  .more = hosts_help,
	  .rules = { ARG_SET(O(LAST), O(YES), O_TALK), 1, MANY, false },
	  .complete = { WORDS_INSTANCE },
	  .run = cmd_policy_allow },
	{ .name = "policy deny",
	  .words = "NAME HOST[:PORT]...",
	  .summary = "Keep an instance from hosts, whatever else allows them",
	  .more = deny_help,
	  .rules = { ARG_SET(O_TALK), 2, MANY, false },
	  .complete = { WORDS_INSTANCE },
	  .run = cmd_policy_deny },
	{ .name = "policy mode",
	  .words = "NAME open|balanced|locked",
	  .summary = "Change what holds for hosts that no rule names",
	  .more = "locked:   what was allowed by name, and no preset of the "
		  "blueprint\nbalanced: also the blueprint's presets and the "
		  "package registries\nopen:     every host that is not "
		  "denied; all of it is written down\nWhat was allowed and "
		  "denied by name stays, and so do the presets.",
	  .rules = { ARG_SET(O_TALK), 2, 2, false },
	  .complete = { WORDS_INSTANCE, WORDS_MODE },
	  .run = cmd_policy_mode },
	{ .name = "policy push",
	  .words = "NAME allow|ask|deny",
	  .summary = "Let an instance push to git with its credentials, or not",
	  .more = "What its credentials open for git: reading always, and "
		  "pushing when\nit is allowed. ask is deny, but git shows "
		  "this "
		  "command to who wanted to push.",
	  .rules = { ARG_SET(O_TALK), 2, 2, false },
	  .complete = { WORDS_INSTANCE },
	  .run = cmd_policy_push },
	{ .name = "policy reset",
	  .words = "NAME",
	  .summary = "Forget what was said about what an instance may reach",
	  .more = "What was allowed and denied for it, its mode and its "
		  "presets: what its\nblueprint says holds again.",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_INSTANCE },
	  .run = cmd_policy_reset },
	{ .name = "policy learn",
	  .words = "NAME",
	  .summary = "Print a policy of what an instance reached when open",
	  .more = "YAML; with --json as {\"yaml\": …}.",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_INSTANCE },
	  .run = cmd_policy_learn },
	{ .name = "policy lint",
	  .words = "[FILE|-]",
	  .summary = "Check a policy file, or what is loaded; 1 on errors",
	  .rules = { ARG_SET(O_TALK), 0, 1, false },
	  .complete = { WORDS_FILE },
	  .run = cmd_policy_lint },
	{ .name = "policy reload",
	  .words = "",
	  .summary = "Read the policy files again; 1 when they are refused",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_policy_reload },
	{ .name = NULL },
};
