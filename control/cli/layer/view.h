/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - the files of a plan, or of two, with both sides of each
 *
 * A deleted directory is all the files in it here. One that is empty stands for
 * itself.
 */
#ifndef CONTROL_CLI_LAYER_VIEW_H
#define CONTROL_CLI_LAYER_VIEW_H

#include "control/cli/layer/plan.h"
#include "control/cli/layer/stage.h"
#include "control/cli/layer/unified.h"

/* What a path is on one side. */
struct view_side {
	enum { SIDE_NONE, SIDE_USER, SIDE_STAGED } from;
	struct spot spot; /* of the user's */
	const struct layer_item *item; /* of the agent's */
	const struct stage *stage;
};

struct view_file {
	const char *path; /* owned by the view, or by a set */
	struct view_side old, now;
	const struct plan_item *plan; /* that it comes from; NULL: of two */
	/* It is an empty directory, which the agent has made, or deleted. */
	enum { VIEW_FILE, VIEW_MADE_DIR, VIEW_GONE_DIR } is;
};

struct view { /* zeroed: empty */
	struct view_file *v; /* in the order of paths */
	size_t n, cap;
	struct arena arena;
};

void view_done(struct view *v); /* accepts zeroed */
#define SCOPED_VIEW ATTR_CLEANUP(view_done) struct view

/* Lists the files that @plan changes, the user's being the old ones. Borrows from
 * @plan and @stage. Returns 0 or a negative errno; the caller calls view_done() in
 * any case. */
int view_make(const struct plan_input *in, const struct plan *plan,
	      const struct stage *stage, struct view *ret) ATTR_WUR;
/* Lists the files that differ between two such views of one directory: @a has the
 * old ones, @b the new ones; what only one of them has is as the user has it in the
 * other. Borrows from both. As above. */
int view_join(int root, const struct view *a, const struct view *b,
	      struct view *ret) ATTR_WUR;

/* Reads one side. A file that was changed meanwhile is -EAGAIN. Returns 0 or
 * another negative errno; the caller calls text_done() in any case. */
int view_text(int root, const char *path, const struct view_side *side,
	      struct text *ret) ATTR_WUR;
/* Returns the size of a side in bytes. */
uint64_t view_size(const struct view_side *side);

#endif
