/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.h - passes the user's directory to a sandbox
 */
#ifndef CONTROL_CLI_HOST_WORKSPACE_H
#define CONTROL_CLI_HOST_WORKSPACE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "control/cli/core/cli.h"
#include "control/cli/core/dirwalk.h"

struct workspace {
	const char *to; /* the place of a blueprint's mount, borrowed; NULL: it
			 * is the workspace */
	char *path; /* absolute, no links in it */
	const char *mode; /* "copy", "live" or "ro", static; "": not said */
	bool read_only; /* acd gets it so */
	uid_t uid; /* its owner */
	gid_t gid;
	struct dirwalk walk; /* its descriptor, and the turns to it */
};

/*
 * Opens "DIR", "DIR:copy", "DIR:live" or "DIR:ro" as the user wrote it; only the descriptor
 * counts afterwards. Tells where a link led to. Returns 0; -ENOENT; -ENOTDIR;
 * -EPERM for what an agent must never see: the root directory, $AC_HOME, what
 * is in it, and what contains it. The caller calls workspace_done() in any
 * case.
 */
int workspace_parse(const struct cli *cli, const char *text,
		    struct workspace *ret, struct err *err);
/* The same for the path in an instance's record. It has no links, so one that
 * is there now is -ELOOP. */
int workspace_recorded(const struct cli *cli, const char *path,
		       struct workspace *ret, struct err *err);
/* The same for the directory @path, absolute, that a blueprint shows at @to. */
int workspace_mount(const struct cli *cli, const char *path, const char *to,
		    struct workspace *ret, struct err *err);
void workspace_done(struct workspace *ws); /* accepts zeroed with fd -1 */

#define SCOPED_WORKSPACE ATTR_CLEANUP(workspace_done) struct workspace
#define WORKSPACE_NONE                          \
	{                                       \
		.mode = "", .walk = {.fd = -1 } \
	}

/*
 * Returns -EPERM if an instance of @instances (/v1/instances) could choose
 * where the path leads: if a link was followed, or ".." taken, in a directory
 * that it can write. Else 0 or another negative errno.
 */
int workspace_check_turns(const struct workspace *ws, const json_t *instances,
			  struct err *err);

/* Sets *ret to the name of an instance of @instances that can write in the
 * directory @fd or could in its last run, borrowed from @instances; NULL: none.
 * Returns 0 or a negative errno. */
int workspace_writer(int fd, const json_t *instances, const char **ret);

/* Gives acd the directory for the next run of @instance, as @ws->to says. Returns
 * 0, or a negative errno with @err. */
int workspace_send(const struct cli *cli, const char *instance,
		   const struct workspace *ws, struct err *err);

#endif
