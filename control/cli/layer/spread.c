/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread.c - makes plain changes of directories that were replaced
 *
 * One entry tells of such a directory, and what it hides depends on the user's.
 * Afterwards each change stands for itself: a file, a link or a
 * directory that is there, or a path that is gone.
 */
#include "control/cli/layer/stage.h"

#include <errno.h>
#include <string.h>

#include "control/cli/layer/tree.h"

struct spread {
	struct stage *stage;
	int root;
	int64_t since;
	const struct written *written;
	size_t sorted; /* items that were there before */
};

/* Finds an item of those that were there before the walk. */
static const struct layer_item *find(const struct spread *sp, const char *path)
{
	const struct layer_set before = { .v = sp->stage->set.v,
					  .n = sp->sorted };

	return layer_set_find(&before, path);
}

/* A directory that vanished, or became something else, has nothing in it. */
static int walk(struct spread *sp, const char *path, tree_fn fn)
{
	int rc = tree_walk(sp->root, path, LAYER_ITEMS_MAX, fn, sp);

	return rc == -ENOTDIR || rc == -ELOOP ? 0 : rc;
}

/* Called for what the user has below an opaque directory. */
static int on_hidden(void *arg, const char *path, const struct spot *spot)
{
	struct spread *sp = arg;
	const struct layer_item *it = find(sp, path);

	if (it)
		return it->kind != CHANGE_DIR || spot->kind != SPOT_DIR;
	if (layer_path_is_git(path)) {
		const struct change c = { .kind = CHANGE_GONE,
					  .path = slice_str(path) };

		return stage_add_git(sp->stage, &c) < 0 ? -ENOMEM : 1;
	}
	/* The user has moved it there, with what is in it. */
	if (spot_was_moved(spot, sp->since))
		return 1;
	/* What was made since is the user's, unless an apply has made it. */
	if (spot->born > sp->since && spot->born != 0) {
		if (spot->kind == SPOT_DIR)
			return 0;
		if (!written_has(sp->written, path, spot))
			return 1;
	}
	if (strlen(path) > CHANGES_PATH_MAX)
		return 1;
	return layer_set_add_gone(&sp->stage->set, path) < 0 ? -ENOMEM : 1;
}

static int spread_opaque(struct spread *sp)
{
	struct layer_set *set = &sp->stage->set;
	const char *top = NULL;
	int rc = 0;

	sp->sorted = set->n;
	for (size_t i = 0; rc == 0 && i < sp->sorted; i++) {
		struct layer_item *it = &set->v[i];

		if (top && layer_path_in(it->path, top)) {
			it->opaque = it->kind == CHANGE_DIR;
			continue;
		}
		top = it->kind == CHANGE_DIR && it->opaque ? it->path : NULL;
		if (top)
			rc = walk(sp, top, on_hidden);
	}
	return rc < 0 ? rc : layer_set_sort(set);
}

int stage_spread(struct stage *s, int root, int64_t since,
		 const struct written *written)
{
	struct spread sp = {
		.stage = s, .root = root, .since = since, .written = written
	};

	return spread_opaque(&sp);
}
