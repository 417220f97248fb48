/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.c - moves one path of the user's directory from one state to another
 */
#include "control/cli/layer/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "control/cli/layer/stage.h"

static int (*hook_fn)(void *arg, const char *path);
static void *hook_arg;

void state_hook(int (*fn)(void *arg, const char *path), void *arg)
{
	hook_fn = fn;
	hook_arg = arg;
}

static int hook(const char *path)
{
	return hook_fn ? hook_fn(hook_arg, path) : 0;
}

/* ---- comparison ---- */

static bool same_link(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* Returns true if two states differ in no more than their modes. */
static bool same_content(const struct state *a, const struct state *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == SPOT_FILE)
		return blob_same(&a->blob, &b->blob);
	return a->kind != SPOT_LINK || same_link(a->target, b->target);
}

/* What a path has now. */
struct current {
	struct spot spot;
	struct blob_id blob;
	char *target;
};

static void current_done(struct current *c)
{
	free(c->target);
	c->target = NULL;
}

#define SCOPED_CURRENT ATTR_CLEANUP(current_done) struct current

/* Reads the content only of a file that can be one of the two states. */
static int current_get(const struct mover *m, const struct step *s,
		       struct current *ret)
{
	SCOPED_FD fd = -1;
	int rc = tree_look(m->root, s->path, &ret->spot);

	if (rc < 0)
		return rc;
	if (ret->spot.kind == SPOT_LINK)
		return tree_link(m->root, s->path, &ret->target);
	if (ret->spot.kind != SPOT_FILE ||
	    ((s->old.kind != SPOT_FILE || s->old.blob.size != ret->spot.size) &&
	     (s->now.kind != SPOT_FILE || s->now.blob.size != ret->spot.size)))
		return 0;
	fd = tree_open_file(m->root, s->path);
	return fd < 0 ? fd : blob_copy(fd, -1, &ret->blob);
}

/* @modes: the states differ in their modes only, so these tell. Otherwise they
 * do not: not every file system keeps them. */
static bool is_in(const struct current *c, const struct state *st, bool modes)
{
	const struct state now = { .kind = c->spot.kind,
				   .blob = c->blob,
				   .target = c->target };

	if (st->kind == SPOT_FILE && st->blob.size != c->spot.size)
		return false;
	return same_content(&now, st) &&
	       (!modes || (st->mode & 0100) == (c->spot.mode & 0100));
}

/* ---- moves ---- */

/* Makes the file @temp with the content of the copy. */
static int file_make(const struct mover *m, int dir, const char *temp,
		     const struct state *to)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_nsec = UTIME_NOW } };
	SCOPED_FD in = stage_file(m->copies, to->letter, to->number);
	SCOPED_FD out = -1;
	struct blob_id id;
	int rc;

	if (in < 0)
		return in;
	out = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	rc = blob_copy(in, out, &id);
	if (rc < 0)
		return rc;
	/* The machine may have crashed before all of the copy was on disk. */
	if (!blob_same(&id, &to->blob))
		return -EBADMSG;
	if (fchmod(out, to->mode & 0777) < 0)
		return -errno;
	if (to->mtime != 0) {
		times[1].tv_sec = to->mtime / 1000000000;
		times[1].tv_nsec = to->mtime % 1000000000;
		if (times[1].tv_nsec < 0) {
			times[1].tv_sec--;
			times[1].tv_nsec += 1000000000;
		}
		if (futimens(out, times) < 0)
			return -errno;
	}
	return 0;
}

