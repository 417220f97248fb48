/* SPDX-License-Identifier: Apache-2.0 */
/*
 * go_on.c - lets an instance go on from the memory that it was given
 */
#include "control/cli/cmd/snapshot/snapshot.h"

#include <string.h>

#include "control/cli/host/launch.h"
#include "control/shared/json.h"

json_t *snapshot_body(const struct args *a, const char *tag)
{
	json_t *body = json_pack("{s:b}", "memory", args_has(a, ARG_PROCESSES));

	if (!body || !tag ||
	    json_object_set_new(body, "tag", jsonx_text(tag)) == 0)
		return body;
	json_decref(body);
	return NULL;
}

int snapshot_go_on(const struct cli *cli, struct client *c, const char *name,
		   json_t **ret, struct err *err)
{
	struct launch l = { .cli = cli,
			    .client = c,
			    .verb = "run",
			    .detached = true,
			    .silent = true };
	SCOPED_JSON body = launch_body(&l, NULL, 0, err);
	int rc = body ? 0 : err->code;

	snprintf(l.name, sizeof(l.name), "%s", name);
	if (rc == 0 &&
	    (json_object_set_new(body, "name", jsonx_text(name)) < 0 ||
	     json_object_set_new(body, "create", json_false()) < 0 ||
	     json_object_set_new(body, "from_memory", json_true()) < 0))
		rc = err_nomem(err);
	if (rc == 0)
		rc = launch_go(&l, body, err);
	if (rc < 0)
		return err_wrap(err,
				"'%s' has its files, but does not go on from "
				"the memory (`ac run %s` starts it with "
				"them)",
				name, name);
	*ret = l.begun;
	return 0;
}
