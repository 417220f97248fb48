/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance.h - commands about instances and blueprints as they are
 * recorded
 */
#ifndef CONTROL_CLI_CMD_INSTANCE_H
#define CONTROL_CLI_CMD_INSTANCE_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

int cmd_ls(const struct cli *cli, const struct args *a, struct err *err);
int cmd_list(const struct cli *cli, const struct args *a, struct err *err);
int cmd_inspect(const struct cli *cli, const struct args *a, struct err *err);
int cmd_stop_instance(const struct cli *cli, const struct args *a,
		      struct err *err);
int cmd_clean(const struct cli *cli, const struct args *a, struct err *err);
int cmd_destroy(const struct cli *cli, const struct args *a, struct err *err);
int cmd_clean_all(const struct cli *cli, const struct args *a, struct err *err);
int cmd_destroy_all(const struct cli *cli, const struct args *a,
		    struct err *err);

/* client_call() for "/v1/instances/<name><rest>", the name as the user wrote
 * it in @word. */
int instance_call(struct client *c, const char *method, const char *word,
		  const char *rest, const json_t *body, json_t **ret,
		  struct err *err);

/* What is said of an instance, by its record after the call and, of "/resume",
 * before it; NULL: there is none. */
typedef const char *(*instance_said_fn)(const json_t *was, const json_t *is);

/* The same for each of the words, whatever becomes of the others; says "<name>
 * <what @said returns>" of each. The first failure is returned, @err has the
 * last: those before it have been told. */
int instance_post_each(const struct cli *cli, struct client *c,
		       const struct args *a, const char *rest,
		       const json_t *body, instance_said_fn said,
		       struct err *err);

/* Deletes one, which runs only with @force, and says so. */
int instance_delete(const struct cli *cli, struct client *c, const char *name,
		    bool force, struct err *err);

/* The table of `ac ls`. */
int instance_print_list(const struct cli *cli, const json_t *list,
			struct err *err);

/* A record of acd: it has a process, which may be frozen. Pure. */
bool instance_runs(const json_t *rec);

/* The same, and what is starting. What is stopping has ended for the user; acd
 * waits for the rest of it. Pure. */
bool record_is_live(const json_t *rec);

/* The list @what ("instances", "blueprints") of acd. */
int instance_get_list(struct client *c, const char *what, json_t **ret,
		      struct err *err);

/* Says of each of @list that is live that it @what. */
void instance_tell_live(const struct cli *cli, const json_t *list,
			const char *what);

/* What is deleted with those of @list, live ones only where @live: never a
 * directory that was given with --workspace. The end of a question. Pure. */
const char *instance_fate(const json_t *list, bool live);

/* How many of @list are live, or are not; their names, as far as they fit and
 * then "...", in @ret of @size bytes, 16 at least. Pure. */
size_t instance_names(const json_t *list, bool live, char *ret, size_t size);

#endif
