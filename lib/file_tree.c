/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_tree.c - removing and measuring trees that a sandbox made
 *
 * Theory of operation
 *
 * Depth, width and names are the sandbox's choice, so neither descriptors
 * nor the stack may grow with them, and no path is ever put together:
 * directories are entered by name from their parent's descriptor, never
 * through a link.
 *
 * Removal recurses REMOVE_DEPTH levels. What is deeper is moved up to the
 * root of the tree, where a later pass finds it. Each pass over a directory
 * that got something done is followed by another one, for the file systems
 * that skip entries while others are deleted, and for what was moved up;
 * every such pass has removed or moved an entry, so they end. rmdir() is
 * tried before a directory is entered: it refuses mount points (EBUSY) even
 * where device numbers do not give them away.
 *
 * A tree to be measured may be in use and must not be changed. The walk
 * keeps two descriptors, and on the heap the names of the directories still
 * to see and the identity of each ancestor. ".." is trusted only if it is
 * the ancestor we came from; if not, somebody moved a directory under us.
 */
#include "lib/file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define REMOVE_DEPTH 32
#define REMOVE_DEPTH_MAX 200
#define WALK_STACK_MAX (64u << 20) /* bytes; of names, and of ancestors */
#define WALK_ENTRIES_MAX (16u << 20) /* the tree may grow as we walk */

static bool name_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A second, independent position in an open directory. */
static DIR *dir_open(int fd)
{
	int own = openat(fd, ".", DIR_FLAGS);
	DIR *dir;

	if (own < 0)
		return NULL;
	dir = fdopendir(own);
	if (!dir)
		fd_closep(&own);
	return dir;
}

struct removal {
	int root; /* descriptor of the whole tree */
	struct statx id; /* of the root, for its file system and mount */
	uint64_t progress; /* entries removed or moved up */
	uint64_t moved; /* numbers the names of moved directories */
	int first; /* failure, or 0 */
};

static void removal_fail(struct removal *rm, int code)
{
	if (rm->first == 0)
		rm->first = code;
}

static int mount_get(int fd, struct statx *ret)
{
	/* gVisor knows statx(), but not every field: see stx_mask. */
	return statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID,
		     ret) < 0 ?
		       -errno :
		       0;
}

static bool mount_same(const struct statx *a, const struct statx *b)
{
	if (a->stx_dev_major != b->stx_dev_major ||
	    a->stx_dev_minor != b->stx_dev_minor)
		return false;
	return !(a->stx_mask & b->stx_mask & STATX_MNT_ID) ||
	       a->stx_mnt_id == b->stx_mnt_id;
}

/* Moves a directory to the root of the tree, under a name not in the way. */
static int removal_move_up(struct removal *rm, int dirfd, const char *name)
{
	char to[32];

	do {
		snprintf(to, sizeof(to), ".removed-%llu",
			 (unsigned long long)rm->moved++);
		if (renameat(dirfd, name, rm->root, to) == 0)
			return 0;
		/* The sandbox may have thought of our names: try the next. */
	} while (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR);
	return -errno;
}

static void removal_clear(struct removal *rm, int dirfd, int depth);

/* A directory that is neither empty nor a mount point. */
static int removal_enter(struct removal *rm, int dirfd, const char *name,
			 int depth)
{
	SCOPED_FD fd = -1;
	struct statx id;
	int r;

	if (depth >= REMOVE_DEPTH) {
		r = removal_move_up(rm, dirfd, name);
		rm->progress += r == 0;
		/* overlayfs moves no directory of a lower layer: go deeper. */
		if (r != -EXDEV || depth >= REMOVE_DEPTH_MAX)
			return r;
	}
	fd = openat(dirfd, name, DIR_FLAGS);
	if (fd < 0)
		return -errno;
	r = mount_get(fd, &id);
	if (r < 0)
		return r;
	if (!mount_same(&id, &rm->id))
		return -EBUSY;
	removal_clear(rm, fd, depth + 1);
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0) {
		/* The reason is on record already if something is left. */
		if (rm->first && (errno == ENOTEMPTY || errno == EEXIST))
			return 0;
		return -errno;
	}
	rm->progress++;
	return 0;
}

static int removal_entry(struct removal *rm, int dirfd, const char *name,
			 int depth)
{
	if (unlinkat(dirfd, name, 0) == 0) {
		rm->progress++;
		return 0;
	}
	if (errno == ENOENT)
		return 0;
	/* EISDIR says Linux, EPERM says POSIX: and rmdir() tells the rest. */
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0) {
		rm->progress++;
		return 0;
	}
	if (errno == ENOTDIR)
		return -EPERM;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return -errno;
	return removal_enter(rm, dirfd, name, depth);
}

