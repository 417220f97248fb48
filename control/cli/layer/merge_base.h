/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_base.h - asks git for the common ancestor of a user's file and an agent's
 */
#ifndef CONTROL_CLI_LAYER_MERGE_BASE_H
#define CONTROL_CLI_LAYER_MERGE_BASE_H

#include "control/cli/core/git_run.h"
#include "control/cli/layer/base.h"
#include "control/cli/layer/plan.h"

#define MERGE_BATCH 100u /* files that one call of git is asked for */

/* A conflict that may be merged. */
struct merge_one {
	struct plan_item *plan; /* borrowed */
	const struct written_file *was; /* brought before; NULL: nothing was */
	char oid[BASE_OID_MAX + 1]; /* of the base in git; "": it has none */
	bool runs; /* the base can be executed */
	bool odd; /* git has the file in another form than the disk */
};

/*
 * Sets what git knows of the @n files @v, at most MERGE_BATCH, in the user's
 * directory @root: in the commit of @base, or in the one that is checked out, if
 * something was brought since. Returns 0; -EINTR; or another negative errno: then
 * none has a base.
 */
int merge_base_find(int root, const struct base *base, struct merge_one *v,
		    size_t n) ATTR_WUR;
/* Reads the base of @one, as git has it, which may have any bytes. Returns as
 * git_run() does, -ENOENT if git does not have it; the caller frees said->out. */
int merge_base_read(int root, const struct merge_one *one, size_t max,
		    struct git_said *said) ATTR_WUR;

#endif
