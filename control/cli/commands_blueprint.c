/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands_blueprint.c - the commands behind `ac blueprint`
 */
#include "control/cli/commands.h"

#include "control/cli/cmd/blueprint/blueprint.h"
#include "control/cli/cmd/blueprint/lines.h"
#include "control/cli/cmd/blueprint/new.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/cmd/project.h"

#define O(name) ARG_IN(name)
#define O_TALK O(JSON), O(QUIET)

const struct command blueprint_verbs[] = {
	{ .name = "blueprint ls",
	  .words = "",
	  .summary = "List blueprints, instances, and approved projects",
	  .rules = { ARG_SET(O(NO_TRUNC), O_TALK), 0, 0, false },
	  .run = cmd_blueprint_ls },
	{ .name = "blueprint show",
	  .words = "NAME",
	  .summary = "Print a blueprint as it is written, or --resolved",
	  .rules = { ARG_SET(O(RESOLVED), O_TALK), 1, 1, false },
	  .complete = { WORDS_BLUEPRINT },
	  .run = cmd_blueprint_show },
	{ .name = "blueprint diff",
	  .words = "FILE|NAME [FILE|NAME]",
	  .summary = "Compare two resolved blueprints, or one with its parent",
	  .more = "A FILE as for `ac blueprint check`. Each line that differs "
		  "names the file\nand line that it is from.",
	  .rules = { ARG_SET(O_TALK), 1, 2, false },
	  .complete = { WORDS_DEFINITION, WORDS_DEFINITION },
	  .run = cmd_blueprint_diff },
	{ .name = "blueprint new",
	  .words = "NAME",
	  .summary = "Write a blueprint of your own to begin with",
	  .more = "Into $AC_HOME/blueprints/NAME, and prints its path. It "
		  "extends base, or the\nshipped one of that name, or PARENT.",
	  .rules = { ARG_SET(O(FROM), O_TALK), 1, 1, false },
	  .run = cmd_blueprint_new },
	{ .name = "blueprint check",
	  .words = "FILE|NAME",
	  .summary = "Check a blueprint; 1 when it is not good",
	  .more = "FILE is a path with a / or one that ends with .yaml, a "
		  "directory with a\nblueprint.yaml, or - for stdin.",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_DEFINITION },
	  .run = cmd_blueprint_check },
	{ .name = "blueprint approve",
	  .words = "DIR",
	  .summary = "Allow the blueprint that a project brings along",
	  .more = "Shows what DIR/.ac/blueprint.yaml changes of the blueprint "
		  "that "
		  "it extends, and\nasks. It is used until it changes.",
	  .rules = { ARG_SET(O(YES), O_TALK), 1, 1, false },
	  .complete = { WORDS_DIR },
	  .run = cmd_blueprint_approve },
	{ .name = "blueprint forget",
	  .words = "DIR",
	  .summary = "Take that back: the next run there asks again",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_DIR },
	  .run = cmd_blueprint_forget },
	{ .name = NULL },
};
