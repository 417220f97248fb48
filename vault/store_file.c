/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_file.c - the files of a store
 */
#include "vault/store_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "lib/file.h"
#include "lib/str.h"

/* 200 ms in total: acd waits here, and all sandboxes with it. A writer needs a
 * few. */
#define LOCK_TRIES 10u
#define LOCK_NAP_NS 20000000L

/* Verifies that others can neither read nor change it. */
static int check_rights(const struct sfile_dir *d, const char *name,
			const struct stat *st, struct err *err)
{
	const char *slash = *name ? "/" : "";

	if (st->st_uid != 0 && st->st_uid != geteuid() &&
	    st->st_uid != d->owner)
		return err_set(err, -EPERM,
			       "%s%s%s belongs to user %u: if it is yours, "
			       "chown it to you",
			       d->path, slash, name, (unsigned)st->st_uid);
	if (st->st_mode & 077)
		return err_set(err, -EPERM,
			       "%s%s%s is open to others: chmod %s %s%s%s",
			       d->path, slash, name,
			       S_ISDIR(st->st_mode) ? "700" : "600", d->path,
			       slash, name);
	return 0;
}

static int lock_take(int dirfd, const struct sfile_dir *d, int *ret,
		     struct err *err)
{
	static const struct timespec nap = { .tv_nsec = LOCK_NAP_NS };
	SCOPED_FD fd = openat(dirfd, "lock",
			      O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_sys(err, "%s/lock", d->path);
	for (unsigned i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			*ret = fd_take(&fd);
			return 0;
		}
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(err, "%s/lock", d->path);
		nanosleep(&nap, NULL);
	}
	return err_set(
		err, -EBUSY,
		"another process is using the vault; try again (%s/lock)",
		d->path);
}

int sfile_begin(struct sfile_dir *d, bool create, struct err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
	struct stat st;
	SCOPED_FD fd = open(d->path, flags);
	int rc;

	if (fd < 0 && errno == ENOENT && !create)
		return -ENOENT;
	if (fd < 0 && errno == ENOENT) {
		if (mkdir(d->path, 0700) < 0 && errno != EEXIST)
			return err_sys(err, "%s", d->path);
		fd = open(d->path, flags);
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "%s", d->path);
	rc = check_rights(d, "", &st, err);
	if (rc == 0)
		rc = lock_take(fd, d, &d->lock, err);
	if (rc == 0)
		d->fd = fd_take(&fd);
	return rc;
}

void sfile_end(struct sfile_dir *d)
{
	fd_closep(&d->fd);
	fd_closep(&d->lock);
}

int sfile_open(const struct sfile_dir *d, const char *name, size_t max,
	       int *ret_fd, struct stat *ret_st, struct err *err)
{
	SCOPED_FD fd = openat(d->fd, name,
			      O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int rc;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return err_sys(err, "%s/%s", d->path, name);
	if (!S_ISREG(ret_st->st_mode))
		return err_set(err, -EINVAL, "%s/%s is not a regular file",
			       d->path, name);
	rc = check_rights(d, name, ret_st, err);
	if (rc < 0)
		return rc;
	if ((uint64_t)ret_st->st_size > max)
		return err_set(err, -EFBIG, "%s/%s is larger than %zu bytes",
			       d->path, name, max);
	*ret_fd = fd_take(&fd);
	return 0;
}

int sfile_read(int fd, void *to, size_t len)
{
	uint8_t *p = to;
	size_t at = 0;

	while (at < len) {
		ssize_t n = pread(fd, p + at, len - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		at += (size_t)n;
	}
	return 0;
}

static int temp_write(const struct sfile_dir *d, const char *temp,
		      struct slice data)
{
	SCOPED_FD fd = -1;
	int rc;

	/* left by a process that was killed here */
	if (unlinkat(d->fd, temp, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(d->fd, temp,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	rc = fchmod(fd, 0600) < 0 ? -errno : 0;
	if (rc == 0)
		rc = fd_write_all(fd, data.ptr, data.len);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	/* Some file systems report a full disk only here. */
	if (close(fd_take(&fd)) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

/* Links @name as @backup, replacing a file of that name. */
static int backup_make(const struct sfile_dir *d, const char *name,
		       const char *backup)
{
	SCOPED_STR temp = str_printf("%s.new", backup);

	if (!temp)
		return -ENOMEM;
	if (unlinkat(d->fd, temp, 0) < 0 && errno != ENOENT)
		return -errno;
	if (linkat(d->fd, name, d->fd, temp, 0) < 0)
		return errno == ENOENT ? 0 : -errno;
	return renameat(d->fd, temp, d->fd, backup) < 0 ? -errno : 0;
}

int sfile_remove(const struct sfile_dir *d, const char *const *names,
		 struct err *err)
{
	bool gone = false;

	for (; *names; names++) {
		if (unlinkat(d->fd, *names, 0) == 0)
			gone = true;
		else if (errno != ENOENT)
			return err_sys(err, "remove %s/%s", d->path, *names);
	}
	if (gone && fsync(d->fd) < 0)
		return err_sys(err, "sync %s", d->path);
	return 0;
}

int sfile_write(const struct sfile_dir *d, const char *name, const char *backup,
		struct slice data, struct err *err)
{
	SCOPED_STR temp = str_printf("%s.new", name);
	int rc = temp ? temp_write(d, temp, data) : -ENOMEM;

	if (rc == 0 && backup)
		rc = backup_make(d, name, backup);
	if (rc == 0 && renameat(d->fd, temp, d->fd, name) < 0)
		rc = -errno;
	if (rc < 0 && temp)
		unlinkat(d->fd, temp, 0);
	if (rc == 0 && fsync(d->fd) < 0)
		rc = -errno;
	return rc < 0 ? err_set(err, rc, "write %s/%s: %s", d->path, name,
				err_text(rc)) :
			0;
}
