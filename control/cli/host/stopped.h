/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stopped.h - answers while ac-host does not run: from the store, the logs and
 * the directories in $AC_HOME, which are only read
 *
 * A command that only shows something starts nothing: a start takes seconds and
 * would hide that the host was stopped. Calls return 0 or a negative errno with
 * @err.
 */
#ifndef CONTROL_CLI_HOST_STOPPED_H
#define CONTROL_CLI_HOST_STOPPED_H

#include <jansson.h>
#include <stdint.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

/* Makes a client of a running acd, of any build that speaks our API (the caller
 * frees it). If none runs, sets *ret to NULL and tells the user. */
int stopped_look(const struct cli *cli, struct client **ret, struct err *err);

/* The same without telling the user. */
int stopped_client(const struct cli *cli, struct client **ret, struct err *err);

/* Tells the user, once, that ac-host is stopped and where the answer comes
 * from. */
void stopped_say(const struct cli *cli);
/* The same, in one line, of one that left nothing; @what says so: "has left no
 * log of 'host'". */
void stopped_say_none(const struct cli *cli, const char *what);

/* Sets *ret, a new reference, to the answer of GET /v1/instances, each with
 * "host": "stopped" (store_read.h). */
int stopped_instances(const struct cli *cli, json_t **ret, struct err *err);
/* The same for one of them. Fails with -ENOENT. */
int stopped_instance(const struct cli *cli, const char *name, json_t **ret,
		     struct err *err);
/* For host_client_after(): returns -ENOENT if a word is no instance, -EINVAL if
 * it cannot be its name. Returns 0 also if the store cannot be read: acd will
 * report it. */
int stopped_check(const struct cli *cli, const struct args *a, struct err *err);
/* The same for the words of `ac run`: refuses what acd would refuse, before
 * anything is built and started for it. */
int stopped_check_run(const struct cli *cli, const struct args *a,
		      struct err *err);
/* Lists blueprints by the names of their folders; image and ready are null. */
int stopped_blueprints(const struct cli *cli, json_t **ret, struct err *err);
/* The answer of GET /v1/df, with "host": "stopped". What the engine knows is
 * null. */
int stopped_df(const struct cli *cli, json_t **ret, struct err *err);

#define STOPPED_LOG_ALL UINT64_MAX
/* Passes the last @lines lines of the last run's terminal output, or all that
 * is kept, to @fn. Fails with -ENOENT if there is no instance @name. */
int stopped_log(const struct cli *cli, const char *name, uint64_t lines,
		client_data_fn fn, void *arg, struct err *err);

#endif
