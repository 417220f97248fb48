/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.c - what an apply does, path by path
 *
 * Theory of operation: each step moves one path from one state to another
 * (state.h). First go what must make room for something of another kind; then
 * directories, files and links are made, a directory before what is in it; last
 * goes what the agent deleted, a directory after what is in it. Undo takes the
 * steps back in reverse.
 */
#include "control/cli/layer/steps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

void steps_done(struct steps *s)
{
	free(s->v);
	arena_done(&s->arena);
	strv_done(&s->beside);
	memset(s, 0, sizeof(*s));
}

void steps_temp(const struct steps *s, size_t i, char out[STATE_TEMP_MAX])
{
	snprintf(out, STATE_TEMP_MAX, ".ac-apply-%016" PRIx64 "-%zx", s->random,
		 i);
}

static int keep(struct steps *s, const char *text, const char **ret)
{
	*ret = NULL;
	if (!text)
		return 0;
	*ret = arena_strn(&s->arena, text, strlen(text));
	return *ret ? 0 : -ENOMEM;
}

int steps_add(struct steps *s, const struct step *step)
{
	size_t cap = s->cap ? s->cap * 2 : 64;
	struct step *to;

	/* A change of kind takes two steps, and a deletion one for each path. */
	if (s->n >= 4 * (size_t)LAYER_ITEMS_MAX)
		return -E2BIG;
	if (s->n == s->cap) {
		struct step *v = reallocarray(s->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		s->v = v;
		s->cap = cap;
	}
	to = &s->v[s->n];
	*to = *step;
	if (keep(s, step->path, &to->path) < 0 ||
	    keep(s, step->old.target, &to->old.target) < 0 ||
	    keep(s, step->now.target, &to->now.target) < 0)
		return -ENOMEM;
	s->n++;
	return 0;
}

struct maker {
	const struct plan_input *in;
	struct stage *stage;
	struct steps *steps;
	const char *name; /* of the instance */
	mode_t mask; /* the user's umask */
	char made[PATH_MAX]; /* the last directory that is certainly there */
	const char *at; /* path, for messages */
};

/* Returns true if the user's file is still the one that was judged. */
static bool unchanged(const struct spot *a, const struct spot *b)
{
	return a->kind == b->kind &&
	       (a->kind == SPOT_NONE || a->kind == SPOT_DIR ||
		(a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
		 a->ctime == b->ctime));
}

/* ---- old states ---- */

static int copy_old(struct maker *mk, const char *path, struct state *st)
{
	SCOPED_FD in = tree_open_file(mk->in->root, path);
	SCOPED_FD out = -1;

	if (in < 0)
		return in;
	out = stage_new_file(mk->stage, 'o', &st->number);
	if (out < 0)
		return out;
	st->letter = 'o';
	return blob_copy(in, out, &st->blob);
}

/* Sets @ret to what the user has at @path, as @spot was judged, and copies it.
 * The caller frees *ret_target. */
static int old_state(struct maker *mk, const char *path,
		     const struct spot *spot, struct state *ret,
		     char **ret_target)
{
	struct spot now;
	int rc = 0;

	*ret = (struct state){ .kind = spot->kind,
			       .mode = spot->mode & 0777,
			       /* 0 would be the time of the move */
			       .mtime = spot->mtime ? spot->mtime : 1 };
	if (spot->kind == SPOT_FILE)
		rc = copy_old(mk, path, ret);
	else if (spot->kind == SPOT_LINK)
		rc = tree_link(mk->in->root, path, ret_target);
	ret->target = *ret_target;
	if (rc == 0)
		rc = tree_look(mk->in->root, path, &now);
	if (rc == -ENOENT || rc == -EINVAL ||
	    (rc == 0 && !unchanged(spot, &now)))
		return -EAGAIN;
	return rc;
}

/* Adds @step, whose old state is what the user has there. A file that was merged
 * has to be the one that was. */
static int step_add(struct maker *mk, struct step *step,
		    const struct spot *spot, const struct blob_id *merged)
{
	SCOPED_STR target = NULL;
	int rc;

	mk->at = step->path;
	rc = old_state(mk, step->path, spot, &step->old, &target);
	if (rc == 0 && merged && !blob_same(&step->old.blob, merged))
		rc = -EAGAIN;
	return rc < 0 ? rc : steps_add(mk->steps, step);
}

/* Adds the step from what the user has at @path to @now. */
static int step_from(struct maker *mk, const char *path,
		     const struct spot *spot, const struct state *now,
		     bool theirs)
{
	struct step step = { .path = path, .now = *now, .theirs = theirs };

	return step_add(mk, &step, spot, NULL);
}

static int step_remove(struct maker *mk, const char *path,
		       const struct spot *spot, bool theirs)
{
	const struct state none = { .kind = SPOT_NONE };

	return step_from(mk, path, spot, &none, theirs);
}

static int on_below(void *arg, const char *path, const struct spot *spot)
{
	(void)spot;
	return layer_set_add_gone(arg, path);
}

/* Removes what is below the directory @top, deepest first, and @top. */
static int remove_tree(struct maker *mk, const char *top, bool theirs)
{
	struct layer_set below = { 0 };
	struct spot spot;
	int rc =
		tree_walk(mk->in->root, top, LAYER_ITEMS_MAX, on_below, &below);

	if (rc == 0)
		rc = layer_set_add_gone(&below, top);
	/* Only for the order: directories and files are alike in it. */
	for (size_t i = 0; rc == 0 && i < below.n; i++)
		below.v[i].kind = CHANGE_DIR;
	if (rc == 0)
		rc = layer_set_sort(&below);
	for (size_t i = below.n; rc == 0 && i-- > 0;) {
		const char *path = below.v[i].path;

		mk->at = path;
		rc = tree_look(mk->in->root, path, &spot);
		if (rc == 0 && (spot.kind == SPOT_OTHER ||
				(spot.kind != SPOT_DIR && !theirs &&
				 plan_touched(mk->in, path, &spot))))
			rc = -EAGAIN;
		if (rc == 0 && spot.kind != SPOT_NONE)
			rc = step_remove(mk, path, &spot, theirs);
	}
	layer_set_done(&below);
	return rc;
}

/* Removes what the user has where the agent has something else, or nothing. */
static int remove_now(struct maker *mk, const struct plan_item *p)
{
	if (p->now.kind == SPOT_DIR)
		return remove_tree(mk, p->item->path, p->theirs);
	return step_remove(mk, p->item->path, &p->now, p->theirs);
}

/* ---- new states ---- */

static int make_dir(struct maker *mk, const char *path)
{
	const struct state now = { .kind = SPOT_DIR,
				   .mode = (uint16_t)(0777 & ~mk->mask) };
	struct step step = { .path = path, .now = now };

	mk->at = path;
	snprintf(mk->made, sizeof(mk->made), "%s", path);
	return steps_add(mk->steps, &step);
}

/* Makes the directories above @path that are missing. */
static int make_parents(struct maker *mk, const char *path)
{
	char above[PATH_MAX];
	const char *slash = path;
	int rc = 0;

	while (rc == 0 && (slash = strchr(slash, '/')) != NULL) {
		struct spot spot;

		snprintf(above, sizeof(above), "%.*s", (int)(slash - path),
			 path);
		slash++;
		if (layer_path_in(mk->made, above))
			continue;
		rc = tree_look(mk->in->root, above, &spot);
		if (rc == 0 && spot.kind == SPOT_NONE)
			rc = make_dir(mk, above);
		else if (rc == 0)
			snprintf(mk->made, sizeof(mk->made), "%s", above);
	}
	return rc;
}

/* Only the x bit of the owner is the agent's choice; for whom else it holds, the
 * r bits and the umask say. */
static uint16_t mode_of(const struct maker *mk, const struct layer_item *it,
			const struct spot *now)
{
	bool runs = (it->mode & 0100) != 0;
	uint16_t mode = now->mode & 0777;

	if (now->kind != SPOT_FILE)
		return (uint16_t)((runs ? 0777 : 0666) & ~mk->mask &
				  (it->mode | 0700));
	if (runs == ((mode & 0100) != 0))
		return mode;
	if (!runs)
		return mode & 0666;
	return (uint16_t)(mode | 0100 | ((mode & 0444) >> 2 & ~mk->mask));
}

static struct state state_of(const struct maker *mk,
			     const struct layer_item *it,
			     const struct spot *now)
{
	if (it->kind == CHANGE_LINK)
		return (struct state){ .kind = SPOT_LINK,
				       .target = it->target };
	return (struct state){ .kind = SPOT_FILE,
			       .mode = mode_of(mk, it, now),
			       .blob = it->blob,
			       .letter = 'n',
			       .number = it->number };
}

/* The result of a merge in the place of the user's file. */
static int make_merged(struct maker *mk, const struct plan_item *p)
{
	const struct plan_merged *m = p->merged;
	struct layer_item it = *p->item;
	struct step step = { .path = it.path,
			     .brought = state_of(mk, &it, &p->now),
			     .was = m->was,
			     .merged = true,
			     .theirs = true };

	it.mode = m->runs ? 0755 : 0644;
	it.blob = m->blob;
	it.number = m->number;
	step.now = state_of(mk, &it, &p->now);
	step.brought.mode = p->item->mode & 0777;
	return step_add(mk, &step, &p->now, &m->ours);
}

static int make_leaf(struct maker *mk, const struct plan_item *p)
{
	const struct layer_item *it = p->item;
	const struct state now = state_of(mk, it, &p->now);
	struct step step = { .path = it->path, .now = now };

	if (p->merged)
		return make_merged(mk, p);
	/* What was of another kind may be gone by a step before. */
	if (p->now.kind == SPOT_NONE || p->now.kind == SPOT_DIR)
		return steps_add(mk->steps, &step);
	return step_from(mk, it->path, &p->now, &now, p->theirs);
}

static bool room_is_made(const struct plan_item *p)
{
	return p->kind == PLAN_TYPE &&
	       (p->item->kind == CHANGE_DIR || p->now.kind == SPOT_DIR);
}

/* Marks the last step, which is for the item's own path. */
static int mark_twin(struct maker *mk, const struct plan_item *p, int rc)
{
	if (rc == 0 && room_is_made(p) && mk->steps->n > 0)
		mk->steps->v[mk->steps->n - 1].twin = true;
	return rc;
}

static int make_one(struct maker *mk, const struct plan_item *p)
{
	int rc = make_parents(mk, p->item->path);

	if (rc < 0)
		return rc;
	rc = p->item->kind == CHANGE_DIR ? make_dir(mk, p->item->path) :
					   make_leaf(mk, p);
	return mark_twin(mk, p, rc);
}

/* ---- conflicts ---- */

/* Returns the path for the agent's version, which the caller frees; NULL if there
 * can be none, or without memory. */
static char *beside_path(const struct maker *mk, const struct plan_item *p)
{
	const char *path = p->item->path;
	const char *slash = strrchr(path, '/');
	SCOPED_STR beside = str_printf("%s.ac-%s", path, mk->name);

	if ((p->item->kind != CHANGE_FILE && p->item->kind != CHANGE_LINK) ||
	    p->why == PLAN_TORN || p->why == PLAN_WAY || !beside ||
	    strlen(beside) > CHANGES_PATH_MAX ||
	    strlen(beside) - (slash ? (size_t)(slash + 1 - path) : 0) >
		    NAME_MAX ||
	    layer_set_find(mk->in->set, beside))
		return NULL;
	return ptr_take(&beside);
}

/* Returns 1 if the file @path of the user's is the agent's version already; 0; or
 * a negative errno. */
static int is_beside(const struct maker *mk, const struct plan_item *p,
		     const char *path, const struct spot *spot)
{
	SCOPED_FD fd = -1;
	struct blob_id id;
	int rc;

	if (p->item->kind != CHANGE_FILE || spot->kind != SPOT_FILE ||
	    spot->size != p->item->blob.size)
		return 0;
	fd = tree_open_file(mk->in->root, path);
	if (fd < 0)
		return 0;
	rc = blob_copy(fd, -1, &id);
	return rc < 0 ? rc : blob_same(&id, &p->item->blob);
}

/* Puts the agent's version of a conflict beside the user's, unless the user has
 * something of that name. One that is there already is no step: an apply without
 * steps leaves the one before to be taken back. */
static int put_beside(struct maker *mk, const struct plan_item *p)
{
	SCOPED_STR path = beside_path(mk, p);
	struct spot spot;
	struct state now;
	int rc = path ? tree_look(mk->in->root, path, &spot) : 0;

	if (rc < 0 || !path)
		return rc;
	if (spot.kind != SPOT_NONE &&
	    (spot.kind != SPOT_FILE || plan_touched(mk->in, path, &spot)))
		return 0;
	rc = is_beside(mk, p, path, &spot);
	if (rc != 0)
		return rc < 0 ? rc : strv_push(&mk->steps->beside, path);
	rc = make_parents(mk, path);
	if (rc < 0)
		return rc;
	now = state_of(mk, p->item, &spot);
	rc = step_from(mk, path, &spot, &now, false);
	return rc < 0 ? rc : strv_push(&mk->steps->beside, path);
}

static int make_all(struct maker *mk, const struct plan *plan)
{
	int rc = 0;

	for (size_t i = plan->n; rc == 0 && i-- > 0;)
		if (plan_applies(&plan->v[i]) && room_is_made(&plan->v[i]))
			rc = mark_twin(mk, &plan->v[i],
				       remove_now(mk, &plan->v[i]));
	for (size_t i = 0; rc == 0 && i < plan->n; i++) {
		const struct plan_item *p = &plan->v[i];

		if (plan_is_conflict(p))
			rc = put_beside(mk, p);
		else if (plan_applies(p) && p->kind != PLAN_DELETED)
			rc = make_one(mk, p);
	}
	for (size_t i = plan->n; rc == 0 && i-- > 0;)
		if (plan_applies(&plan->v[i]) &&
		    plan->v[i].kind == PLAN_DELETED)
			rc = remove_now(mk, &plan->v[i]);
	return rc;
}

int steps_make(const struct plan_input *in, const struct plan *plan,
	       struct stage *stage, const char *name, struct steps *ret,
	       struct err *err)
{
	struct plan_above above = { .dir = "" };
	struct plan_input with = *in;
	struct maker mk = { .in = &with,
			    .stage = stage,
			    .steps = ret,
			    .name = name,
			    .mask = umask(0),
			    .at = "" };
	int rc;

	umask(mk.mask);
	with.above = &above;
	memset(ret, 0, sizeof(*ret));
	ret->key = in->key;
	if (getrandom(&ret->random, sizeof(ret->random), 0) !=
	    sizeof(ret->random))
		return err_sys(err, "a random name");
	rc = make_all(&mk, plan);
	if (rc == -EAGAIN)
		return err_set(err, rc,
			       "%s was changed just now: nothing was applied; "
			       "try again",
			       mk.at);
	if (rc == -ENOMEM)
		return err_nomem(err);
	return rc < 0 ? err_set(err, rc, "cannot keep a copy of %s: %s", mk.at,
				err_text(rc)) :
			0;
}
