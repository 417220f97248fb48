/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents.h - `ac agents`: which agents there are, and what they still need
 */
#ifndef CONTROL_CLI_CMD_AGENTS_H
#define CONTROL_CLI_CMD_AGENTS_H

#include <jansson.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Command; see struct command in control/cli/commands.h. */
int cmd_agents(const struct cli *cli, const struct args *a, struct err *err);

/* Returns the agents of @blueprints (/v1/blueprints), and those that cannot be
 * read, as `ac agents --json` prints them: a new reference, NULL without memory.
 * @vault is the answer of /v1/vault, NULL if it cannot be read. */
json_t *agents_list(const json_t *blueprints, const json_t *vault);

#endif
