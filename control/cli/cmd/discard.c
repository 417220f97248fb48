/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discard.c - drops what an instance has changed in its copy of a directory
 */
#include "control/cli/cmd/discard.h"

#include "control/cli/cmd/instance.h"
#include "control/cli/host/host.h"
#include "control/cli/host/stopped.h"
#include "control/shared/json.h"

static int discard_one(const struct cli *cli, struct client *c,
		       const char *word, bool yes, struct err *err)
{
	SCOPED_JSON was = NULL;
	SCOPED_JSON rec = NULL;
	const char *name, *dir;
	int rc = instance_call(c, "GET", word, "", NULL, &was, err);

	if (rc < 0)
		return rc;
	name = json_text(was, "name");
	dir = json_text(was, "workspace");
	if (json_integer_value(json_object_get(was, "layer_since_ns")) == 0) {
		say_info(cli, "%s has no copy of a directory: nothing to drop",
			 name);
		return 0;
	}
	rc = cli_confirm(cli, yes,
			 "What %s has changed in its copy of %s will be "
			 "dropped; your directory and its home stay.",
			 name, dir);
	if (rc == 0)
		rc = instance_call(c, "POST", word, "/discard", NULL, &rec,
				   err);
	if (rc != 0)
		return rc;
	if (cli->json)
		return cli_print_json(rec, false, err);
	say_info(cli, "%s begins with %s as it is", name, dir);
	return 0;
}

int cmd_discard(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	int rc = host_client_after(cli, stopped_check, a, &c, err);

	for (size_t i = 0; rc == 0 && i < a->n_words; i++)
		rc = discard_one(cli, c, a->words[i], args_has(a, ARG_YES),
				 err);
	return rc;
}
