/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.h - the user's directory on its way into a sandbox
 */
#ifndef CONTROL_CLI_WORKSPACE_H
#define CONTROL_CLI_WORKSPACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "control/cli/cli.h"

struct workspace {
	char path[PATH_MAX]; /* absolute, no links in it */
	bool read_only;
	uid_t uid; /* its owner */
	gid_t gid;
};

/*
 * "DIR", "DIR:ro", "DIR:rw" as the user wrote it. -ENOENT, -ENOTDIR; -EPERM
 * for what must never be shown to an agent: the root directory, $AC_HOME,
 * what is in it, and what it is in.
 */
int workspace_parse(const char *text, const char *home, struct workspace *ret,
		    struct err *err);

/* Gives acd the directory for the next run of @instance. */
int workspace_send(const struct cli *cli, const char *instance,
		   const struct workspace *ws, struct err *err);

#endif
