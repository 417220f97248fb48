/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prune.h - `ac prune`: destroy what stopped, and how long ago
 */
#ifndef CONTROL_CLI_CMD_PRUNE_H
#define CONTROL_CLI_CMD_PRUNE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Returns true if the instance of the record @rec stopped @older_ms or more
 * before @now (seconds since 1970). One that runs, that has never run, or that
 * stopped after @now, as the clock has it, did not. Pure. */
bool prune_takes(const json_t *rec, int64_t now, uint64_t older_ms);

int cmd_prune(const struct cli *cli, const struct args *a, struct err *err);

#endif
