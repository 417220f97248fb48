/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_tree.c - removes and measures trees that a sandbox made
 *
 * Theory of operation
 *
 * The sandbox chose depth, width and names, so neither descriptors nor the
 * stack may grow with them, and no path is ever assembled: directories are
 * entered by name from their parent's descriptor, never through a link.
 *
 * Removal recurses REMOVE_DEPTH levels. Deeper directories are moved to the
 * root of the tree, where a later pass finds them. A pass over a directory that
 * removed or moved something is followed by another, because some file systems
 * skip entries during deletion and because of the moved directories. Each such
 * pass made progress, so they end. rmdir() is tried before a directory is
 * entered: it refuses mount points (EBUSY) even where device numbers do not
 * reveal them.
 *
 * A tree to be measured may be in use and must not be changed: see walk.c.
 */
#include "lib/file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "lib/walk.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define REMOVE_DEPTH 32
#define REMOVE_DEPTH_MAX 200

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
	int rc;

	if (depth >= REMOVE_DEPTH) {
		rc = removal_move_up(rm, dirfd, name);
		rm->progress += rc == 0;
		/* overlayfs moves no directory of a lower layer: go deeper. */
		if (rc != -EXDEV || depth >= REMOVE_DEPTH_MAX)
			return rc;
	}
	fd = openat(dirfd, name, DIR_FLAGS);
	if (fd < 0)
		return -errno;
	rc = mount_get(fd, &id);
	if (rc < 0)
		return rc;
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
			int rc;

			if (name_is_dots(de->d_name))
				continue;
			rc = removal_entry(rm, dirfd, de->d_name, depth);
			if (rc < 0)
				removal_fail(rm, rc);
		}
	} while (rm->progress != before);
}

int file_remove_tree(const char *path)
{
	struct removal rm = { .root = -1 };
	SCOPED_FD root = -1;
	int rc;

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
	rc = mount_get(root, &rm.id);
	if (rc < 0)
		return rc;
	removal_clear(&rm, root, 0);
	if (rmdir(path) < 0)
		return rm.first ? rm.first : -errno;
	return 0;
}

static void size_count(uint64_t *bytes, const struct stat *st)
{
	uint64_t own = (uint64_t)st->st_blocks * 512;

	/* Shares add up to the whole, without a table of inodes seen. */
	if (!S_ISDIR(st->st_mode) && st->st_nlink > 1)
		own /= st->st_nlink;
	*bytes += own;
}

static int size_entry(void *arg, int dirfd, const char *name,
		      const struct stat *st)
{
	(void)dirfd;
	(void)name;
	size_count(arg, st);
	return 0;
}

int file_tree_size(const char *path, uint64_t *ret_bytes)
{
	static const struct walk_ops ops = { .entry = size_entry };
	uint64_t bytes = 0;
	struct stat st;
	int rc = 0;

	if (lstat(path, &st) < 0)
		return -errno;
	size_count(&bytes, &st);
	if (S_ISDIR(st.st_mode))
		rc = walk_tree(path, &ops, &bytes);
	if (rc == 0)
		*ret_bytes = bytes;
	return rc;
}

int file_link_all(const char *from, const char *to)
{
	SCOPED_DIR d = opendir(from);
	SCOPED_FD fd = open(to, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *e;

	if (!d || fd < 0)
		return -errno;
	while ((e = readdir(d))) {
		if (e->d_name[0] != '.' &&
		    linkat(dirfd(d), e->d_name, fd, e->d_name, 0) < 0)
			return -errno;
	}
	return 0;
}
