/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint.h - `ac blueprint`: what a blueprint says, and whether it is good
 */
#ifndef CONTROL_CLI_CMD_BLUEPRINT_BLUEPRINT_H
#define CONTROL_CLI_CMD_BLUEPRINT_BLUEPRINT_H

#include <jansson.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Sets *@ret to what /v1/blueprints/check takes for @word: the name of a
 * blueprint, a file, a directory with one, or "-". The caller owns it. Returns 0
 * or a negative errno. */
int blueprint_body(const char *word, json_t **ret, struct err *err);

/* Commands; see struct command in control/cli/commands.h. */
int cmd_blueprint_show(const struct cli *cli, const struct args *a,
		       struct err *err);
int cmd_blueprint_check(const struct cli *cli, const struct args *a,
			struct err *err);

#endif
