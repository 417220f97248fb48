/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands_config.c - the commands behind `ac config`
 */
#include "control/cli/commands.h"

#include "control/cli/cmd/config.h"

#define O(name) ARG_IN(name)
#define O_TALK O(JSON), O(QUIET)

const struct command config_verbs[] = {
	{ .name = "config ls",
	  .words = "",
	  .summary = "List all keys, with what holds and where it comes from",
	  .rules = { ARG_SET(O_TALK, O(NO_TRUNC)), 0, 0, false },
	  .run = cmd_config_ls },
	{ .name = "config get",
	  .words = "KEY",
	  .summary = "Print what holds for a key; 1 when nothing is set",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_CONFIG },
	  .run = cmd_config_get },
	{ .name = "config set",
	  .words = "KEY VALUE",
	  .summary = "Set a key in config.yaml; all else in it stays",
	  .more = "Keys of `defaults` are as the options of `ac run` and hold "
		  "for instances that\nare made from then on, unless the "
		  "option "
		  "is given. The others hold from the next\nstart of ac-host "
		  "on; their variables, as AC_LOOP, override them for one "
		  "call.",
	  .rules = { ARG_SET(O_TALK), 2, 2, false },
	  .complete = { WORDS_CONFIG },
	  .run = cmd_config_set },
	{ .name = "config unset",
	  .words = "KEY",
	  .summary = "Remove a key from config.yaml",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_CONFIG },
	  .run = cmd_config_unset },
	{ .name = "config edit",
	  .words = "",
	  .summary = "Open config.yaml in $VISUAL or $EDITOR, and check it",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_config_edit },
	{ .name = NULL },
};
