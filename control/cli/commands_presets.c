/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands_presets.c - the commands behind `ac presets`
 */
#include "control/cli/commands.h"

#include "control/cli/cmd/presets.h"

#define O(name) ARG_IN(name)
#define O_TALK O(JSON), O(QUIET)

const struct command presets_verbs[] = {
	{ .name = "presets ls",
	  .words = "",
	  .summary = "List the presets, as `ac presets` does",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_presets_ls },
	{ .name = "presets show",
	  .words = "NAME",
	  .summary = "Show what a preset opens or says, and its risk",
	  .more = "With --json a list: presets of several kinds may have one "
		  "name.",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_PRESET },
	  .run = cmd_presets_show },
	{ .name = NULL },
};
