/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named.c - ls, show and rm of what acd keeps by name
 */
#include "control/cli/cmd/named.h"

#include "control/cli/host/host.h"
#include "control/shared/json.h"
#include "lib/str.h"

int named_ls(const struct cli *cli, const struct named_kind *k, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON all = NULL;
	const json_t *list;
	int rc = host_client(cli, false, &c, err);

	if (rc == 0)
		rc = client_call(c, "GET", k->path, NULL, &all, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(all, false, err);
	list = json_object_get(all, k->list);
	rc = table_print_list(cli, k->cols, k->n_cols, list, k->add_row, err);
	if (rc == 0 && json_array_size(list) == 0)
		say_info(cli, "%s", k->none);
	return rc;
}

static char *path_of(const struct named_kind *k, const char *name,
		     const char *query)
{
	SCOPED_STR prefix = str_printf("%s/", k->path);

	return prefix ? client_path(prefix, name, query) : NULL;
}

int named_show(const struct cli *cli, const struct named_kind *k,
	       const char *name, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON v = NULL;
	SCOPED_JSON list = NULL;
	SCOPED_STR path = path_of(k, name, "");
	int rc = path ? host_client(cli, false, &c, err) : err_nomem(err);

	if (rc == 0)
		rc = client_call(c, "GET", path, NULL, &v, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(v, false, err);
	list = json_pack("[O]", v);
	return list ? table_print_list(cli, k->cols, k->n_cols, list,
				       k->add_row, err) :
		      err_nomem(err);
}

int named_rm(const struct cli *cli, const struct named_kind *k,
	     struct client **ret_c, const struct args *a, const char *query,
	     void (*before)(void *arg, struct client *c, const char *path),
	     void *arg, struct err *err)
{
	SCOPED_JSON gone = json_pack("{s:[]}", "removed");
	struct err ignored = { 0 };
	int rc = gone ? host_client(cli, true, ret_c, err) : err_nomem(err);

	for (size_t i = 0; rc == 0 && i < a->n_words; i++) {
		SCOPED_STR path = path_of(k, a->words[i], query);

		if (path && before)
			before(arg, *ret_c, path);
		rc = path ? client_call(*ret_c, "DELETE", path, NULL, NULL,
					err) :
			    err_nomem(err);
		if (rc < 0)
			break;
		if (!cli->json)
			say_info(cli, "%s: removed", a->words[i]);
		json_array_append_new(json_object_get(gone, "removed"),
				      jsonx_text(a->words[i]));
	}
	if (!cli->json || !gone)
		return rc;
	return rc == 0 ? cli_print_json(gone, false, err) :
			 (cli_print_json(gone, false, &ignored), rc);
}
