/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_list.c - passes the directories that a blueprint shows to a sandbox
 *
 * A blueprint has paths; only acd knows its whole text. So acd refuses a run for
 * which it has no descriptors, and ac opens the paths as it opens a workspace: a
 * component at a time, and judged by what was opened. No link is followed: no
 * path of a blueprint needs one, and an agent may have made it.
 */
#include "control/cli/host/mount_list.h"

#include <stdlib.h>

#include "control/cli/host/workspace.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/str.h"

/* Returns the path that @from means, to be freed; NULL: @err says why. */
static char *path_of(const char *from, struct err *err)
{
	const char *home = getenv("HOME");
	char *path;

	if (!str_starts(from, "~/"))
		path = str_printf("%s", from);
	else if (home && *home == '/')
		path = str_printf("%s%s", home, from + 1);
	else {
		err_set(err, -ENOENT,
			"mount %s: $HOME does not say where that is", from);
		return NULL;
	}
	if (!path)
		err_nomem(err);
	return path;
}

static int send_one(const struct cli *cli, const char *instance,
		    const json_t *mount, struct err *err)
{
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	const char *to = json_text(mount, "to");
	bool live = strcmp(json_text(mount, "mode"), "live") == 0;
	SCOPED_STR path = NULL;
	int rc;

	if (!name_is_mount(to))
		return err_set(err, -EPROTO, "acd shows a mount at '%s'", to);
	path = path_of(json_text(mount, "from"), err);
	if (!path)
		return err->code;
	rc = workspace_mount(cli, path, to, &ws, err);
	ws.read_only = !live;
	if (rc == 0)
		rc = workspace_send(cli, instance, &ws, err);
	if (rc == 0 && live)
		say_info(cli, "mount: %s is %s, live: the agent writes to it",
			 to, ws.path);
	return rc;
}

int mount_list_send(const struct cli *cli, struct client *c,
		    const char *instance, const char *blueprint,
		    struct err *err)
{
	SCOPED_STR path = client_path("/v1/blueprints/", blueprint, "");
	SCOPED_JSON all = NULL;
	const json_t *list;
	int rc = path ? client_call(c, "GET", path, NULL, &all, err) :
			err_nomem(err);

	list = json_object_get(all, "mounts");
	for (size_t i = 0; rc == 0 && i < json_array_size(list); i++)
		rc = send_one(cli, instance, json_array_get(list, i), err);
	return rc;
}
