/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - whole files
 */
#include "lib/file.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "lib/str.h"

#define READ_CHUNK 4096u

int fd_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO; /* would go on for ever */
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t fd_read_all(int fd, void *mem, size_t max)
{
	size_t len = 0;

	while (len <= max) {
		ssize_t n = read(fd, (char *)mem + len, max + 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return (ssize_t)len;
		len += (size_t)n;
	}
	return -EMSGSIZE;
}

/* Reads to the end, whatever size fstat() reported: files of /proc report 0,
 * and others may grow. @max is below SSIZE_MAX. */
static int fd_read_text(int fd, size_t hint, size_t max, char **ret,
			size_t *ret_len)
{
	size_t cap = (hint < max ? hint : max) + 1, len = 0;
	SCOPED_STR text = malloc(cap + 1);

	if (!text)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, text + len, cap - len);
		char *more;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
		if (len < cap)
			continue;
		/* Up to one byte more than allowed, to see that it is there. */
		cap = cap < READ_CHUNK ? READ_CHUNK : cap * 2;
		if (cap > max + 1)
			cap = max + 1;
		more = realloc(text, cap + 1);
		if (!more)
			return -ENOMEM;
		text = more;
	}
	text[len] = '\0';
	*ret = ptr_take(&text);
	if (ret_len)
		*ret_len = len;
	return 0;
}

static int file_read_open(int dirfd, const char *path, int flags, size_t max,
			  char **ret, size_t *ret_len)
{
	/* Non-blocking, or a FIFO in the file's place would hold us. */
	SCOPED_FD fd =
		openat(dirfd, path,
		       flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (max > SSIZE_MAX - 2)
		max = SSIZE_MAX - 2;
	if (st.st_size > 0 && (uint64_t)st.st_size > max)
		return -EFBIG;
	/* A file of /proc has no size, and one of /proc/sys tells all in its
	 * first read and nothing after it. */
	if (st.st_size <= 0)
		st.st_size = (off_t)(max < READ_CHUNK ? max : READ_CHUNK);
	return fd_read_text(fd, (size_t)st.st_size, max, ret, ret_len);
}

int file_read(const char *path, size_t max, char **ret, size_t *ret_len)
{
	return file_read_open(AT_FDCWD, path, 0, max, ret, ret_len);
}

int file_read_at(int dirfd, const char *path, size_t max, char **ret,
		 size_t *ret_len)
{
	return file_read_open(dirfd, path, O_NOFOLLOW, max, ret, ret_len);
}

/* Fills a new file, closing it in any case. */
static int temp_fill(int temp, const void *data, size_t len, mode_t mode,
		     bool sync)
{
	SCOPED_FD fd = temp;
	int rc;

	if (fchmod(fd, mode) < 0)
		return -errno;
	rc = fd_write_all(fd, data, len);
	if (rc < 0)
		return rc;
	if (sync && fsync(fd) < 0)
		return -errno;
	/* Some file systems report a lost write only here. */
	return close(fd_take(&fd)) < 0 ? -errno : 0;
}

static int file_write(const char *path, const void *data, size_t len,
		      mode_t mode, bool sync)
{
	const char *slash = strrchr(path, '/');
	SCOPED_STR dir = slash ? strndup(path, (size_t)(slash - path) + 1) :
				 strdup("./");
	SCOPED_STR temp = NULL;
	SCOPED_FD dirfd = -1;
	int fd, rc;

	if (!dir)
		return -ENOMEM;
	/* Its name does not grow with that of the file: NAME_MAX. */
	temp = str_printf("%s.tmp-XXXXXX", dir);
	if (!temp)
		return -ENOMEM;
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return -errno;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = temp_fill(fd, data, len, mode, sync);
	if (rc == 0 && rename(temp, path) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(temp);
		return rc;
	}
	/* The new name, too, shall outlive a crash. */
	return sync && fsync(dirfd) < 0 ? -errno : 0;
}

int file_write_atomic(const char *path, const void *data, size_t len,
		      mode_t mode)
{
	return file_write(path, data, len, mode, true);
}

int file_replace(const char *path, const void *data, size_t len, mode_t mode)
{
	return file_write(path, data, len, mode, false);
}

int file_put(const char *path, const char *text)
{
	SCOPED_FD fd = open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NOCTTY |
					  O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = fd_write_all(fd, text, strlen(text));
	if (rc < 0)
		return rc;
	return close(fd_take(&fd)) < 0 ? -errno : 0;
}

int file_give(int fd, const char *path)
{
	const char *slash = strrchr(path, '/');
	SCOPED_STR dir = slash ? strndup(path, (size_t)(slash - path) + 1) :
				 strdup(".");
	struct stat of_dir, st;

	if (!dir)
		return -ENOMEM;
	if (stat(dir, &of_dir) < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid == of_dir.st_uid && st.st_gid == of_dir.st_gid)
		return 0;
	if (fchown(fd, of_dir.st_uid, of_dir.st_gid) < 0 && errno != EPERM)
		return -errno;
	return 0;
}

static int dir_make(const char *path, mode_t mode)
{
	struct stat st;
	int rc;

	if (mkdir(path, mode) == 0)
		return 0;
	/* On a read-only or foreign parent it is not always EEXIST. */
	rc = -errno;
	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	return rc;
}

int file_mkdir_for(const char *path, uid_t uid, gid_t gid)
{
	struct stat st;

	if (mkdir(path, 0700) == 0) {
		int rc = lchown(path, uid, gid) < 0 ? -errno : 0;

		/* One of root's would be taken as it is the next time. */
		if (rc < 0)
			rmdir(path);
		return rc;
	}
	if (errno != EEXIST)
		return -errno;
	return lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) ? -ENOTDIR : 0;
}

int file_mkdir_p(const char *path, mode_t mode)
{
	SCOPED_STR copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *at = copy; *at; at++) {
		int rc;

		if (*at != '/' || at == copy || at[-1] == '/')
			continue;
		*at = '\0';
		rc = dir_make(copy, mode);
		if (rc < 0)
			return rc;
		*at = '/';
	}
	return dir_make(copy, mode);
}
