/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands_vault.c - the commands behind `ac vault`
 */
#include "control/cli/commands.h"

#include "control/cli/cmd_vault.h"

#define O(name) ARG_BIT(ARG_##name)
#define O_TALK (O(JSON) | O(QUIET))
#define O_FROM (O(FROM_FILE) | O(FROM_ENV) | O(FROM_CMD))
#define O_SCOPE \
	(O(HOST) | O(METHOD) | O(PATH) | O(BLUEPRINT) | O(INSTANCE) | O(NOTE))
#define O_FORM (O(KIND) | O(USER) | O(HEADER) | O(BASIC) | O(QUERY))
#define O_AWS (O(ACCESS_KEY) | O(REGION) | O(SERVICE))
#define MANY ARGS_WORDS_MAX

static const char add_help[] =
	"The value comes from a prompt, from stdin when that is no terminal "
	"(or with -),\nor from one of the --from- options; never from the "
	"command line, which others\ncan read. Kinds: github, gitlab, npm, "
	"pypi, anthropic, openai, gemini, aws; and\ngeneric with --header, "
	"--basic or --query. Without --blueprint and --instance\nany agent "
	"that is told to may use it.";
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
	  .rules = { O_FROM | O_SCOPE | O_FORM | O_AWS | O(EXPIRES) |
			     O(ALLOW_CLASSIC) | O(HANDOVER) | O_TALK,
		     1, 2, false },
	  .run = cmd_vault_add },
	{ .name = "vault ls",
	  .words = "",
	  .summary = "List the credentials, without their values",
	  .rules = { O_TALK, 0, 0, false },
	  .run = cmd_vault_ls },
	{ .name = "vault rm",
	  .words = "NAME...",
	  .summary = "Forget credentials",
	  .rules = { O(YES) | O(QUIET), 1, MANY, false },
	  .complete = { WORDS_CREDENTIAL, WORDS_CREDENTIAL },
	  .run = cmd_vault_rm },
	{ .name = "vault rotate",
	  .words = "NAME [-]",
	  .summary = "Give a credential a new value",
	  .more = rotate_help,
	  .rules = { O_FROM | O(ACCESS_KEY) | O(EXPIRES) | O(ALLOW_CLASSIC) |
			     O(YES) | O_TALK,
		     1, 2, false },
	  .complete = { WORDS_CREDENTIAL },
	  .run = cmd_vault_rotate },
	{ .name = "vault test",
	  .words = "NAME",
	  .summary = "Ask its service whether it is taken; 1 when it is not",
	  .rules = { O_TALK, 1, 1, false },
	  .complete = { WORDS_CREDENTIAL },
	  .run = cmd_vault_test },
	{ .name = "vault export",
	  .words = "FILE|-",
	  .summary = "Write all credentials to a file, under a passphrase",
	  .more = "The passphrase is asked for, or the first line of stdin "
		  "when that is no terminal.",
	  .rules = { O(QUIET), 1, 1, false },
	  .complete = { WORDS_FILE },
	  .run = cmd_vault_export },
	{ .name = "vault import",
	  .words = "FILE",
	  .summary = "Take the credentials of an export",
	  .more = "Those whose name is there already are left as they are, "
		  "unless --replace is given.",
	  .rules = { O(REPLACE) | O_TALK, 1, 1, false },
	  .complete = { WORDS_FILE },
	  .run = cmd_vault_import },
	{ .name = "vault unlock",
	  .words = "",
	  .summary = "Open a vault that has a passphrase",
	  .rules = { O(QUIET), 0, 0, false },
	  .run = cmd_vault_unlock },
	{ .name = "vault lock",
	  .words = "",
	  .summary = "Close it again: what runs goes on, nothing new starts",
	  .rules = { O(QUIET), 0, 0, false },
	  .run = cmd_vault_lock },
	{ .name = "vault passphrase",
	  .words = "",
	  .summary = "Protect it with a passphrase, or with another one",
	  .more = "ac-host asks for it after each start: `ac vault unlock`.",
	  .rules = { O(QUIET), 0, 0, false },
	  .run = cmd_vault_passphrase },
	{ .name = "vault keyfile",
	  .words = "",
	  .summary = "Protect it with a key file again, as it is at first",
	  .rules = { O(QUIET), 0, 0, false },
	  .run = cmd_vault_keyfile },
	{ .name = NULL },
};
