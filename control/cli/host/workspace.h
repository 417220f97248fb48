/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.h - the user's directory on its way into a sandbox
 */
#ifndef CONTROL_CLI_HOST_WORKSPACE_H
#define CONTROL_CLI_HOST_WORKSPACE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "control/cli/core/cli.h"
#include "control/cli/core/dirwalk.h"

struct workspace {
	char *path; /* absolute, no links in it */
	bool read_only;
	uid_t uid; /* its owner */
	gid_t gid;
	struct dirwalk walk; /* its descriptor, and the turns on the way */
};

/*
 * "DIR", "DIR:ro", "DIR:rw" as the user wrote it, opened once: from then on
 * only the descriptor counts. Says where a link led to. Fails with -ENOENT,
 * -ENOTDIR; -EPERM for what must never be shown to an agent: the root
 * directory, $AC_HOME, what is in it, and what it is in. Release with
 * workspace_done(), also after a failure.
 */
int workspace_parse(const struct cli *cli, const char *text,
		    struct workspace *ret, struct err *err);
/* The same for the path of an instance's record: without links, so -ELOOP
 * when one has come in its way since. */
int workspace_recorded(const struct cli *cli, const char *path,
		       struct workspace *ret, struct err *err);
void workspace_done(struct workspace *ws); /* accepts zeroed with fd -1 */

#define SCOPED_WORKSPACE ATTR_CLEANUP(workspace_done) struct workspace
#define WORKSPACE_NONE              \
	{                           \
		.walk = {.fd = -1 } \
	}

/*
 * Fails with -EPERM when an instance of @instances (/v1/instances) chose where
 * the path leads: when a link was followed, or ".." taken, in a directory that
 * it can write.
 */
int workspace_check_turns(const struct workspace *ws, const json_t *instances,
			  struct err *err);

/* Gives acd the directory for the next run of @instance. */
int workspace_send(const struct cli *cli, const char *instance,
		   const struct workspace *ws, struct err *err);

#endif
