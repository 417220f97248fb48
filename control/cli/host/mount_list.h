/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_list.h - passes the directories that a blueprint shows to a sandbox
 */
#ifndef CONTROL_CLI_HOST_MOUNT_LIST_H
#define CONTROL_CLI_HOST_MOUNT_LIST_H

#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

/*
 * Asks acd for the mounts of @blueprint, opens each with the user's rights, and
 * gives acd all of them for the next run of @instance. Says which are live.
 * Returns 0; -ENOENT or -ENOTDIR if one does not exist; -ELOOP if a link leads to
 * it; -EPERM for what an agent must never see (workspace.h); or another negative
 * errno, with @err. acd may have some of them then, and drops them.
 */
int mount_list_send(const struct cli *cli, struct client *c,
		    const char *instance, const char *blueprint,
		    struct err *err);

#endif
