/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - compares changes with the user's directory as it is now
 *
 * Theory of operation: a file of the user's that was changed after the sandbox
 * began with the layer is never replaced. It is told by its ctime, which no
 * program can set, and which `ac apply` moves, too: written.h has the files that it
 * wrote. A directory that was moved is told by its ctime, too. A change whose result
 * is there already is no change, and neither is one that an earlier apply has brought
 * as it is now: what the user has made of it since then is a decision. merge.h may
 * decide some conflicts.
 *
 * Items come in the order of paths, so what becomes of a directory is decided
 * before what is below it.
 */
#include "control/cli/layer/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "control/cli/layer/risky.h"

/* Clocks of files are coarse: up to a tick behind. */
#define SLACK_NS INT64_C(10000000)

struct planner {
	const struct plan_input *in;
	/* The last directory of the sandbox where the user has something else,
	 * and whether it is replaced. NULL: none. */
	const char *other;
	bool replaced;
};

bool plan_is_conflict(const struct plan_item *p)
{
	return p->why != PLAN_FREE && !p->theirs && !p->merged;
}

bool plan_applies(const struct plan_item *p)
{
	return !plan_is_conflict(p) && p->kind != PLAN_SAME &&
	       p->kind != PLAN_LEFT_OUT;
}

int plan_merge(struct plan *plan, struct plan_item *p,
	       const struct plan_merged *merged)
{
	p->merged = malloc(sizeof(*p->merged));
	if (!p->merged)
		return -ENOMEM;
	*p->merged = *merged;
	plan->conflicts--;
	plan->count[p->kind]++;
	plan->merged += !merged->marked;
	plan->marked += merged->marked;
	return 0;
}

/* Looks at the directories in @dir and those above, which it cuts off. */
static bool any_was_moved(const struct plan_input *in, char *dir)
{
	for (;;) {
		struct spot spot;
		char *slash = strrchr(dir, '/');

		if (tree_look(in->root, dir, &spot) < 0 ||
		    spot_was_moved(&spot, in->key.since - SLACK_NS))
			return true;
		if (!slash)
			return false;
		*slash = '\0';
	}
}

/* Returns true if the user has moved a directory above @path: what is below it may
 * be old, and yet not what the sandbox saw. */
static bool above_was_moved(const struct plan_input *in, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	char dir[PATH_MAX];
	bool moved;

	if (len == 0 || len >= sizeof(dir))
		return false;
	memcpy(dir, path, len);
	dir[len] = '\0';
	if (in->above && strcmp(in->above->dir, dir) == 0)
		return in->above->moved;
	if (in->above)
		memcpy(in->above->dir, dir, len + 1);
	moved = any_was_moved(in, dir);
	if (in->above)
		in->above->moved = moved;
	return moved;
}

bool plan_touched(const struct plan_input *in, const char *path,
		  const struct spot *spot)
{
	return (spot->ctime > in->key.since - SLACK_NS ||
		above_was_moved(in, path)) &&
	       !written_has(in->written, path, spot);
}

/* ---- what is the same ---- */

static bool runs(uint16_t mode)
{
	return (mode & 0100) != 0;
}

/* Returns 1 if the user's file has the same content; 0; a negative errno. A file
 * that cannot be read is another one. */
static int same_content(const struct plan_input *in,
			const struct layer_item *it, const struct spot *now)
{
	SCOPED_FD fd = -1;
	struct blob_id id;
	int rc;

	if (now->size != it->blob.size)
		return 0;
	fd = tree_open_file(in->root, it->path);
	if (fd < 0)
		return 0;
	rc = blob_copy(fd, -1, &id);
	return rc < 0 ? rc : blob_same(&id, &it->blob);
}

static int same_target(const struct plan_input *in, const struct layer_item *it)
{
	SCOPED_STR target = NULL;
	int rc = tree_link(in->root, it->path, &target);

	if (rc == -ENOMEM)
		return rc;
	return rc == 0 && target && strcmp(target, it->target) == 0;
}

/* ---- whole directories ---- */

struct inside {
	const struct plan_input *in;
	enum plan_why why;
};

