/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - the user's directory, by descriptors
 */
#include "control/cli/layer/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/beneath.h"
#include "lib/str.h"

int tree_open(int root, const char *path, int flags)
{
	return beneath_open(root, path,
			    flags | O_NOFOLLOW |
				    (flags & O_PATH ? 0 : O_NONBLOCK));
}

int tree_open_file(int root, const char *path)
{
	SCOPED_FD fd = tree_open(root, path, O_RDONLY | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? fd_take(&fd) : -EINVAL;
}

int tree_open_parent(int root, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];
	size_t len = slash ? (size_t)(slash - path) : 0;

	*ret_name = slash ? slash + 1 : path;
	if (len >= sizeof(parent) || strlen(*ret_name) > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(parent, path, len);
	parent[len] = '\0';
	return tree_open(root, len ? parent : ".", O_PATH | O_DIRECTORY);
}

static int64_t ns_of(struct statx_timestamp t)
{
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Returns 0, or 1 if nothing is there. */
static int look_at(int dir, const char *name, struct spot *ret)
{
	struct statx sx;

	if (statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS | STATX_BTIME, &sx) < 0)
		return errno == ENOENT ? 1 : -errno;
	*ret = (struct spot){
		.kind = S_ISREG(sx.stx_mode) ? SPOT_FILE :
			S_ISDIR(sx.stx_mode) ? SPOT_DIR :
			S_ISLNK(sx.stx_mode) ? SPOT_LINK :
					       SPOT_OTHER,
		.mode = sx.stx_mode & 07777,
		.size = sx.stx_size,
		.dev = makedev(sx.stx_dev_major, sx.stx_dev_minor),
		.ino = sx.stx_ino,
		.ctime = ns_of(sx.stx_ctime),
		.mtime = ns_of(sx.stx_mtime),
		.born = sx.stx_mask & STATX_BTIME ? ns_of(sx.stx_btime) : 0,
	};
	return 0;
}

int tree_look(int root, const char *path, struct spot *ret)
{
	const char *name;
	SCOPED_FD dir = tree_open_parent(root, path, &name);
	struct spot spot = { .kind = SPOT_NONE };
	int rc = dir < 0 ? dir : look_at(dir, name, &spot);

	if (rc == -ENOTDIR || rc == -ELOOP || rc == -EXDEV ||
	    rc == -ENAMETOOLONG)
		spot.kind = SPOT_BLOCKED;
	else if (rc < 0 && rc != -ENOENT)
		return rc;
	*ret = spot;
	return 0;
}

int tree_link(int root, const char *path, char **ret)
{
	const char *name;
	SCOPED_FD dir = tree_open_parent(root, path, &name);
	char text[PATH_MAX];
	ssize_t n;

	if (dir < 0)
		return dir;
	n = readlinkat(dir, name, text, sizeof(text));
	if (n < 0)
		return -errno;
	*ret = strndup(text, (size_t)n);
	return *ret ? 0 : -ENOMEM;
}

/* ---- a walk ---- */

struct walk {
	int root;
	size_t left; /* entries */
	tree_fn fn;
	void *arg;
	char **dirs; /* that are to be visited, owned */
	size_t n, cap;
};

static int push(struct walk *w, char **path)
{
	size_t cap = w->cap ? w->cap * 2 : 16;

	if (w->n == w->cap) {
		char **dirs = reallocarray(w->dirs, cap, sizeof(*dirs));

		if (!dirs)
			return -ENOMEM;
		w->dirs = dirs;
		w->cap = cap;
	}
	w->dirs[w->n++] = ptr_take(path);
	return 0;
}

static int visit_entry(struct walk *w, int dir, const char *parent,
		       const char *name)
{
	SCOPED_STR path = *parent ? str_printf("%s/%s", parent, name) :
				    str_printf("%s", name);
	struct spot spot;
	int rc = path ? look_at(dir, name, &spot) : -ENOMEM;

	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (w->left-- == 0)
		return -E2BIG;
	rc = w->fn(w->arg, path, &spot);
	if (rc != 0 || spot.kind != SPOT_DIR)
		return rc < 0 ? rc : 0;
	return push(w, &path);
}

static int visit(struct walk *w, const char *path)
{
	SCOPED_FD fd =
		tree_open(w->root, *path ? path : ".", O_RDONLY | O_DIRECTORY);
	SCOPED_DIR dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;
	int rc = 0;

	/* Another mount is not what the sandbox saw. */
	if (fd == -ENOENT || fd == -EXDEV)
		return 0;
	if (!dir)
		return fd < 0 ? fd : -errno;
	fd_take(&fd); /* the stream's now */
	while (rc == 0) {
		errno = 0;
		de = readdir(dir);
		if (!de)
			return -errno;
		if (strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0)
			rc = visit_entry(w, dirfd(dir), path, de->d_name);
	}
	return rc;
}

int tree_walk(int root, const char *path, size_t max, tree_fn fn, void *arg)
{
	struct walk w = { .root = root, .left = max, .fn = fn, .arg = arg };
	int rc = visit(&w, path);

	while (rc == 0 && w.n > 0) {
		SCOPED_STR next = w.dirs[--w.n];

		rc = visit(&w, next);
	}
	while (w.n > 0)
		free(w.dirs[--w.n]);
	free(w.dirs);
	return rc;
}
