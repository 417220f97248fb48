/* SPDX-License-Identifier: Apache-2.0 */
/*
 * applied.c - runs the steps of an apply, finishes one that was killed, and takes
 * the last one back
 */
#include "control/cli/layer/applied.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "control/cli/layer/quote.h"
#include "lib/file.h"

#define DONE "done"
#define LEFT_SHOWN 8u /* paths that a message names */

void applied_done(struct applied *a)
{
	strv_done(&a->left);
	memset(a, 0, sizeof(*a));
}

/* ---- steps ---- */

/* What a step has left at its path, right after it. */
struct result {
	bool taken; /* now or before; false: it was left */
	struct spot spot;
};

/* One run over the steps. */
struct run {
	struct result *results; /* one for each step, owned */
	struct mover mover;
	const struct steps *steps;
	struct applied *ret;
	bool back;
	const char *at; /* path of the step that failed */
};

static void run_done(struct run *r)
{
	free(r->results);
	r->results = NULL;
}

#define SCOPED_RUN ATTR_CLEANUP(run_done) struct run

/* Returns true for the first of two steps of a path, in the direction of @r. Where
 * both were taken, the first finds what the second has made: that one judges. */
static bool is_first_twin(const struct run *r, const struct step *s)
{
	return s->twin && (r->back ? s->old : s->now).kind == SPOT_NONE;
}

/* Takes the step @i. */
static int run_step(struct run *r, size_t i)
{
	const struct step *s = &r->steps->v[i];
	char temp[STATE_TEMP_MAX];
	int rc;

	steps_temp(r->steps, i, temp);
	r->at = s->path;
	rc = state_move(&r->mover, s, r->back, temp);
	if (rc == MOVE_LEFT && !is_first_twin(r, s) &&
	    r->ret->left.n < STRV_MAX)
		return strv_push(&r->ret->left, s->path);
	if (rc != MOVE_DONE && rc != MOVE_ALREADY)
		return rc < 0 ? rc : 0;
	r->ret->done++;
	r->results[i].taken = true;
	return tree_look(r->mover.root, s->path, &r->results[i].spot);
}

/* Takes all steps, in reverse if it goes back. */
static int run_all(struct run *r)
{
	size_t n = r->steps->n;
	int rc = 0;

	r->results = calloc(n + 1, sizeof(*r->results));
	if (!r->results)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = run_step(r, r->back ? n - 1 - i : i);
	return rc;
}

/* ---- what was written ---- */

/* Returns the version that is brought when the step was taken; NULL: none. */
static const struct state *brought_by(const struct step *s, bool back)
{
	if (!s->merged)
		return back ? NULL : &s->now;
	if (!back)
		return &s->brought;
	return s->was.kind == SPOT_NONE ? NULL : &s->was;
}

/* Notes the identity of what the steps have made, so that the next apply tells it
 * from the user's changes, and which version it is. What was left is the user's, and
 * so is what was merged; what is taken back has not been brought. Of another layer
 * nothing is noted: the file is today's. */
static int note(const struct run *r, int base)
{
	const struct steps *steps = r->steps;
	SCOPED_WRITTEN k = { 0 };
	int rc;

	if (steps->foreign)
		return 0;
	rc = written_load(base, &steps->key, &k);
	for (size_t i = 0; rc == 0 && i < steps->n; i++) {
		const struct step *s = &steps->v[i];
		const struct state *to = r->back ? &s->old : &s->now;
		struct spot spot = r->results[i].spot;

		if (is_first_twin(r, s) || !r->results[i].taken)
			continue;
		/* What was the user's change before is so again. A directory
		 * has times that others change. */
		if (spot.kind != to->kind || to->kind == SPOT_DIR ||
		    s->merged || (r->back && s->theirs))
			spot = (struct spot){ .kind = SPOT_NONE };
		rc = written_put(&k, s->path, &spot, brought_by(s, r->back));
	}
	return rc < 0 ? rc : written_save(&k, base, &steps->key);
}

