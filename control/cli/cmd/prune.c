/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prune.c - `ac prune`: destroys instances that have stopped
 *
 * The user agrees to a list. Each instance is checked again before it is
 * destroyed: one that ran meanwhile stays.
 */
#include "control/cli/cmd/prune.h"

#include <string.h>
#include <time.h>

#include "control/cli/cmd/instance.h"
#include "control/cli/host/host.h"
#include "control/shared/json.h"
#include "lib/str.h"

bool prune_takes(const json_t *rec, int64_t now, uint64_t older_ms)
{
	int64_t at = json_count(rec, "finished_at");

	return !record_is_live(rec) &&
	       strcmp(json_text(rec, "state"), "stopping") != 0 && at > 0 &&
	       at <= now && (uint64_t)(now - at) * 1000 >= older_ms;
}

/* Removes from @list the instances that stay. */
static int keep_old(json_t *list, const struct args *a)
{
	int64_t now = time(NULL);
	size_t i = 0;

	while (i < json_array_size(list))
		if (prune_takes(json_array_get(list, i), now, a->older_ms))
			i++;
		else if (json_array_remove(list, i) < 0)
			return -ENOMEM;
	return 0;
}

static int show(const struct cli *cli, const json_t *list, struct err *err)
{
	size_t i;

	if (cli->json)
		return cli_print_json(list, false, err);
	if (!cli->quiet)
		return instance_print_list(cli, list, err);
	for (i = 0; i < json_array_size(list); i++)
		puts(json_text(json_array_get(list, i), "name"));
	return 0;
}

static int ask(const struct cli *cli, const struct args *a, const json_t *list)
{
	size_t n = json_array_size(list);
	char names[160];

	instance_names(list, false, names, sizeof(names));
	return cli_confirm(cli, args_has(a, ARG_YES), "%zu instance%s (%s): %s",
			   n, n == 1 ? "" : "s", names,
			   instance_fate(list, false));
}

/* Destroys an instance, @was being its record when the user agreed, and adds it
 * to @gone. */
static int destroy(const struct cli *cli, struct client *c,
		   const struct args *a, json_t *was, json_t *gone,
		   struct err *err)
{
	const char *name = json_text(was, "name");
	struct err found = { 0 };
	SCOPED_JSON rec = NULL;
	int rc = instance_call(c, "GET", name, "", NULL, &rec, &found);

	if (rc == 0 && !prune_takes(rec, time(NULL), a->older_ms)) {
		say_info(cli, "%s has run in the meantime: it stays", name);
		return 0;
	}
	if (rc == 0)
		rc = instance_delete(cli, c, name, false, &found);
	if (rc == -ENOENT)
		return 0; /* removed by somebody else */
	if (rc < 0)
		*err = found;
	else if (json_array_append(gone, was) < 0)
		rc = err_nomem(err);
	return rc;
}

int cmd_prune(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON list = NULL;
	SCOPED_JSON gone = json_array();
	size_t i, n;
	int rc = host_client(cli, true, &c, err);

	if (rc == 0)
		rc = instance_get_list(c, "instances", &list, err);
	if (rc == 0 && keep_old(list, a) < 0)
		rc = err_nomem(err);
	if (rc < 0)
		return rc;
	if (args_has(a, ARG_DRY_RUN))
		return show(cli, list, err);
	n = json_array_size(list);
	if (n == 0)
		say_info(cli, "nothing stopped%s: nothing to remove",
			 args_has(a, ARG_OLDER) ? " that long ago" : "");
	else
		rc = ask(cli, a, list);
	if (rc != 0)
		return rc;
	/* A failure does not stop the others. */
	for (i = 0; i < n; i++) {
		struct err why = { 0 };
		int one =
			destroy(cli, c, a, json_array_get(list, i), gone, &why);

		cli_note(one, &why, &rc, err);
	}
	if (cli->json) {
		int one = cli_print_json(gone, false, rc < 0 ? NULL : err);

		rc = rc < 0 ? rc : one;
	}
	return rc;
}
