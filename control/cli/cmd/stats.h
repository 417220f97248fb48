/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - stats, df: what instances use
 */
#ifndef CONTROL_CLI_CMD_STATS_H
#define CONTROL_CLI_CMD_STATS_H

#include <jansson.h>
#include <stdint.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* Commands; see struct command in control/cli/commands.h. */
int cmd_stats(const struct cli *cli, const struct args *a, struct err *err);
int cmd_df(const struct cli *cli, const struct args *a, struct err *err);

/* Returns the CPU use of an instance between two samples, in thousandths of a
 * CPU; 0 if @before is NULL or the instance was restarted in between. Has no
 * side effects. */
uint64_t stats_cpu_milli(const json_t *before, const json_t *now);

#endif
