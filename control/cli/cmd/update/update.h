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

/* Judges the files that an install sandbox left in the folder @from for the
 * blueprint @name, replaces those in @dir, and prints what changed. Returns 0 or a
 * negative errno with @err; nothing in @dir has changed then, unless writing there
 * failed. */
int update_take(const struct cli *cli, const char *name, const char *from,
		const char *dir, struct err *err);

#endif
