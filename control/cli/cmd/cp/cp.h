/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp.h - files into and out of a running sandbox
 */
#ifndef CONTROL_CLI_CMD_CP_H
#define CONTROL_CLI_CMD_CP_H

#include <stdbool.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/shared/paths.h"

/* One side of a copy: "-", a local path, or "NAME:PATH" in a sandbox. A local
 * path with a colon needs a slash before the colon ("./a:b"). "NAME:" is the
 * workspace. */
struct cp_side {
	bool remote, stream; /* stream: it is "-" */
	char name[AC_NAME_MAX + 1]; /* instance, if remote */
	const char *path; /* borrowed */
};

/* Parses @word; ret->path points into it. Returns 0, or -EINVAL with @err for a
 * bad instance name or an empty word. Has no side effects. */
int cp_side_parse(const char *word, struct cp_side *ret, struct err *err);

/* Exit codes of the scripts in the sandbox. Neither tar nor sh uses them. */
#define CP_THERE_ENOENT 80
#define CP_THERE_EACCES 81
#define CP_THERE_ENOTDIR 82

/* Sets @err to one line about @name:@path that explains exit code @code of a
 * script. Returns its negative errno. Has no side effects. */
int cp_there_error(int code, const char *name, const char *path,
		   struct err *err);

/* Command; see struct command in control/cli/commands.h. */
int cmd_cp(const struct cli *cli, const struct args *a, struct err *err);

#endif
