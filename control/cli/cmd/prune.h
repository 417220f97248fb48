/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prune.h - `ac prune`: destroys instances that have stopped
 */
#ifndef CONTROL_CLI_CMD_PRUNE_H
#define CONTROL_CLI_CMD_PRUNE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Returns true if the instance of record @rec stopped at least @older_ms before
 * @now (seconds since 1970). Returns false if it runs, never ran, or stopped
 * after @now by the clock. Has no side effects. */
bool prune_takes(const json_t *rec, int64_t now, uint64_t older_ms);

/* Command; see struct command in control/cli/commands.h. */
int cmd_prune(const struct cli *cli, const struct args *a, struct err *err);

#endif
