/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - snapshot, snapshots, restore, fork
 */
#ifndef CONTROL_CLI_CMD_SNAPSHOT_SNAPSHOT_H
#define CONTROL_CLI_CMD_SNAPSHOT_SNAPSHOT_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"
#include "control/shared/paths.h"

/* Commands; see struct command in control/cli/commands.h. */
int cmd_snapshot(const struct cli *cli, const struct args *a, struct err *err);
int cmd_snapshots(const struct cli *cli, const struct args *a, struct err *err);
int cmd_restore(const struct cli *cli, const struct args *a, struct err *err);
int cmd_fork(const struct cli *cli, const struct args *a, struct err *err);

/* What NAME[:TAG] means. */
struct snapshot_word {
	char name[AC_NAME_MAX + 1];
	const char *tag; /* in the word; NULL: none */
};

/* Splits @word. Returns 0, or -EINVAL for a bad name or an empty tag; what a tag
 * may be is acd's to say. */
int snapshot_word_parse(const char *word, struct snapshot_word *ret,
			struct err *err);
/* Returns the body that asks for @tag (NULL: none) and for what @a says of the
 * memory, a new reference; NULL without memory. */
json_t *snapshot_body(const struct args *a, const char *tag);
/* Lets @name go on from the memory that a fork or a restore has given to it. Sets
 * *ret to its record, a new reference. */
int snapshot_go_on(const struct cli *cli, struct client *c, const char *name,
		   json_t **ret, struct err *err);
/* Makes a call of acd about the instance @name, and shows @what while it takes
 * longer than a second. Ends what cli_on_interrupt() was told. Returns as
 * client_call(). */
int snapshot_call(const struct cli *cli, struct client *c, const char *method,
		  const char *name, const char *rest, const json_t *body,
		  const char *what, json_t **ret, struct err *err);

#endif
