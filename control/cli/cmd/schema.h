/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - `ac schema`: JSON Schemas of the user's files, and the API
 */
#ifndef CONTROL_CLI_CMD_SCHEMA_H
#define CONTROL_CLI_CMD_SCHEMA_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

#define SCHEMA_NAMES 4u
/* blueprint, policy, openapi */
extern const char *const schema_names[SCHEMA_NAMES];
/* Returns the file that is printed for a name, below the folder of what ac
 * brings; NULL for others. */
const char *schema_file(const char *name);

/* Command; see struct command in control/cli/commands.h. */
int cmd_schema(const struct cli *cli, const struct args *a, struct err *err);

#endif