static int on_inside(void *arg, const char *path, const struct spot *spot)
{
	struct inside *is = arg;

	if (layer_path_is_git(path))
		is->why = PLAN_GIT;
	else if (spot->kind == SPOT_OTHER && is->why < PLAN_SPECIAL)
		is->why = PLAN_SPECIAL;
	else if (is->why == PLAN_FREE &&
		 (spot->kind == SPOT_DIR ?
			  spot_was_moved(spot, is->in->key.since - SLACK_NS) :
			  plan_touched(is->in, path, spot)))
		is->why = PLAN_INSIDE;
	return 0;
}

/* Sets *ret to whether the user's directory @path, which is @now, may be deleted
 * with all below it. */
static int judge_inside(const struct plan_input *in, const char *path,
			const struct spot *now, enum plan_why *ret)
{
	struct inside is = { .in = in, .why = PLAN_FREE };
	int rc;

	if (spot_was_moved(now, in->key.since - SLACK_NS) ||
	    above_was_moved(in, path))
		is.why = PLAN_INSIDE;
	rc = tree_walk(in->root, path, LAYER_ITEMS_MAX, on_inside, &is);

	*ret = is.why;
	return rc;
}

/* ---- one change ---- */

/* Sets whether what the user has there may be replaced or deleted. */
static int judge_now(const struct plan_input *in, struct plan_item *p)
{
	const char *path = p->item->path;

	if (p->now.kind == SPOT_DIR)
		return judge_inside(in, path, &p->now, &p->why);
	if (p->now.kind == SPOT_OTHER)
		p->why = PLAN_SPECIAL;
	else if (plan_touched(in, path, &p->now))
		p->why = PLAN_EDITED;
	return 0;
}

static int plan_gone(const struct plan_input *in, struct plan_item *p)
{
	if (p->now.kind == SPOT_NONE || p->now.kind == SPOT_BLOCKED)
		return 0; /* it is gone from there in any case */
	p->kind = PLAN_DELETED;
	return judge_now(in, p);
}

/* Has an earlier apply brought something that is below the directory @p? Then that
 * was there, and the user has deleted it since: it is made again only for what is
 * new in it. */
static bool was_there(const struct plan_input *in, const struct plan_item *p)
{
	const struct layer_item *it = p->item, *end = in->set->v + in->set->n;

	while (++it < end && layer_path_in(it->path, p->item->path))
		if (written_brought(in->written, it))
			return true;
	return false;
}

static int plan_dir(const struct plan_input *in, struct plan_item *p)
{
	if (p->now.kind == SPOT_DIR)
		return 0;
	if (p->now.kind == SPOT_NONE) {
		p->kind = was_there(in, p) ? PLAN_SAME : PLAN_NEW;
		return 0;
	}
	p->kind = PLAN_TYPE;
	return judge_now(in, p);
}

/* A file or a link. */
static int plan_leaf(const struct plan_input *in, struct plan_item *p)
{
	const struct layer_item *it = p->item;
	bool file = it->kind == CHANGE_FILE;
	int same = 0;

	if (p->now.kind == SPOT_NONE) {
		p->kind = PLAN_NEW;
		return 0;
	}
	if (p->now.kind == (file ? SPOT_FILE : SPOT_LINK)) {
		same = file ? same_content(in, it, &p->now) :
			      same_target(in, it);
		if (same < 0)
			return same;
		if (same && (!file || runs(it->mode) == runs(p->now.mode)))
			return 0;
		p->kind = PLAN_CHANGED;
	} else {
		p->kind = PLAN_TYPE;
	}
	return judge_now(in, p);
}

static const char *risky_of(const struct plan_item *p)
{
	const struct layer_item *it = p->item;
	const char *what = NULL;

	if (p->kind == PLAN_DELETED || p->kind == PLAN_SAME ||
	    p->kind == PLAN_LEFT_OUT)
		return NULL;
	if (it->kind == CHANGE_LINK)
		return risky_link(it->path, it->target);
	if (it->kind != CHANGE_FILE)
		return NULL;
	what = risky_file(it->path);
	if (!what && runs(it->mode))
		what = p->now.kind == SPOT_FILE && runs(p->now.mode) ?
			       "you, or programs: it can be executed" :
			       "you, or programs: it can be executed now";
	return what;
}

/* Looks at what the user has, or will have when the directories above are as the
 * sandbox has them. */