static int mark_done(int last)
{
	SCOPED_FD fd = openat(last, DONE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : 0;
}

int applied_lock(int base)
{
	SCOPED_FD fd = openat(base, "lock",
			      O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno :
							    fd_take(&fd);
}

int applied_is_pending(int base)
{
	return faccessat(base, "last/journal", F_OK, 0) == 0 &&
	       faccessat(base, "last/" DONE, F_OK, 0) < 0;
}

static int forget(int base)
{
	char path[64];

	/* The journal first: what is left without it is only old copies. */
	if (unlinkat(base, "last/journal", 0) < 0 && errno != ENOENT)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/last", base);
	return file_remove_tree(path);
}

/* ---- run, finish, undo ---- */

static int run_failed(const struct run *r, int rc, struct err *err)
{
	/* The machine may have crashed before the copy was on the disk. */
	return err_set(err, rc, "%s: %s", r->at ? r->at : "",
		       rc == -EBADMSG ? "the copy of it in ac's state is "
					"damaged" :
					err_text(rc));
}

int applied_open(int base, struct steps *ret, struct err *err)
{
	SCOPED_FD last = openat(
		base, "last", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (last < 0)
		return errno == ENOENT ?
			       -ENOENT :
			       err_sys(err, "the journal of the last apply");
	rc = journal_read(last, ret);
	if (rc < 0 && rc != -ENOENT)
		err_set(err, rc, "the journal of the last apply: %s",
			err_text(rc));
	return rc < 0 ? rc : fd_take(&last);
}

int applied_finish(int base, int root, const struct steps *steps, int last,
		   struct applied *ret, struct err *err)
{
	SCOPED_RUN r = { .mover = { .root = root, .copies = last },
			 .steps = steps,
			 .ret = ret };
	int rc = run_all(&r);

	if (rc < 0)
		return run_failed(&r, rc, err);
	rc = note(&r, base);
	if (rc == 0)
		rc = mark_done(last);
	return rc < 0 ? err_set(err, rc, "cannot note what was applied: %s",
				err_text(rc)) :
			0;
}

int applied_undo(int base, int root, const struct steps *steps, int last,
		 struct applied *ret, struct err *err)
{
	SCOPED_RUN r = { .mover = { .root = root, .copies = last },
			 .steps = steps,
			 .ret = ret,
			 .back = true };
	int rc = run_all(&r);

	if (rc < 0)
		return run_failed(&r, rc, err);
	rc = note(&r, base);
	if (rc == 0)
		rc = ret->left.n > 0 ? mark_done(last) : forget(base);
	return rc < 0 ? err_set(err, rc, "cannot note what was taken back: %s",
				err_text(rc)) :
			0;
}

/* Says that a run was taken back; @left has what was not, since somebody else has
 * changed it meanwhile. */
static int taken_back(const struct strv *left, const char *why, int rc,
		      struct err *err)
{
	SCOPED_STR names = NULL;

	for (size_t i = 0; i < left->n && i < LEFT_SHOWN; i++) {
		SCOPED_STR one = quote_path("", left->v[i]);
		char *more = str_printf("%s%s%s", names ? names : "",
					names ? ", " : "", one ? one : "");

		free(names);
		names = more;
	}
	if (left->n == 0)
		return err_set(err, rc, "%s; nothing was applied", why);
	return err_set(err, rc,
		       "%s; what was applied is taken back, but for what was "
		       "changed meanwhile: %s%s",
		       why, names ? names : "",
		       left->n > LEFT_SHOWN ? " and others" : "");
}

int applied_run(struct stage *stage, int root, const struct steps *steps,
		struct applied *ret, struct err *err)
{
	SCOPED_APPLIED back = { 0 };
	struct err why = { 0 };
	int rc = journal_write(steps, stage->dir), code;

	memset(ret, 0, sizeof(*ret));
	if (rc == 0)
		rc = stage_keep(stage);
	if (rc < 0)
		return err_set(err, rc, "cannot write the journal in %s: %s",
			       stage->path, err_text(rc));
	rc = applied_finish(stage->base, root, steps, stage->dir, ret, &why);
	if (rc == 0)
		return 0;
	code = applied_undo(stage->base, root, steps, stage->dir, &back, NULL);
	if (code < 0)
		return err_set(err, rc,
			       "%s; some of it was applied, and taking that "
			       "back failed too (%s): run `ac apply` again, or "
			       "with --undo",
			       why.msg, err_text(code));
	return taken_back(&back.left, why.msg, rc, err);
}
