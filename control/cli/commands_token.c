/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands_token.c - the commands behind `ac token`
 */
#include "control/cli/commands.h"

#include "control/cli/cmd/access.h"

#define O(name) ARG_IN(name)
#define O_TALK O(JSON), O(QUIET)
#define MANY ARGS_WORDS_MAX

const struct command token_verbs[] = {
	{ .name = "token add",
	  .words = "NAME",
	  .summary = "Make a token for a program, and print it once",
	  .more = "The program sends it as `Authorization: Bearer TOKEN`. "
		  "--scope read looks;\nrun, which is the default, makes, runs "
		  "and removes instances as well, with what\nthis machine's "
		  "blueprints and credentials give them; admin may all that "
		  "`ac` may,\nbut for tokens, `ac serve`, approvals, and what "
		  "is in the vault.\n"
		  "  TOKEN=$(ac token add ci --expires 30d)",
	  .rules = { ARG_SET(O(SCOPE), O(LASTS), O_TALK), 1, 1, false },
	  .run = cmd_token_add },
	{ .name = "token ls",
	  .words = "",
	  .summary = "List the tokens",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_token_ls },
	{ .name = "token rm",
	  .words = "NAME...",
	  .summary = "Remove tokens; no request with them is taken any more",
	  .rules = { ARG_SET(O_TALK), 1, MANY, false },
	  .run = cmd_token_rm },
	{ .name = NULL },
};
