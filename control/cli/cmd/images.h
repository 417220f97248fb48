/* SPDX-License-Identifier: Apache-2.0 */
/*
 * images.h - `ac images`: the images of ac-host's engine
 */
#ifndef CONTROL_CLI_CMD_IMAGES_H
#define CONTROL_CLI_CMD_IMAGES_H

#include <jansson.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Appends to @ret the images of @list that @word means: all of a name ("claude",
 * "ac/claude"), that of a tag ("claude:latest"), or of an id, of which 12 or
 * more digits are enough. None twice. Returns 0, -ENOENT if there is none,
 * -EINVAL if digits begin several ids, or -ENOMEM; with @err. */
int images_pick(const json_t *list, const char *word, json_t *ret,
		struct err *err);
/* Writes what a person calls the image @i to @out: its first name with its tag,
 * without ac/; or the beginning of its id. Returns @out. */
char *images_label(char *out, size_t size, const json_t *i);

/* Commands; see struct command in control/cli/commands.h. */
int cmd_images_ls(const struct cli *cli, const struct args *a, struct err *err);
int cmd_images_rm(const struct cli *cli, const struct args *a, struct err *err);
int cmd_images_prune(const struct cli *cli, const struct args *a,
		     struct err *err);
int cmd_images_sbom(const struct cli *cli, const struct args *a,
		    struct err *err);

#endif
