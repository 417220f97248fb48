/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands_vault.c - the commands behind `ac vault`
 */
#include "control/cli/commands.h"

#include "control/cli/cmd/vault/vault.h"

#define O(name) ARG_IN(name)
#define O_TALK O(JSON), O(QUIET)
#define O_FROM O(FROM_FILE), O(FROM_ENV), O(FROM_CMD)
#define O_SCOPE O(HOST), O(METHOD), O(PATH), O(BLUEPRINT), O(INSTANCE), O(NOTE)
#define O_FORM O(KIND), O(USER), O(HEADER), O(BASIC), O(QUERY)
#define O_AWS O(ACCESS_KEY), O(REGION), O(SERVICE)
#define MANY ARGS_WORDS_MAX

static const char add_help[] =
	"The value comes from a prompt, from stdin when that is no terminal "
	"(or with -),\nor from one of the --from- options; never from the "
	"command line, which others\ncan read. Kinds: github, gitlab, npm, "
	"pypi, anthropic, openai, gemini, aws;\nanthropic-login, the token of "
	"`claude setup-token`; openai-login, from\n~/.codex/auth.json; "
	"google-login, from ~/.gemini/oauth_creds.json, both by\n--from-file "
	"and refreshed by acd; and generic with --header, --basic or --query."
	"\nThe gateway sends it to its hosts alone, which have names: an "
	"address is none.\nA service of your own network (`ac service`) is a "
	"host by its name; --insecure\nis for one in plain http. Without "
	"--blueprint and --instance any agent that is\ntold to may use it. No "
	"sandbox has it itself, but where it is handed over: by\n`--secret "
	"NAME:handover` of a run, or by a blueprint, when --allow-handover was"
	"\nsaid here.";
static const char pass_help[] =
	"The passphrase is asked for, or is the first line of stdin when that "
	"is no\nterminal.";
static const char rotate_help[] =
	"The value comes from where it came from before, or is asked for as "
	"by\n`ac vault add`. A stored command, file or variable is shown, and "
	"you are asked,\nbefore it is used, unless --yes is given. Without "
	"--expires the new value does\nnot expire.";

const struct command vault_verbs[] = {
	{ .name = "vault add",
	  .words = "NAME [-]",
	  .summary = "Keep a credential",
	  .more = add_help,
	  .rules = { ARG_SET(O_FROM, O_SCOPE, O_FORM, O_AWS, O(EXPIRES),
			     O(ALLOW_CLASSIC), O(HANDOVER), O(INSECURE),
			     O_TALK),
		     1, 2, false },
	  .run = cmd_vault_add },
	{ .name = "vault ls",
	  .words = "",
	  .summary = "List the credentials, without their values",
	  .more = "With --json also where each came from, what it may do and "
		  "who uses it.",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_vault_ls },
	{ .name = "vault rm",
	  .words = "NAME...",
	  .summary = "Forget credentials, all that are named or none",
	  .more = "It asks first, and names the instances that use them. What "
		  "runs loses them at\nonce. Revoke them where they were made, "
		  "too.",
	  .rules = { ARG_SET(O(YES), O_TALK), 1, MANY, false },
	  .complete = { WORDS_CREDENTIAL, WORDS_CREDENTIAL },
	  .run = cmd_vault_rm },
	{ .name = "vault rotate",
	  .words = "NAME [-]",
	  .summary = "Give a credential a new value",
	  .more = rotate_help,
	  .rules = { ARG_SET(O_FROM, O(ACCESS_KEY), O(EXPIRES),
			     O(ALLOW_CLASSIC), O(YES), O_TALK),
		     1, 2, false },
	  .complete = { WORDS_CREDENTIAL },
	  .run = cmd_vault_rotate },
	{ .name = "vault test",
	  .words = "NAME",
	  .summary = "Ask its service whether it is taken; 1 when it is not",
	  .more = "One small request to its own host, from ac-host. 1 also "
		  "when that cannot tell.",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_CREDENTIAL },
	  .run = cmd_vault_test },
	{ .name = "vault export",
	  .words = "FILE|-",
	  .summary = "Write all credentials to a file, under a passphrase",
	  .more = pass_help,
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_FILE },
	  .run = cmd_vault_export },
	{ .name = "vault import",
	  .words = "FILE",
	  .summary = "Take the credentials of an export",
	  .more = "Those whose name is there already are left as they are, "
		  "unless --replace is\ngiven. Its passphrase is asked for, or "
		  "is the first line of stdin when that is\nno terminal.",
	  .rules = { ARG_SET(O(REPLACE), O_TALK), 1, 1, false },
	  .complete = { WORDS_FILE },
	  .run = cmd_vault_import },
	{ .name = "vault unlock",
	  .words = "",
	  .summary = "Open a vault that has a passphrase",
	  .more = "It stays open until ac-host stops, or `ac vault lock`. The "
		  "passphrase is asked\nfor, or is the first line of stdin "
		  "when that is no terminal.",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_vault_unlock },
	{ .name = "vault lock",
	  .words = "",
	  .summary =
		  "Close it: what runs goes on, no new run gets a credential",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_vault_lock },
	{ .name = "vault passphrase",
	  .words = "",
	  .summary = "Protect it with a passphrase, or with another one",
	  .more = "It has at least 8 bytes; where there is one already, that "
		  "is asked for first.\nWhen stdin is no terminal the new one "
		  "is line 1 of it; where there is one\nalready, that is "
		  "line 1 and the new one line 2. `ac start` asks for it on\n"
		  "a terminal; else `ac vault unlock` opens it.",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_vault_passphrase },
	{ .name = "vault keyfile",
	  .words = "",
	  .summary = "Protect it with a key file again, as it is at first",
	  .more = "The key is in $AC_HOME/vault/key: who can read it and the "
		  "store beside it can\nread the tokens. Without it only an "
		  "export can be read: back it up. The\npassphrase is asked "
		  "for, or is the first line of stdin when that is no\n"
		  "terminal.",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_vault_keyfile },
	{ .name = NULL },
};