static void removal_clear(struct removal *rm, int dirfd, int depth)
{
	SCOPED_DIR dir = dir_open(dirfd);
	uint64_t before;

	if (!dir) {
		removal_fail(rm, -errno);
		return;
	}
	do {
		struct dirent *de;

		before = rm->progress;
		rewinddir(dir);
		while ((de = readdir(dir))) {
			int r;

			if (name_is_dots(de->d_name))
				continue;
			r = removal_entry(rm, dirfd, de->d_name, depth);
			if (r < 0)
				removal_fail(rm, r);
		}
	} while (rm->progress != before);
}

int file_remove_tree(const char *path)
{
	struct removal rm = { .root = -1 };
	SCOPED_FD root = -1;
	int r;

	if (unlink(path) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (rmdir(path) == 0)
		return 0;
	if (errno == ENOTDIR)
		return -EPERM;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return -errno;
	root = open(path, DIR_FLAGS);
	if (root < 0)
		return -errno;
	rm.root = root;
	r = mount_get(root, &rm.id);
	if (r < 0)
		return r;
	removal_clear(&rm, root, 0);
	if (rmdir(path) < 0)
		return rm.first ? rm.first : -errno;
	return 0;
}

struct stack {
	char *mem;
	size_t len, cap;
};

static int stack_push(struct stack *s, const void *ptr, size_t len)
{
	if (s->cap - s->len < len) {
		size_t cap = s->cap ? s->cap * 2 : 4096;
		char *mem;

		if (cap > WALK_STACK_MAX)
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
	dev_t dev; /* of the root: no other file system is entered */
	uint64_t bytes;
	uint32_t entries;
	struct stack names; /* NUL, then each name and its NUL */
	struct stack ancestors; /* struct ancestor each */
	struct ancestor here;
	int fd; /* of the directory we are in */
};

static void walk_count(struct walk *w, const struct stat *st)
{
	uint64_t bytes = (uint64_t)st->st_blocks * 512;

	/* Shares add up to the whole, without a table of inodes seen. */
	if (!S_ISDIR(st->st_mode) && st->st_nlink > 1)
		bytes /= st->st_nlink;
	w->bytes += bytes;
}

/* Counts what is in this directory, and notes the directories there. */
static int walk_scan(struct walk *w)
{
	SCOPED_DIR dir = dir_open(w->fd);
	struct dirent *de;
	struct stat st;
	int r;

	if (!dir)
		return -errno;
	while ((de = readdir(dir))) {
		if (name_is_dots(de->d_name))
			continue;
		if (++w->entries > WALK_ENTRIES_MAX)
			return -E2BIG;
		if (fstatat(w->fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    st.st_dev != w->dev)
			continue; /* gone, or not ours to count */
		walk_count(w, &st);
		if (!S_ISDIR(st.st_mode))
			continue;
		r = stack_push(&w->names, de->d_name, strlen(de->d_name) + 1);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Enters the last directory noted; 0 also if it is no longer there. */
static int walk_down(struct walk *w)
{
	size_t len = w->names.len - 1; /* without its NUL */
	const char *end = memrchr(w->names.mem, 0, len);
	size_t start = (size_t)(end - w->names.mem) + 1;
	SCOPED_FD fd = openat(w->fd, w->names.mem + start, DIR_FLAGS);
	struct stat st;
	int r;

	w->names.len = start;
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ?
			       0 :
			       -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != w->dev)
		return 0;
	r = stack_push(&w->ancestors, &w->here, sizeof(w->here));
	if (r < 0)
		return r;
	w->here = (struct ancestor){ .ino = st.st_ino, .base = start };
	close(w->fd);
	w->fd = fd_take(&fd);
	return walk_scan(w);
}

static int walk_up(struct walk *w)
{
	SCOPED_FD fd = openat(w->fd, "..", DIR_FLAGS);
	struct ancestor parent;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
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
	int r = stack_push(&w->names, "", 1);

	w->here.base = w->names.len;
	if (r == 0)
		r = walk_scan(w);
	while (r == 0) {
		if (w->names.len > w->here.base)
			r = walk_down(w);
		else if (w->ancestors.len > 0)
			r = walk_up(w);
		else
			break;
	}
	return r;
}

int file_tree_size(const char *path, uint64_t *ret_bytes)
{
	struct walk w = { .fd = -1 };
	struct stat st;
	int r = 0;

	if (lstat(path, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode)) {
		w.fd = open(path, DIR_FLAGS);
		if (w.fd < 0 || fstat(w.fd, &st) < 0)
			r = -errno;
	}
	w.dev = st.st_dev;
	w.here.ino = st.st_ino;
	walk_count(&w, &st);
	if (r == 0 && w.fd >= 0)
		r = walk_all(&w);
	fd_closep(&w.fd);
	free(w.names.mem);
	free(w.ancestors.mem);
	if (r == 0)
		*ret_bytes = w.bytes;
	return r;
}
