/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - `ac diff`: what an agent has changed in its copy of a directory
 */
#ifndef CONTROL_CLI_CMD_DIFF_H
#define CONTROL_CLI_CMD_DIFF_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/layer/layer.h"

/* A command; see struct command in control/cli/commands.h. */
int cmd_diff(const struct cli *cli, const struct args *a, struct err *err);

/* Sets @ret to the paths among the words of @a from @from on, and behind "--", in
 * the workspace of @l. Returns 0 or a negative errno with @err; the caller calls
 * strv_done(). */
int diff_paths(const struct args *a, size_t from, const struct layer *l,
	       struct strv *ret, struct err *err);

#endif