/* Gives @temp the name @name. Where nothing was, nothing is replaced. */
static int name_give(int dir, const char *temp, const char *name, bool fresh)
{
	if (fresh) {
		if (renameat2(dir, temp, dir, name, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EINVAL)
			return -errno;
		/* This file system cannot; what was looked at a moment ago has
		 * to do. */
	}
	return renameat(dir, temp, dir, name) < 0 ? -errno : 0;
}

/* Returns 0 if @name is still what was looked at, -EEXIST if it is another one. To
 * read one content and to write another takes long. */
static int check_still(int dir, const char *name, const struct spot *was)
{
	struct spot now;
	int rc = tree_look(dir, name, &now);

	if (rc < 0)
		return rc;
	if (now.kind != was->kind)
		return -EEXIST;
	if (now.kind == SPOT_NONE || now.kind == SPOT_DIR)
		return 0;
	return now.dev == was->dev && now.ino == was->ino &&
			       now.size == was->size &&
			       now.ctime == was->ctime ?
		       0 :
		       -EEXIST;
}

static int put_file_or_link(const struct mover *m, int dir, const char *name,
			    const struct state *to, const char *temp,
			    const struct spot *was)
{
	int rc;

	if (to->kind == SPOT_FILE)
		rc = file_make(m, dir, temp, to);
	else
		rc = symlinkat(to->target, dir, temp) < 0 ? -errno : 0;
	if (rc == 0) {
		rc = hook(name);
		if (rc < 0)
			return rc;
		rc = check_still(dir, name, was);
	}
	if (rc == 0)
		rc = name_give(dir, temp, name, was->kind == SPOT_NONE);
	if (rc < 0)
		(void)unlinkat(dir, temp, 0);
	return rc;
}

static int put_dir(int dir, const char *name, const struct state *to)
{
	SCOPED_FD fd = -1;
	struct stat st;
	mode_t mode;

	if (mkdirat(dir, name, 0700) < 0)
		return -errno;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	/* A directory that gives its group to what is made in it stays so. */
	mode = (to->mode & 0777) | (st.st_mode & S_ISGID);
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int take_away(int dir, const char *name, const struct state *from)
{
	if (unlinkat(dir, name, from->kind == SPOT_DIR ? AT_REMOVEDIR : 0) == 0)
		return MOVE_DONE;
	/* The user has put something into it. */
	if (errno == ENOTEMPTY || errno == EEXIST)
		return MOVE_LEFT;
	return -errno;
}

/* @was: what was looked at, and is in the state @from. */
static int go(const struct mover *m, const struct step *s,
	      const struct state *from, const struct state *to,
	      const char *temp, const struct spot *was)
{
	const char *name;
	SCOPED_FD dir = tree_open_parent(m->root, s->path, &name);
	int rc;

	if (dir < 0)
		return dir;
	rc = hook(s->path);
	if (rc < 0)
		return rc;
	if (to->kind == SPOT_NONE) {
		rc = check_still(dir, name, was);
		if (rc == 0)
			return take_away(dir, name, from);
	} else if (to->kind == SPOT_DIR) {
		rc = put_dir(dir, name, to);
	} else {
		rc = put_file_or_link(m, dir, name, to, temp, was);
	}
	if (rc == -EEXIST)
		return MOVE_LEFT;
	return rc < 0 ? rc : MOVE_DONE;
}

/* Removes what a killed move has left beside the path. */
static void sweep(const struct mover *m, const char *path, const char *temp)
{
	const char *name;
	SCOPED_FD dir = tree_open_parent(m->root, path, &name);

	if (dir >= 0)
		(void)unlinkat(dir, temp, 0);
}

int state_move(const struct mover *m, const struct step *s, bool back,
	       const char *temp)
{
	const struct state *from = back ? &s->now : &s->old;
	const struct state *to = back ? &s->old : &s->now;
	bool modes = same_content(from, to);
	SCOPED_CURRENT c = { .target = NULL };
	int rc = current_get(m, s, &c);

	if (rc < 0)
		return rc;
	sweep(m, s->path, temp);
	if (is_in(&c, to, modes) ||
	    (to->kind == SPOT_NONE && c.spot.kind == SPOT_BLOCKED))
		return MOVE_ALREADY;
	if (!is_in(&c, from, modes))
		return MOVE_LEFT;
	rc = go(m, s, from, to, temp, &c.spot);
	if (rc == MOVE_DONE) {
		int ended = hook(s->path);

		rc = ended < 0 ? ended : rc;
	}
	return rc;
}
