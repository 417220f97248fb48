/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread.c - makes plain changes of directories that were moved or replaced
 *
 * Both are told by one entry, and what they mean depends on the user's
 * directory. Afterwards each change stands for itself: a file, a link or a
 * directory that is there, or a path that is gone.
 */
#include "control/cli/layer/stage.h"

#include <errno.h>
#include <string.h>

#include "control/cli/layer/tree.h"
#include "lib/str.h"

struct spread {
	struct stage *stage;
	int root;
	int64_t since;
	const struct written *written;
	size_t sorted; /* items that were there before */
	const char *from, *to; /* of the directory that was moved */
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

/* ---- moved directories ---- */

static int copy_file(struct spread *sp, const char *from, uint64_t size,
		     struct layer_item *it)
{
	SCOPED_FD in = tree_open_file(sp->root, from);
	SCOPED_FD out = -1;

	if (in < 0)
		return in;
	if (sp->stage->most > 0 && size > sp->stage->most)
		return blob_copy(in, -1, &it->blob);
	out = stage_new_file(sp->stage, 'n', &it->number);
	return out < 0 ? out : blob_copy(in, out, &it->blob);
}

static int copy_entry(struct spread *sp, const char *from, const char *to,
		      const struct spot *spot)
{
	SCOPED_STR target = NULL;
	struct change c = { .path = slice_str(to), .mode = spot->mode };
	struct layer_item *it;
	int rc = 0;

	if (spot->kind == SPOT_LINK)
		rc = tree_link(sp->root, from, &target);
	if (rc < 0)
		return rc;
	c.kind = spot->kind == SPOT_FILE ? CHANGE_FILE :
		 spot->kind == SPOT_DIR  ? CHANGE_DIR :
					   CHANGE_LINK;
	c.target = slice_str(target);
	it = layer_set_add(&sp->stage->set, &c, &rc);
	if (!it || spot->kind != SPOT_FILE)
		return rc;
	return copy_file(sp, from, spot->size, it);
}

/* Called for what the user has below the directory's former path. */
static int on_moved(void *arg, const char *path, const struct spot *spot)
{
	struct spread *sp = arg;
	SCOPED_STR to = str_printf("%s%s", sp->to, path + strlen(sp->from));
	const struct layer_item *it;

	if (!to)
		return -ENOMEM;
	if (strlen(to) > CHANGES_PATH_MAX || layer_path_is_git(to))
		return 1;
	it = find(sp, to);
	if (it)
		return it->kind != CHANGE_DIR || it->opaque || it->from;
	if (spot->kind == SPOT_OTHER)
		return 0;
	return copy_entry(sp, path, to, spot);
}

/* Makes a plain directory of the moved one @i, whose files are items now. */
static void plain(struct spread *sp, size_t i, bool there)
{
	struct layer_item *v = sp->stage->set.v;

	v[i].from = NULL;
	/* If the user has nothing at its former path any more, an apply has moved
	 * it: then what is at the new one was not hidden, but is the same. */
	v[i].opaque = there;
}

static int spread_moved(struct spread *sp)
{
	struct layer_set *set = &sp->stage->set;
	int rc = 0;

	sp->sorted = set->n;
	for (size_t i = 0; rc == 0 && i < sp->sorted; i++) {
		struct spot spot;

		sp->from = set->v[i].from;
		sp->to = set->v[i].path;
		if (!sp->from)
			continue;
		rc = tree_look(sp->root, sp->from, &spot);
		if (rc == 0 && !layer_path_is_git(sp->from))
			rc = walk(sp, sp->from, on_moved);
		if (rc == 0)
			plain(sp, i, spot.kind == SPOT_DIR);
	}
	return rc < 0 ? rc : layer_set_sort(set);
}

/* ---- opaque directories ---- */

/* Called for what the user has below an opaque directory. */
static int on_hidden(void *arg, const char *path, const struct spot *spot)
{
	struct spread *sp = arg;
	const struct layer_item *it = find(sp, path);

	if (it)
		return it->kind != CHANGE_DIR || spot->kind != SPOT_DIR;
	if (layer_path_is_git(path)) {
		sp->stage->set.git++;
		return 1;
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
	int rc = spread_moved(&sp);

	return rc < 0 ? rc : spread_opaque(&sp);
}