static int look(struct planner *pl, struct plan_item *p)
{
	const char *path = p->item->path;

	if (pl->other && !layer_path_in(path, pl->other))
		pl->other = NULL;
	if (!pl->other)
		return tree_look(pl->in->root, path, &p->now);
	p->now = (struct spot){ .kind = pl->replaced ? SPOT_NONE :
						       SPOT_BLOCKED };
	return 0;
}

static int plan_one(struct planner *pl, struct plan_item *p)
{
	const struct layer_item *it = p->item;
	int rc = look(pl, p);

	if (rc < 0)
		return rc;
	if (it->kind == CHANGE_OTHER) {
		p->kind = PLAN_LEFT_OUT;
	} else if (written_brought(pl->in->written, it)) {
		p->kind = PLAN_SAME;
	} else if (it->kind == CHANGE_GONE) {
		rc = plan_gone(pl->in, p);
	} else if (p->now.kind == SPOT_BLOCKED) {
		p->kind = PLAN_NEW;
		p->why = PLAN_WAY;
	} else if (it->kind == CHANGE_DIR) {
		rc = plan_dir(pl->in, p);
	} else {
		rc = plan_leaf(pl->in, p);
		if (it->torn && p->kind != PLAN_SAME)
			p->why = PLAN_TORN;
	}
	p->theirs = pl->in->theirs && p->why != PLAN_FREE && p->why < PLAN_TORN;
	p->risky = risky_of(p);
	if (it->kind == CHANGE_DIR && p->kind == PLAN_TYPE) {
		pl->other = it->path;
		pl->replaced = plan_applies(p);
	}
	return rc;
}

static void count(struct plan *plan, const struct plan_item *p)
{
	plan->risky += p->risky != NULL;
	if (plan_is_conflict(p))
		plan->conflicts++;
	else
		plan->count[p->kind]++;
}

int plan_make(const struct plan_input *in, struct plan *ret, struct err *err)
{
	struct plan_above above = { .dir = "" };
	struct plan_input with = *in;
	struct planner pl = { .in = &with };

	with.above = &above;
	memset(ret, 0, sizeof(*ret));
	ret->v = calloc(in->set->n + 1, sizeof(*ret->v));
	if (!ret->v)
		return err_nomem(err);
	for (size_t i = 0; i < in->set->n; i++) {
		struct plan_item *p = &ret->v[ret->n++];
		int rc;

		p->item = &in->set->v[i];
		rc = plan_one(&pl, p);
		if (rc == -ENOMEM)
			return err_nomem(err);
		if (rc < 0)
			return err_set(err, rc,
				       "cannot compare with your directory: "
				       "%s: %s",
				       p->item->path, err_text(rc));
		count(ret, p);
	}
	return 0;
}

void plan_done(struct plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i].merged);
	free(p->v);
	memset(p, 0, sizeof(*p));
}

/* ---- words ---- */

const char *plan_kind_word(enum plan_kind kind)
{
	static const char *const words[] = {
		[PLAN_SAME] = "same",       [PLAN_NEW] = "new",
		[PLAN_CHANGED] = "changed", [PLAN_DELETED] = "deleted",
		[PLAN_TYPE] = "type",       [PLAN_LEFT_OUT] = "left_out",
	};

	return words[kind];
}

static const struct {
	const char *word, *text;
} whys[] = {
	[PLAN_FREE] = { "", "" },
	[PLAN_EDITED] = { "edited", "you have changed it too" },
	[PLAN_INSIDE] = { "edited_inside", "you have changed files in it" },
	[PLAN_TORN] = { "being_written",
			"the agent was writing to it; try again" },
	[PLAN_WAY] = { "blocked",
		       "the way to it is a link, a file or a mount here" },
	[PLAN_SPECIAL] = { "special", "you have a device, socket or FIFO "
				      "there" },
	[PLAN_GIT] = { "has_git", "you have a .git in it" },
};

const char *plan_merge_word(const struct plan_item *p)
{
	return !p->merged ? NULL : p->merged->marked ? "conflicts" : "clean";
}

const char *plan_why_text(enum plan_why why)
{
	return whys[why].text;
}

const char *plan_why_word(enum plan_why why)
{
	return whys[why].word;
}
