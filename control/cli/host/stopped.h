/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stopped.h - what can be told while ac-host does not run: from the store, the
 * logs and the directories in $AC_HOME, which are only read
 *
 * A command that only looks starts nothing: a start takes seconds, and it would
 * hide that the host was stopped.
 */
#ifndef CONTROL_CLI_HOST_STOPPED_H
#define CONTROL_CLI_HOST_STOPPED_H

#include <jansson.h>
#include <stdint.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

/* A client of acd as it runs, of whatever build that speaks our API. If it does
 * not run, *ret is NULL, and that is said. */
int stopped_look(const struct cli *cli, struct client **ret, struct err *err);

/* Says, once, that ac-host is stopped and where the answer comes from. */
void stopped_say(const struct cli *cli);

/* As GET /v1/instances has them, each with "host": "stopped" (store_read.h). */
int stopped_instances(const struct cli *cli, json_t **ret, struct err *err);
/* One of them. -ENOENT. */
int stopped_instance(const struct cli *cli, const char *name, json_t **ret,
		     struct err *err);
/* For host_client_after(): refuses (-ENOENT) a word that names no instance. 0
 * also where the store cannot be read: then acd tells why. */
int stopped_check(const struct cli *cli, const struct args *a, struct err *err);
/* Blueprints by the names of their folders; image and ready are null. */
int stopped_blueprints(const struct cli *cli, json_t **ret, struct err *err);
/* As GET /v1/df has it, with "host": "stopped". What the engine knows is null. */
int stopped_df(const struct cli *cli, json_t **ret, struct err *err);

#define STOPPED_LOG_ALL UINT64_MAX
/* Hands over the last @lines lines of what the last run of instance @name wrote
 * to its terminal, or all that is kept. -ENOENT: there is no such instance. */
int stopped_log(const struct cli *cli, const char *name, uint64_t lines,
		client_data_fn fn, void *arg, struct err *err);

#endif
