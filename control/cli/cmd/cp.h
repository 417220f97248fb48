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

/* One side of a copy: "-", a path here, or "NAME:PATH" there. A path here
 * that has a colon is written with a slash before it ("./a:b"); "NAME:" is
 * the workspace there. */
struct cp_side {
	bool remote, stream; /* stream: "-" */
	char name[AC_NAME_MAX + 1]; /* of a remote one */
	const char *path; /* borrowed */
};

/* -EINVAL with @err: no instance's name, an empty word. Pure. */
int cp_side_parse(const char *word, struct cp_side *ret, struct err *err);

/* What the scripts there exit with instead of letting the tools complain:
 * codes that neither tar nor the shell uses. */
#define CP_THERE_ENOENT 80
#define CP_THERE_EACCES 81
#define CP_THERE_ENOTDIR 82

/* What the scripts in the sandbox mean by the @code they ended with: negative,
 * with one line about @name:@path in @err. Pure. */
int cp_there_error(int code, const char *name, const char *path,
		   struct err *err);

int cmd_cp(const struct cli *cli, const struct args *a, struct err *err);

#endif
