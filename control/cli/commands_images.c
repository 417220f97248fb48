/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands_images.c - the commands behind `ac images`
 */
#include "control/cli/commands.h"

#include "control/cli/cmd/images.h"

#define O(name) ARG_IN(name)
#define O_TALK O(JSON), O(QUIET)
#define MANY ARGS_WORDS_MAX

const struct command images_verbs[] = {
	{ .name = "images ls",
	  .words = "",
	  .summary = "List the images: size, age, and what uses them",
	  .more = "SHARED is what another image has too, OWN is the rest. The "
		  "image of ac-host is\nnot among them.",
	  .rules = { ARG_SET(O(NO_TRUNC), O_TALK), 0, 0, false },
	  .run = cmd_images_ls },
	{ .name = "images rm",
	  .words = "NAME...",
	  .summary =
		  "Remove images; the next run of a blueprint builds its own",
	  .more = "NAME is that of an image, as `ac images` prints it, with or "
		  "without ac/ and\n:TAG; or the first 12 or more digits of "
		  "its id. A name without :TAG means all\nof that name. On a "
		  "terminal it asks first, unless --yes is given. One that a\n"
		  "sandbox has stays.",
	  .rules = { ARG_SET(O(YES), O_TALK), 1, MANY, false },
	  .complete = { WORDS_IMAGE, WORDS_IMAGE },
	  .run = cmd_images_rm },
	{ .name = "images prune",
	  .words = "",
	  .summary = "Remove the images that nothing uses",
	  .more = "What a blueprint or an instance starts from stays, and what "
		  "these are built on.\nBuild steps that no image has go as "
		  "well. It says what that frees, and asks.",
	  .rules = { ARG_SET(O(DRY_RUN), O(YES), O_TALK), 0, 0, false },
	  .run = cmd_images_prune },
	{ .name = "images sbom",
	  .words = "NAME",
	  .summary = "Print what is installed in an image, as SPDX",
	  .more = "A document of SPDX 2.3 in JSON: the packages of dpkg, npm "
		  "and "
		  "Python, with\nversions, package URLs, and licences and "
		  "checksums where they are known. It is\nthe same each time "
		  "for one image. NAME as for `ac images rm`; without :TAG "
		  "it\nis the latest.",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_IMAGE },
	  .run = cmd_images_sbom },
	{ .name = NULL },
};
