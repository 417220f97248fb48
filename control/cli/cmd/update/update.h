/* SPDX-License-Identifier: Apache-2.0 */
/*
 * update.h - `ac build --update`: newer versions of what agents are
 */
#ifndef CONTROL_CLI_CMD_UPDATE_UPDATE_H
#define CONTROL_CLI_CMD_UPDATE_UPDATE_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

/* The command `ac build`. With --update it asks acd for newer versions of what
 * each blueprint of @a pins, puts its package files into its folder, and prints
 * what changed; else it is cmd_build(). Returns 0 or a negative errno with
 * @err. */
int cmd_build_or_update(const struct cli *cli, const struct args *a,
			struct err *err);

/*
 * Compares two lock files of npm, parsed. Returns a new array of {"package",
 * "from", "to"}, sorted by package, where "from" or "to" is null for what came or
 * went; NULL with @err if @now has a package without a SHA-512, an address of its
 * own, or no packages at all.
 */
json_t *build_update_compare(const json_t *was, const json_t *now,
			     struct err *err);

#endif
