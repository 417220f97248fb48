/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - what instances use: stats, df
 */
#ifndef CONTROL_CLI_CMD_STATS_H
#define CONTROL_CLI_CMD_STATS_H

#include <jansson.h>
#include <stdint.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

int cmd_stats(const struct cli *cli, const struct args *a, struct err *err);
int cmd_df(const struct cli *cli, const struct args *a, struct err *err);

/* CPU use of an instance between two samples, in thousandths of a CPU; 0
 * when @before is NULL or the instance began anew in between. Pure. */
uint64_t stats_cpu_milli(const json_t *before, const json_t *now);

#endif
