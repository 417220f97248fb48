/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treecopy.c - all files of one tree into another, and nowhere else
 *
 * Theory of operation. The agent may have left a link where a file is to be
 * put, and acd, root, must not write through it; it may also have nested
 * directories until no path leads to the innermost, which no program copies
 * that works by paths. So both trees are walked side by side (walk.h): each
 * file is made new under one name in an open directory, what has the name
 * there is removed before, and no link is followed anywhere.
 *
 * Of a file with several names the first one is copied, and linked once more
 * in a directory beside the target, under its inode number: the other names
 * are found there however far apart they are, without a table in memory.
 */
#include "control/acd/storage/treecopy.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "control/acd/storage/treejob.h"
#include "lib/file.h"
#include "lib/str.h"
#include "lib/walk.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define BLOCK (1024u * 1024)
#define PERMISSIONS 07777u
#define ABOVE_FIRST 0x10000u /* directories above one: first room for */

struct copy {
	int to; /* the directory that the walk's is copied to */
	ino_t *above; /* of the directories above @to */
	size_t depth, room;
	const char *links_path; /* of the directory for files with links */
	int links; /* -1: there was none yet */
	char *block;
};

/* ---- what is in the way ---- */

/* @name in the target is not there any more, unless it is a directory that
 * @keep_dir. */
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

/* As far as the other file system has such a thing. */
static void attrs_copy(int from, int to)
{
	static char names[XATTR_LIST_MAX], value[XATTR_SIZE_MAX];
	ssize_t all = flistxattr(from, names, sizeof(names));

	for (ssize_t at = 0; at < all; at += (ssize_t)strlen(names + at) + 1) {
		ssize_t n = fgetxattr(from, names + at, value, sizeof(value));

		if (n >= 0)
			fsetxattr(to, names + at, value, (size_t)n, 0);
	}
}

/* Owner first, which takes the set-id bits away. */
static int dress(int from, int to, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (fchown(to, st->st_uid, st->st_gid) < 0)
		return -errno;
	attrs_copy(from, to);
	if (fchmod(to, st->st_mode & PERMISSIONS) < 0 ||
	    futimens(to, times) < 0)
		return -errno;
	return 0;
}

/* The same for what cannot be opened. */
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

/* From @at to @end. */
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
			return all < 0 ? -errno : 0; /* it became shorter */
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

/* Where there is data at or behind @at; @size: nowhere. */
static off_t data_next(int fd, off_t at, off_t size, off_t *ret_end)
{
	off_t from = lseek(fd, at, SEEK_DATA), end;

	*ret_end = size;
	if (from < 0)
		return errno == ENXIO ? size : at; /* it knows no holes */
	end = lseek(fd, from, SEEK_HOLE);
	if (end > from && end < size)
		*ret_end = end;
	return from;
}

static int contents_copy(const struct copy *c, int from, int to, off_t size)
{
	off_t at = 0, end = 0;
	int r = 0;

	while (r == 0 && at < size) {
		at = data_next(from, at, size, &end);
		if (at < size)
			r = piece_copy(c, from, to, at, end);
		at = end;
	}
	/* A hole at the end. */
	return r == 0 && ftruncate(to, size) < 0 ? -errno : r;
}

static int file_copy(const struct copy *c, int dirfd, const char *name)
{
	SCOPED_FD from = openat(dirfd, name,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	SCOPED_FD to = -1;
	struct stat st;
	int r;

	if (from < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(from, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EAGAIN; /* it was replaced as we looked */
	to = openat(c->to, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	r = contents_copy(c, from, to, st.st_size);
	if (r == 0)
		r = dress(from, to, &st);
	/* Some file systems tell here that there was no room. */
	return r == 0 && close(fd_take(&to)) < 0 ? -errno : r;
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
	int r;

	if (mknodat(c->to, name, (st->st_mode & S_IFMT) | 0600, st->st_rdev) <
	    0)
		return -errno;
	r = dress_name(c, name, st);
	/* No link: it has been made just now, where nobody else writes. */
	return r == 0 && fchmodat(c->to, name, st->st_mode & PERMISSIONS, 0) <
				       0 ?
		       -errno :
		       r;
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

/* One of several names. */
static int shared_copy(struct copy *c, int dirfd, const char *name,
		       const struct stat *st)
{
	char ino[24];
	int r = links_make(c);

	if (r < 0)
		return r;
	snprintf(ino, sizeof(ino), "%llu", (unsigned long long)st->st_ino);
	if (linkat(c->links, ino, c->to, name, 0) == 0)
		return 0;
	/* EMLINK: it has as many as it may here; then it is another file. */
	if (errno != ENOENT && errno != EMLINK)
		return -errno;
	r = one_copy(c, dirfd, name, st);
	if (r == 0 && linkat(c->to, name, c->links, ino, 0) < 0 &&
	    errno != EEXIST && errno != ENOENT)
		r = -errno;
	return r;
}

/* ---- the walk ---- */

static int on_entry(void *arg, int dirfd, const char *name,
		    const struct stat *st)
{
	struct copy *c = arg;
	int r = way_clear(c, name, S_ISDIR(st->st_mode));

	if (treejob_is_canceled())
		return -ECANCELED;
	if (r < 0 || S_ISDIR(st->st_mode))
		return r;
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

/* What is made in a directory changes its time, so it is dressed last. */
static int on_leave(void *arg, int fd)
{
	struct copy *c = arg;
	SCOPED_FD up = -1;
	struct stat st;
	int r = fstat(fd, &st) < 0 ? -errno : dress(fd, c->to, &st);

	if (r < 0 || c->depth == 0)
		return r;
	up = openat(c->to, "..", DIR_FLAGS);
	if (up < 0 || fstat(up, &st) < 0)
		return -errno;
	if (st.st_ino != c->above[--c->depth])
		return -EAGAIN; /* it was moved elsewhere */
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
	int r = file_remove_tree(c->links_path), gone;

	if (r < 0)
		return r;
	c->to = open(to, DIR_FLAGS);
	c->block = malloc(BLOCK);
	r = c->to < 0 ? -errno : c->block ? 0 : -ENOMEM;
	if (r == 0)
		r = walk_tree(from, &ops, c);
	gone = file_remove_tree(c->links_path);
	return r < 0 ? r : gone;
}

int treecopy(const char *from, const char *to, struct err *err)
{
	SCOPED_STR links_path = str_printf("%s.links", to);
	struct copy c = { .to = -1, .links = -1, .links_path = links_path };
	int r = links_path ? copy_all(&c, from, to) : -ENOMEM;

	fd_closep(&c.to);
	fd_closep(&c.links);
	free(c.above);
	free(c.block);
	if (r == -ECANCELED)
		return err_set(err, r, "the copy of %s was stopped", from);
	return r < 0 ? err_set(err, r,
			       "not all files of %s could be copied: %s", from,
			       err_text(r)) :
		       0;
}
