/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - a resolved blueprint, line by line with what each is from
 */
#ifndef CONTROL_CLI_CMD_BLUEPRINT_LINES_H
#define CONTROL_CLI_CMD_BLUEPRINT_LINES_H

#include <jansson.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

/* Prints one of the "lines" that acd answers, with @mark in front; the file that
 * it is from follows as a comment, named as it is on this machine. */
void blueprint_line_print(const struct cli *cli, const char *mark,
			  const json_t *line);
/* Prints all of them. */
void blueprint_lines_print(const struct cli *cli, const json_t *lines);

/* Prints, as comments, the names that each preset of @blueprint, an answer of
 * acd, opens. Returns 0 or a negative errno. */
int blueprint_presets_print(struct client *c, const json_t *blueprint,
			    struct err *err);

/* A command; see struct command in control/cli/commands.h. */
int cmd_blueprint_diff(const struct cli *cli, const struct args *a,
		       struct err *err);

#endif
