/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.c - walks a tree whose depth, width and names a sandbox chose
 *
 * Theory of operation. Neither descriptors nor the stack may grow with the
 * tree, and no path is ever assembled, hence not fts(3), whose paths end at 64
 * KiB. The walk keeps two descriptors, and on the heap the names of the
 * directories still to enter and the identity of each ancestor. ".." is trusted
 * only if it is the ancestor we came from; otherwise somebody moved a directory
 * during the walk.
 */
#include "lib/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/file.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define STACK_MAX (64u << 20) /* bytes; of names, and of ancestors */
#define ENTRIES_MAX (16u << 20) /* the tree may grow as we walk */

struct stack {
	char *mem;
	size_t len, cap;
};

static int stack_push(struct stack *s, const void *ptr, size_t len)
{
	if (s->cap - s->len < len) {
		size_t cap = s->cap ? s->cap * 2 : 4096;
		char *mem;

		if (cap > STACK_MAX)
			return -E2BIG;
		mem = realloc(s->mem, cap);
		if (!mem)
			return -ENOMEM;
		s->mem = mem;
		s->cap = cap;
	}
	memcpy(s->mem + s->len, ptr, len);
	s->len += len;
	return 0;
}

/* A directory on the way from the root to where we are. */
struct ancestor {
	ino_t ino;
	size_t base; /* its names still to enter begin here on the stack */
};

struct walk {
	const struct walk_ops *ops;
	void *arg;
	dev_t dev; /* of the root: no other file system is entered */
	uint32_t entries;
	struct stack names; /* NUL, then each name and its NUL */
	struct stack ancestors; /* struct ancestor each */
	struct ancestor here;
	int fd; /* of the directory we are in */
};

static int walk_entry(struct walk *w, const char *name)
{
	struct stat st;
	int rc = 0;

	if (++w->entries > ENTRIES_MAX)
		return -E2BIG;
	if (fstatat(w->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (st.st_dev != w->dev)
		return w->ops->one_only ? -EXDEV : 0;
	if (w->ops->entry)
		rc = w->ops->entry(w->arg, w->fd, name, &st);
	if (rc == 0 && S_ISDIR(st.st_mode))
		rc = stack_push(&w->names, name, strlen(name) + 1);
	return rc;
}

/* Tells what is in this directory, and notes the directories there. */
static int walk_scan(struct walk *w)
{
	/* A position of its own. */
	int own = openat(w->fd, ".", DIR_FLAGS);
	SCOPED_DIR dir = own < 0 ? NULL : fdopendir(own);
	const struct dirent *de;
	int rc = 0;

	if (!dir) {
		rc = -errno;
		fd_closep(&own);
		return rc;
	}
	while (rc == 0 && (errno = 0, de = readdir(dir)))
		if (strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0)
			rc = walk_entry(w, de->d_name);
	/* ENOENT: the directory itself was removed meanwhile. */
	return rc == 0 && errno != ENOENT ? -errno : rc;
}

/* Enters the last directory noted; 0 also if it is no longer there. */
static int walk_down(struct walk *w)
{
	size_t len = w->names.len - 1; /* without its NUL */
	const char *end = memrchr(w->names.mem, 0, len);
	size_t start = (size_t)(end - w->names.mem) + 1;
	const char *name = w->names.mem + start;
	SCOPED_FD fd = openat(w->fd, name, DIR_FLAGS);
	struct stat st;
	int rc = 0;

	w->names.len = start;
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ?
			       0 :
			       -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != w->dev)
		return w->ops->one_only ? -EXDEV : 0;
	if (w->ops->enter)
		rc = w->ops->enter(w->arg, fd, name);
	if (rc == 0)
		rc = stack_push(&w->ancestors, &w->here, sizeof(w->here));
	if (rc < 0)
		return rc;
	w->here = (struct ancestor){ .ino = st.st_ino, .base = start };
	close(w->fd);
	w->fd = fd_take(&fd);
	return walk_scan(w);
}

static int walk_up(struct walk *w)
{
	SCOPED_FD fd = -1;
	struct ancestor parent;
	struct stat st;
	int rc = w->ops->leave ? w->ops->leave(w->arg, w->fd) : 0;

	if (rc < 0)
		return rc;
	fd = openat(w->fd, "..", DIR_FLAGS);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	w->ancestors.len -= sizeof(parent);
	memcpy(&parent, w->ancestors.mem + w->ancestors.len, sizeof(parent));
	if (st.st_dev != w->dev || st.st_ino != parent.ino)
		return -EAGAIN;
	w->here = parent;
	close(w->fd);
	w->fd = fd_take(&fd);
	return 0;
}

static int walk_all(struct walk *w)
{
	int rc = stack_push(&w->names, "", 1);

	w->here.base = w->names.len;
	if (rc == 0)
		rc = walk_scan(w);
	while (rc == 0) {
		if (w->names.len > w->here.base)
			rc = walk_down(w);
		else if (w->ancestors.len > 0)
			rc = walk_up(w);
		else
			break;
	}
	if (rc == 0 && w->ops->leave)
		rc = w->ops->leave(w->arg, w->fd);
	return rc;
}

int walk_tree(const char *path, const struct walk_ops *ops, void *arg)
{
	struct walk w = { .ops = ops, .arg = arg };
	struct stat st;
	int rc;

	w.fd = open(path, DIR_FLAGS);
	if (w.fd < 0 || fstat(w.fd, &st) < 0) {
		rc = -errno;
		fd_closep(&w.fd);
		return rc;
	}
	w.dev = st.st_dev;
	w.here.ino = st.st_ino;
	rc = walk_all(&w);
	fd_closep(&w.fd);
	free(w.names.mem);
	free(w.ancestors.mem);
	return rc;
}
