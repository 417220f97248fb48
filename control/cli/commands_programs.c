/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands_programs.c - the commands behind `ac token`, and what the help of other
 * commands for programs says
 */
#include "control/cli/commands.h"

#include "control/cli/cmd/program/access.h"

#define O(name) ARG_IN(name)
#define O_TALK O(JSON), O(QUIET)
#define MANY ARGS_WORDS_MAX

const char serve_help[] =
	"At 127.0.0.1:7722 if nothing is said, also after a restart, "
	"until --stop. Only\naddresses of loopback: elsewhere a "
	"token "
	"would cross the network as plain text.\nThe API is "
	"described "
	"by `ac schema openapi`.\n"
	"  ac serve; TOKEN=$(ac token add ci)\n"
	"  curl -H \"Authorization: Bearer $TOKEN\" "
	"http://127.0.0.1:7722/v1/instances\n"
	"With --e2b-env it prints a new key for E2B's SDKs and where to send "
	"it, for a\nshell; docs/E2B.md says what they can do here.\n"
	"  eval \"$(ac serve --e2b-env)\"; python3 my_agent.py";

const char mcp_help[] =
	"The client starts it, and speaks to it on stdin and stdout. "
	"The sandbox is made\nfor the first command and removed at "
	"the end. DIR is shown as by `ac run`.\n"
	"  {\"command\": \"ac\", \"args\": [\"mcp\", "
	"\"base\", \"--egress\", \"locked\"]}";

const struct command token_verbs[] = {
	{ .name = "token add",
	  .words = "NAME",
	  .summary = "Make a token for a program, and print it once",
	  .more = "The program sends it as `Authorization: Bearer TOKEN`. "
		  "--scope read looks;\nrun, which is the default, makes, runs "
		  "and removes instances as well, with what\nthis machine's "
		  "blueprints and credentials give them; admin may all that\n"
		  "`ac` may, but for tokens, `ac serve`, approvals, and what "
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
