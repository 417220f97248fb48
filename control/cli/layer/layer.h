/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.h - an instance's workspace, its changes, and the plan for them
 */
#ifndef CONTROL_CLI_LAYER_LAYER_H
#define CONTROL_CLI_LAYER_LAYER_H

#include "control/cli/host/workspace.h"
#include "control/cli/layer/plan.h"
#include "control/cli/layer/stage.h"
#include "control/cli/wire/client.h"
#include "lib/str.h"

struct layer {
	char name[AC_NAME_MAX + 1]; /* of the instance */
	struct workspace ws;
	struct layer_key key;
	bool elsewhere; /* the directory is another one than the layer's */
	struct stage stage;
	struct written written;
	struct plan_input input;
	struct plan plan;
	const char *gone_above; /* a directory above a path that was asked for,
				 * if it was deleted as a whole */
	struct strv missing; /* paths that were asked for and are nowhere */
};

#define LAYER_NONE                                        \
	{                                                 \
		.ws = WORKSPACE_NONE, .stage = STAGE_NONE \
	}

void layer_done(struct layer *l); /* accepts LAYER_NONE */
#define SCOPED_LAYER ATTR_CLEANUP(layer_done) struct layer

/*
 * Gets the record of the instance @word, checks that its workspace is a copy, and
 * opens the user's directory, which may be another one than the layer's: see
 * layer_elsewhere(). Returns 0; -ENOTSUP for another kind of workspace; another
 * negative errno, each with @err. The caller calls layer_done() in any case.
 */
int layer_open(const struct cli *cli, struct client *c, const char *word,
	       struct layer *ret, struct err *err);
/* Says in @err that the directory is another one. Returns -ESTALE. */
int layer_elsewhere(const struct layer *l, struct err *err);
/* Returns 1 if the user's directory is the one of @key, 0 if not, or a negative
 * errno. After a reboot a device may have another number: then the inode decides, if
 * the directory is older than the layer. */
int layer_is_over(const struct layer *l, const struct layer_key *key);
/* Makes the private directory, and reads what earlier applies have written. Returns
 * 0 or a negative errno with @err. */
int layer_stage(const struct cli *cli, struct layer *l, struct err *err);
/* Receives the changes into it and compares them; with @only, those of these paths
 * (layer_paths()). @theirs decides conflicts. As above. */
int layer_fetch(struct client *c, struct layer *l, const struct strv *only,
		bool theirs, struct err *err);

/* Fails with -ENOENT if one of those paths is nowhere: neither among the changes, nor
 * in the user's directory, nor in its commit. With @other (may be NULL), if that has
 * it not either. Returns 0 or a negative errno with @err. */
int layer_check_paths(const struct layer *l, const struct layer *other,
		      struct err *err);

/* Merges what both have changed and can be merged (merge.h). As above. */
int layer_merge(struct layer *l, struct err *err);

/* Appends the paths that the user named, relative to the workspace @top: a
 * relative one begins at @cwd, if that is in the workspace, else at the workspace
 * itself. The workspace as a whole appends nothing, and empties @ret: *ret_all is
 * true then. Returns 0, or -EINVAL with @err for one that is outside. Has no side
 * effects. */
int layer_paths(const char *top, const char *cwd, const char *const *words,
		size_t n, struct strv *ret, bool *ret_all, struct err *err);

#endif
