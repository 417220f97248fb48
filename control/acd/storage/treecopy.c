/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treecopy.c - copies all files of one tree into another, and nowhere else
 *
 * Theory of operation: the agent may have left a link where a file is to be
 * put, and acd, root, must not write through it. It may also have nested
 * directories so deep that no path reaches the innermost one, where programs
 * that use paths fail. So both trees are walked side by side (walk.h): each
 * file is made new under one name in an open directory, what has that name is
 * removed before, and no link is followed.
 *
 * A file with several names is copied once, and linked in a directory beside
 * the target under its inode number. The other names are found there, however
 * far apart, without a table in memory.
 */
#include "control/acd/storage/treecopy.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "control/acd/storage/treejob.h"
#include "lib/file.h"
#include "lib/str.h"
#include "lib/walk.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define BLOCK (1024u * 1024)
#define PERMISSIONS 07777u
#define ABOVE_FIRST 0x10000u /* first size of `above` */

struct copy {
	int to; /* the copy of the walk's current directory */
	ino_t *above; /* inodes of the directories above @to */
	size_t depth, room;
	const char *links_path; /* of the directory for files with links */
	int links; /* -1: not made yet */
	char *block;
};

/* ---- what is in the way ---- */

/* Removes @name in the target, unless it is a directory and @keep_dir. */
static int way_clear(const struct copy *c, const char *name, bool keep_dir)
{
	char path[NAME_MAX + 64];
	struct stat st;

	if (fstatat(c->to, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode))
		return unlinkat(c->to, name, 0) < 0 ? -errno : 0;
	if (keep_dir)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", c->to, name);
	return file_remove_tree(path);
}

/* ---- what a file has beside its contents ---- */

/* Copies attributes, as far as the target supports them. Those of overlayfs must
 * be copied: without one, a layer shows what was deleted. */
static int attrs_copy(int from, int to)
{
	static char names[XATTR_LIST_MAX], value[XATTR_SIZE_MAX];
	ssize_t all = flistxattr(from, names, sizeof(names));

	for (ssize_t at = 0; at < all; at += (ssize_t)strlen(names + at) + 1) {
		ssize_t n = fgetxattr(from, names + at, value, sizeof(value));

		if (n >= 0 &&
		    fsetxattr(to, names + at, value, (size_t)n, 0) < 0 &&
		    str_starts(names + at, "trusted.overlay."))
			return -errno;
	}
	return 0;
}

/* Sets the owner first, which clears the set-id bits. */
static int dress(int from, int to, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	int rc;

	if (fchown(to, st->st_uid, st->st_gid) < 0)
		return -errno;
	rc = attrs_copy(from, to);
	if (rc < 0)
		return rc;
	if (fchmod(to, st->st_mode & PERMISSIONS) < 0 ||
	    futimens(to, times) < 0)
		return -errno;
	return 0;
}

