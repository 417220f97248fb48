/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_into.h - whose repository gets the commits
 */
#ifndef CONTROL_CLI_CMD_FETCH_INTO_H
#define CONTROL_CLI_CMD_FETCH_INTO_H

#include <jansson.h>

#include "control/cli/core/cli.h"
#include "control/cli/host/workspace.h"

/*
 * Opens the user's directory: @into, or if it is NULL the one that the instance
 * of @rec works on a copy of. @instances is the answer of /v1/instances. Returns
 * 0; -EINVAL if there is no such directory or its commits are there already;
 * -EPERM if an instance writes in it, and so may have written the repository's
 * configuration; or another negative errno, with @err. The
 * caller calls workspace_done() in any case.
 */
int fetch_into_open(const struct cli *cli, const json_t *rec, const char *into,
		    const json_t *instances, struct workspace *ret,
		    struct err *err);

/* Returns -EPERM if an instance of @instances writes itself in the directory @fd,
 * or in one above it. @path is its name in messages. Else 0 or another negative
 * errno. */
int fetch_into_check(int fd, const char *path, const json_t *instances,
		     struct err *err);

#endif
