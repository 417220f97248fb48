/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c - the files of a plan, or of two, with both sides of each
 */
#include "control/cli/layer/view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

void view_done(struct view *v)
{
	free(v->v);
	arena_done(&v->arena);
	memset(v, 0, sizeof(*v));
}

static int add(struct view *v, const struct view_file *f)
{
	size_t cap = v->cap ? v->cap * 2 : 64;

	if (v->n == v->cap) {
		struct view_file *mem = reallocarray(v->v, cap, sizeof(*mem));

		if (!mem)
			return -ENOMEM;
		v->v = mem;
		v->cap = cap;
	}
	v->v[v->n++] = *f;
	return 0;
}

static struct view_side user_side(const struct spot *spot)
{
	const bool shown = spot->kind == SPOT_FILE || spot->kind == SPOT_LINK;

	return (struct view_side){ .from = shown ? SIDE_USER : SIDE_NONE,
				   .spot = *spot };
}

/* ---- one plan ---- */

struct below {
	struct view *view;
	const struct plan_item *plan;
};

/* Called for what the user has below a directory that goes. */
static int on_below(void *arg, const char *path, const struct spot *spot)
{
	struct below *b = arg;
	struct view_file f = { .plan = b->plan, .old = user_side(spot) };

	if (f.old.from == SIDE_NONE || layer_path_is_git(path))
		return 0;
	if (b->view->n >= 2 * (size_t)LAYER_ITEMS_MAX)
		return -E2BIG;
	f.path = arena_strn(&b->view->arena, path, strlen(path));
	return f.path ? add(b->view, &f) : -ENOMEM;
}

/* Adds the directory of @p, if it is made or deleted, and nothing is in it. @n: how
 * many files the view had before those in it. */
static int add_dir(const struct plan_input *in, const struct plan_item *p,
		   size_t n, struct view *ret)
{
	const struct layer_item *it = p->item, *next = it + 1;
	struct view_file f = { .path = it->path, .plan = p };

	if (it->kind == CHANGE_DIR && p->now.kind != SPOT_DIR &&
	    (next == in->set->v + in->set->n ||
	     !layer_path_in(next->path, it->path)))
		f.is = VIEW_MADE_DIR;
	else if (it->kind == CHANGE_GONE && p->now.kind == SPOT_DIR &&
		 ret->n == n)
		f.is = VIEW_GONE_DIR;
	return f.is == VIEW_FILE ? 0 : add(ret, &f);
}

static int add_item(const struct plan_input *in, const struct plan_item *p,
		    const struct stage *stage, struct view *ret)
{
	struct below below = { .view = ret, .plan = p };
	const struct layer_item *it = p->item;
	struct view_file f = { .path = it->path,
			       .old = user_side(&p->now),
			       .plan = p };
	size_t n = ret->n;
	int rc = 0;

	if (it->kind == CHANGE_FILE || it->kind == CHANGE_LINK)
		f.now = (struct view_side){ .from = SIDE_STAGED,
					    .item = it,
					    .stage = stage };
	if (p->now.kind == SPOT_DIR && it->kind != CHANGE_DIR)
		rc = tree_walk(in->root, it->path, LAYER_ITEMS_MAX, on_below,
			       &below);
	if (rc == 0)
		rc = add_dir(in, p, n, ret);
	if (rc < 0 || (f.old.from == SIDE_NONE && f.now.from == SIDE_NONE))
		return rc;
	return add(ret, &f);
}

static int compare(const void *a, const void *b)
{
	const struct view_file *x = a, *y = b;

	return layer_path_compare(x->path, y->path);
}

int view_make(const struct plan_input *in, const struct plan *plan,
	      const struct stage *stage, struct view *ret)
{
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; rc == 0 && i < plan->n; i++) {
		const struct plan_item *p = &plan->v[i];

		if (p->kind != PLAN_SAME && p->kind != PLAN_LEFT_OUT)
			rc = add_item(in, p, stage, ret);
	}
	if (rc == 0 && ret->n > 1)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare);
	return rc;
}

/* ---- two ---- */

static bool side_same(const struct view_side *a, const struct view_side *b)
{
	if (a->from != b->from)
		return false;
	if (a->from != SIDE_STAGED)
		return true;
	if (a->item->kind != b->item->kind ||
	    (a->item->mode & 0100) != (b->item->mode & 0100))
		return false;
	return a->item->kind == CHANGE_LINK ?
		       strcmp(a->item->target, b->item->target) == 0 :
		       blob_same(&a->item->blob, &b->item->blob);
}

/* Adds @path, which @a, @b (NULL: not) or both have. */
static int join_one(int root, const char *path, const struct view_file *a,
		    const struct view_file *b, struct view *ret)
{
	struct view_file f = { .path = path };
	struct spot spot;
	int rc = tree_look(root, f.path, &spot);

	if (rc < 0)
		return rc;
	f.old = a ? a->now : user_side(&spot);
	f.now = b ? b->now : user_side(&spot);
	return side_same(&f.old, &f.now) ? 0 : add(ret, &f);
}

int view_join(int root, const struct view *a, const struct view *b,
	      struct view *ret)
{
	size_t i = 0, k = 0;
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	while (rc == 0 && (i < a->n || k < b->n)) {
		int order = i == a->n ? 1 :
			    k == b->n ? -1 :
					layer_path_compare(a->v[i].path,
							   b->v[k].path);

		rc = join_one(root, order <= 0 ? a->v[i].path : b->v[k].path,
			      order <= 0 ? &a->v[i] : NULL,
			      order >= 0 ? &b->v[k] : NULL, ret);
		i += order <= 0;
		k += order >= 0;
	}
	return rc;
}

/* ---- texts ---- */

static int staged_text(const struct view_side *side, struct text *ret)
{
	const struct layer_item *it = side->item;
	SCOPED_FD fd = -1;

	if (it->kind == CHANGE_LINK)
		return text_link(it->target, ret);
	/* One that is too large for its lines may not have been kept. */
	if (it->blob.size <= TEXT_MAX)
		fd = stage_file(side->stage->dir, 'n', it->number);
	return fd < 0 && it->blob.size <= TEXT_MAX ?
		       fd :
		       text_read(fd, it->blob.size, (it->mode & 0100) != 0,
				 ret);
}

int view_text(int root, const char *path, const struct view_side *side,
	      struct text *ret)
{
	SCOPED_STR target = NULL;
	SCOPED_FD fd = -1;
	struct stat st;
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (side->from == SIDE_NONE)
		return 0;
	if (side->from == SIDE_STAGED)
		return staged_text(side, ret);
	if (side->spot.kind == SPOT_LINK) {
		rc = tree_link(root, path, &target);
		return rc < 0 ? rc : text_link(target, ret);
	}
	fd = tree_open_file(root, path);
	/* The user may change it at any time: what it is now counts. */
	if (fd < 0 || fstat(fd, &st) < 0)
		return fd < 0 ? fd : -errno;
	return text_read(fd, (uint64_t)st.st_size, (st.st_mode & 0100) != 0,
			 ret);
}

uint64_t view_size(const struct view_side *side)
{
	if (side->from == SIDE_USER)
		return side->spot.size;
	if (side->from == SIDE_NONE)
		return 0;
	return side->item->kind == CHANGE_LINK ? strlen(side->item->target) :
						 side->item->blob.size;
}