/* The same for a file that cannot be opened. */
static int dress_name(const struct copy *c, const char *name,
		      const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (fchownat(c->to, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) <
		    0 ||
	    utimensat(c->to, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return 0;
}

/* ---- contents ---- */

/* Copies from @at to @end. */
static int piece_copy(const struct copy *c, int from, int to, off_t at,
		      off_t end)
{
	while (at < end) {
		size_t want = end - at < (off_t)BLOCK ? (size_t)(end - at) :
							BLOCK;
		ssize_t n, done, all;

		if (treejob_is_canceled())
			return -ECANCELED;
		all = pread(from, c->block, want, at);
		if (all < 0 && errno == EINTR)
			continue;
		if (all <= 0)
			return all < 0 ? -errno : 0; /* the file shrank */
		for (done = 0; done < all; done += n) {
			n = pwrite(to, c->block + done, (size_t)(all - done),
				   at + done);
			if (n < 0 && errno == EINTR)
				n = 0;
			else if (n <= 0)
				return n < 0 ? -errno : -EIO;
		}
		at += all;
	}
	return 0;
}

/* Returns where data begins at or after @at, @size for none. */
static off_t data_next(int fd, off_t at, off_t size, off_t *ret_end)
{
	off_t from = lseek(fd, at, SEEK_DATA), end;

	*ret_end = size;
	if (from < 0)
		return errno == ENXIO ? size : at; /* holes are unknown */
	end = lseek(fd, from, SEEK_HOLE);
	if (end > from && end < size)
		*ret_end = end;
	return from;
}

static int contents_copy(const struct copy *c, int from, int to, off_t size)
{
	off_t at = 0, end = 0;
	int rc = 0;

	while (rc == 0 && at < size) {
		at = data_next(from, at, size, &end);
		if (at < size)
			rc = piece_copy(c, from, to, at, end);
		at = end;
	}
	/* The file may end with a hole. */
	return rc == 0 && ftruncate(to, size) < 0 ? -errno : rc;
}

static int file_copy(const struct copy *c, int dirfd, const char *name)
{
	SCOPED_FD from = openat(dirfd, name,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	SCOPED_FD to = -1;
	struct stat st;
	int rc;

	if (from < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(from, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EAGAIN; /* it was replaced meanwhile */
	to = openat(c->to, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	rc = contents_copy(c, from, to, st.st_size);
	if (rc == 0)
		rc = dress(from, to, &st);
	/* Some file systems report a full disk here. */
	return rc == 0 && close(fd_take(&to)) < 0 ? -errno : rc;
}

/* ---- names ---- */

static int link_copy(const struct copy *c, int dirfd, const char *name,
		     const struct stat *st)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dirfd, name, target, sizeof(target));

	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	if ((size_t)n >= sizeof(target))
		return -ENAMETOOLONG;
	target[n] = '\0';
	if (symlinkat(target, c->to, name) < 0)
		return -errno;
	return dress_name(c, name, st);
}

static int node_copy(const struct copy *c, const char *name,
		     const struct stat *st)
{
	int rc;

	if (mknodat(c->to, name, (st->st_mode & S_IFMT) | 0600, st->st_rdev) <
	    0)
		return -errno;
	rc = dress_name(c, name, st);
	/* Not a link: it was just made, where only this process writes. */
	return rc == 0 && fchmodat(c->to, name, st->st_mode & PERMISSIONS, 0) <
				       0 ?
		       -errno :
		       rc;
}

static int one_copy(const struct copy *c, int dirfd, const char *name,
		    const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return file_copy(c, dirfd, name);
	if (S_ISLNK(st->st_mode))
		return link_copy(c, dirfd, name, st);
	return node_copy(c, name, st);
}

static int links_make(struct copy *c)
{
	if (c->links >= 0)
		return 0;
	if (mkdir(c->links_path, 0700) < 0)
		return -errno;
	c->links = open(c->links_path, DIR_FLAGS);
	return c->links < 0 ? -errno : 0;
}

/* Copies one of several names of a file. */
static int shared_copy(struct copy *c, int dirfd, const char *name,
		       const struct stat *st)
{
	char ino[24];
	int rc = links_make(c);

	if (rc < 0)
		return rc;
	snprintf(ino, sizeof(ino), "%llu", (unsigned long long)st->st_ino);
	if (linkat(c->links, ino, c->to, name, 0) == 0)
		return 0;
	/* EMLINK: too many links, so it becomes a file of its own. */
	if (errno != ENOENT && errno != EMLINK)
		return -errno;
	rc = one_copy(c, dirfd, name, st);
	if (rc == 0 && linkat(c->to, name, c->links, ino, 0) < 0 &&
	    errno != EEXIST && errno != ENOENT)
		rc = -errno;
	return rc;
}

/* ---- the walk ---- */

static int on_entry(void *arg, int dirfd, const char *name,
		    const struct stat *st)
{
	struct copy *c = arg;
	int rc = way_clear(c, name, S_ISDIR(st->st_mode));

	if (treejob_is_canceled())
		return -ECANCELED;
	if (rc < 0 || S_ISDIR(st->st_mode))
		return rc;
	return st->st_nlink > 1 ? shared_copy(c, dirfd, name, st) :
				  one_copy(c, dirfd, name, st);
}

static int above_push(struct copy *c, ino_t ino)
{
	if (c->depth == c->room) {
		size_t room = c->room ? 2 * c->room : ABOVE_FIRST;
		ino_t *mem = reallocarray(c->above, room, sizeof(*mem));

		if (!mem)
			return -ENOMEM;
		c->above = mem;
		c->room = room;
	}
	c->above[c->depth++] = ino;
	return 0;
}

static int on_enter(void *arg, int fd, const char *name)
{
	struct copy *c = arg;
	SCOPED_FD in = -1;
	struct stat st;

	(void)fd;
	if (mkdirat(c->to, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	in = openat(c->to, name, DIR_FLAGS);
	if (in < 0 || fstat(c->to, &st) < 0)
		return -errno;
	close(c->to);
	c->to = fd_take(&in);
	return above_push(c, st.st_ino);
}

/* Sets attributes last: making files in it changes the directory's times. */
static int on_leave(void *arg, int fd)
{
	struct copy *c = arg;
	SCOPED_FD up = -1;
	struct stat st;
	int rc = fstat(fd, &st) < 0 ? -errno : dress(fd, c->to, &st);

	if (rc < 0 || c->depth == 0)
		return rc;
	up = openat(c->to, "..", DIR_FLAGS);
	if (up < 0 || fstat(up, &st) < 0)
		return -errno;
	if (st.st_ino != c->above[--c->depth])
		return -EAGAIN; /* it was moved away */
	close(c->to);
	c->to = fd_take(&up);
	return 0;
}

static int copy_all(struct copy *c, const char *from, const char *to)
{
	static const struct walk_ops ops = { .entry = on_entry,
					     .enter = on_enter,
					     .leave = on_leave,
					     .one_only = true };
	int rc = file_remove_tree(c->links_path), gone;

	if (rc < 0)
		return rc;
	c->to = open(to, DIR_FLAGS);
	c->block = malloc(BLOCK);
	rc = c->to < 0 ? -errno : c->block ? 0 : -ENOMEM;
	if (rc == 0)
		rc = walk_tree(from, &ops, c);
	gone = file_remove_tree(c->links_path);
	return rc < 0 ? rc : gone;
}

int treecopy(const char *from, const char *to, struct err *err)
{
	SCOPED_STR links_path = str_printf("%s.links", to);
	struct copy c = { .to = -1, .links = -1, .links_path = links_path };
	int rc = links_path ? copy_all(&c, from, to) : -ENOMEM;

	fd_closep(&c.to);
	fd_closep(&c.links);
	free(c.above);
	free(c.block);
	if (rc == -ECANCELED)
		return err_set(err, rc, "the copy of %s was stopped", from);
	return rc < 0 ? err_set(err, rc,
				"not all files of %s could be copied: %s", from,
				err_text(rc)) :
			0;
}

int tree_sync(const char *path, struct err *err)
{
	SCOPED_FD fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0)
		return err_sys(err, "sync %s", path);
	return 0;
}
