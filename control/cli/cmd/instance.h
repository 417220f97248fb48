/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance.h - commands about recorded instances and blueprints
 */
#ifndef CONTROL_CLI_CMD_INSTANCE_H
#define CONTROL_CLI_CMD_INSTANCE_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

/* Commands; see struct command in control/cli/commands.h. */
int cmd_ls(const struct cli *cli, const struct args *a, struct err *err);
int cmd_list(const struct cli *cli, const struct args *a, struct err *err);
int cmd_blueprint_ls(const struct cli *cli, const struct args *a,
		     struct err *err);
int cmd_inspect(const struct cli *cli, const struct args *a, struct err *err);
int cmd_stop_instance(const struct cli *cli, const struct args *a,
		      struct err *err);
int cmd_clean(const struct cli *cli, const struct args *a, struct err *err);
int cmd_destroy(const struct cli *cli, const struct args *a, struct err *err);
int cmd_clean_all(const struct cli *cli, const struct args *a, struct err *err);
int cmd_destroy_all(const struct cli *cli, const struct args *a,
		    struct err *err);

/* Calls "/v1/instances/<name><rest>" by client_call(), where @word is the
 * instance as the user wrote it. Returns as client_call(), or -EINVAL for a bad
 * name. */
int instance_call(struct client *c, const char *method, const char *word,
		  const char *rest, const json_t *body, json_t **ret,
		  struct err *err);

/* Returns what to tell the user about an instance. @is is its record after the
 * call; @was the one before it, only for "/resume", else NULL. */
typedef const char *(*instance_said_fn)(const json_t *was, const json_t *is);

/* Posts to @rest for each word of @a and says "<name> <result of @said>"; a
 * failure does not stop the others. Returns the first failure, or 0. @err has
 * the last one; earlier ones were printed. */
int instance_post_each(const struct cli *cli, struct client *c,
		       const struct args *a, const char *rest,
		       const json_t *body, instance_said_fn said,
		       struct err *err);

/* Deletes an instance and says so; a running one only with @force. Returns 0,
 * or a negative errno with @err. */
int instance_delete(const struct cli *cli, struct client *c, const char *name,
		    bool force, struct err *err);

/* Prints the table of `ac ls`. Returns 0, or a negative errno with @err. */
int instance_print_list(const struct cli *cli, const json_t *list,
			struct err *err);

/* Returns true if the instance of record @rec is running or paused. */
bool instance_runs(const json_t *rec);

/* Returns true if it is running, paused or starting. One that is stopping is
 * over for the user; acd waits for the rest. */
bool record_is_live(const json_t *rec);

/* Gets the list @what ("instances", "blueprints") from acd; the caller owns
 * *ret. Returns 0, or a negative errno with @err. */
int instance_get_list(struct client *c, const char *what, json_t **ret,
		      struct err *err);

/* Prints "<name> @what" for each instance of @list that is live. */
void instance_tell_live(const struct cli *cli, const json_t *list,
			const char *what);

/* Returns the end of a question: what is deleted with the instances of @list,
 * live ones only if @live. Never a directory given with --workspace. Static. */
const char *instance_fate(const json_t *list, bool live);

/* Returns how many instances of @list are live (or not, if @live is false).
 * Writes their names to @ret, with ", ..." if not all fit; @size is at least
 * 16. */
size_t instance_names(const json_t *list, bool live, char *ret, size_t size);

#endif
