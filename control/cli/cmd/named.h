/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named.h - ls, show and rm of what acd keeps by name: services, volumes
 */
#ifndef CONTROL_CLI_CMD_NAMED_H
#define CONTROL_CLI_CMD_NAMED_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/core/table.h"
#include "control/cli/wire/client.h"

struct named_kind {
	const char *path; /* of the API: "/v1/volumes" */
	const char *list; /* the member of its answer with all of them */
	const char *none; /* what to say when there are none */
	const struct table_col *cols;
	size_t n_cols;
	table_add_fn add_row;
};

/* Lists all of them. Returns 0 or a negative errno with @err. */
int named_ls(const struct cli *cli, const struct named_kind *k,
	     struct err *err);
/* Shows the one of that name. */
int named_show(const struct cli *cli, const struct named_kind *k,
	       const char *name, struct err *err);
/* Removes each word of @a by the client *ret_c, which it makes and the caller frees,
 * until one cannot be; what was removed is said in any
 * case. @query is added to each path. @before, unless NULL, is called with the
 * path of each before it goes. */
int named_rm(const struct cli *cli, const struct named_kind *k,
	     struct client **ret_c, const struct args *a, const char *query,
	     void (*before)(void *arg, struct client *c, const char *path),
	     void *arg, struct err *err);

#endif
