/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands_volume.c - the commands behind `ac volume`
 */
#include "control/cli/commands.h"

#include "control/cli/cmd/volume/volume.h"

#define O(name) ARG_IN(name)
#define O_TALK O(JSON), O(QUIET)
#define MANY ARGS_WORDS_MAX

const struct command volume_verbs[] = {
	{ .name = "volume create",
	  .words = "NAME",
	  .summary = "Make an empty volume",
	  .more = "Instances have it by `ac run … --volume NAME:/mnt/PLACE`, "
		  "or with :ro behind\nthat. One instance at a time writes to "
		  "it; any number read it. It stays when\nthey are removed, "
		  "and no --disk counts what is in it.",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .run = cmd_volume_create },
	{ .name = "volume ls",
	  .words = "",
	  .summary = "List the volumes, their sizes, and who uses them",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_volume_ls },
	{ .name = "volume show",
	  .words = "NAME",
	  .summary = "Show a volume",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_VOLUME },
	  .run = cmd_volume_show },
	{ .name = "volume rm",
	  .words = "NAME...",
	  .summary = "Delete volumes with all that is in them",
	  .more = "Not while an instance has one, unless --force takes it "
		  "from those that do not\nrun. It does not ask.",
	  .rules = { ARG_SET(O(TAKE), O_TALK), 1, MANY, false },
	  .complete = { WORDS_VOLUME, WORDS_VOLUME },
	  .run = cmd_volume_rm },
	{ .name = NULL },
};
