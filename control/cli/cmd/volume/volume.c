/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume.c - volume create, ls, show, rm
 */
#include "control/cli/cmd/volume/volume.h"

#include <string.h>
#include <time.h>

#include "control/cli/cmd/named.h"
#include "control/cli/core/table.h"
#include "control/cli/host/host.h"
#include "control/shared/json.h"
#include "control/shared/names.h"

/* ---- create ---- */

int cmd_volume_create(const struct cli *cli, const struct args *a,
		      struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = json_pack("{s:o}", "name", jsonx_text(a->words[0]));
	SCOPED_JSON v = NULL;
	int rc = name_check_volume(a->words[0], err);

	if (rc < 0)
		return cli_usage(err);
	rc = body ? host_client(cli, true, &c, err) : err_nomem(err);
	if (rc == 0)
		rc = client_call(c, "POST", "/v1/volumes", body, &v, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(v, false, err);
	say_info(cli,
		 "%s: made, and empty; `ac run … --volume %s:/mnt/%s` "
		 "shows it to an instance",
		 a->words[0], a->words[0], a->words[0]);
	return 0;
}

/* ---- ls, show ---- */

/* Returns "one (rw, runs), two (ro)"; the caller frees it. */
static char *users_of(const json_t *v)
{
	const json_t *users = json_object_get(v, "used_by"), *u;
	char *text = strdup("");
	size_t i;

	json_array_foreach (users, i, u) {
		bool runs = json_is_true(json_object_get(u, "running"));
		char *more = text ? str_printf("%s%s%s (%s%s)", text,
					       i ? ", " : "",
					       json_text(u, "instance"),
					       json_text(u, "mode"),
					       runs ? ", runs" : "") :
				    NULL;

		free(text);
		text = more;
	}
	return text;
}

static int add_row(struct table *t, const json_t *v)
{
	SCOPED_STR users = users_of(v);
	int64_t at = json_count(v, "created_at"), now = time(NULL);
	char size[32] = "?", age[32] = "?";
	const char *cells[] = { json_text(v, "name"), size, age, users };

	if (json_is_integer(json_object_get(v, "bytes")))
		str_format_size(size, sizeof(size),
				(uint64_t)json_count(v, "bytes"));
	if (at > 0)
		str_format_age(age, sizeof(age),
			       now > at ? (uint64_t)(now - at) : 0);
	return users ? table_row(t, cells) : -ENOMEM;
}

static const struct table_col cols[] = {
	{ "NAME", 0 },
	{ "SIZE", TABLE_RIGHT },
	{ "AGE", TABLE_RIGHT },
	{ "USED BY", TABLE_CUT },
};

static const struct named_kind kind = {
	.path = "/v1/volumes",
	.list = "volumes",
	.none = "there are none yet: `ac volume create cache` makes one",
	.cols = cols,
	.n_cols = ARRAY_SIZE(cols),
	.add_row = add_row,
};

int cmd_volume_ls(const struct cli *cli, const struct args *a, struct err *err)
{
	(void)a;
	return named_ls(cli, &kind, err);
}

int cmd_volume_show(const struct cli *cli, const struct args *a,
		    struct err *err)
{
	return named_show(cli, &kind, a->words[0], err);
}

/* ---- rm ---- */

int cmd_volume_rm(const struct cli *cli, const struct args *a, struct err *err)
{
	const char *force = args_has(a, ARG_TAKE) ? "?force=1" : "";
	SCOPED_CLIENT c = NULL;

	return named_rm(cli, &kind, &c, a, force, NULL, NULL, err);
}
