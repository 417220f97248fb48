/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write.c - the file server: writing a file
 *
 * An atomic write goes to a temporary file in the same directory, which
 * replaces the old one at the end. It gets the old one's mode unless the
 * request gives one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "init-guard/files/impl.h"
#include "lib/file.h"

#define MODE_NEW 0644u
#define TEMP_TRIES 8

/* Opens the directory of @path and copies its last component to w->name. */
static int open_parent(struct files_write *w, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char dir[FILEWIRE_PATH_MAX + 1] = ".";
	size_t len;

	if (name[0] == '\0' || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return -EISDIR;
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	if (slash) {
		len = slash == path ? 1 : (size_t)(slash - path);
		memcpy(dir, path, len);
		dir[len] = '\0';
	}
	memcpy(w->name, name, strlen(name) + 1);
	w->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return w->dir < 0 ? -errno : 0;
}

static int open_temp(struct files_write *w, mode_t mode)
{
	uint64_t salt;
	int i;

	for (i = 0; i < TEMP_TRIES; i++) {
		if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
			return -EIO;
		snprintf(w->temp, sizeof(w->temp), ".ac-%016llx",
			 (unsigned long long)salt);
		w->fd = openat(w->dir, w->temp,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				       O_CLOEXEC,
			       mode);
		if (w->fd >= 0)
			return 0;
		w->temp[0] = '\0'; /* not ours to remove */
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int begin_atomic(struct files_write *w, const struct files_request *r)
{
	const bool given = r->rq.flags & FILEWIRE_MODE;
	mode_t mode = given ? r->rq.mode : MODE_NEW;
	struct stat st;
	int rc = open_parent(w, r->path);

	if (rc < 0)
		return rc;
	if (fstatat(w->dir, w->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (r->rq.flags & FILEWIRE_EXCLUSIVE)
			return -EEXIST;
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		if (!given && S_ISREG(st.st_mode))
			mode = st.st_mode & 0777;
	}
	rc = open_temp(w, mode);
	if (rc < 0)
		return rc;
	/* the mode as requested, whatever the umask */
	return fchmod(w->fd, mode) < 0 ? -errno : 0;
}

static int begin_in_place(struct files_write *w, const struct files_request *r)
{
	/* O_NONBLOCK: a pipe without a reader must not block us. */
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	const bool given = r->rq.flags & FILEWIRE_MODE;
	struct stat st;

	if (r->rq.flags & FILEWIRE_TRUNCATE)
		flags |= O_TRUNC;
	if (r->rq.flags & FILEWIRE_EXCLUSIVE)
		flags |= O_EXCL;
	w->fd = open(r->path, flags, given ? r->rq.mode : MODE_NEW);
	if (w->fd < 0 || fstat(w->fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

int files_write_begin(struct files_write *w, const struct files_request *r)
{
	int rc = 0;

	*w = (struct files_write){
		.fd = -1,
		.dir = -1,
		.exclusive = r->rq.flags & FILEWIRE_EXCLUSIVE,
		.at = r->rq.offset,
		.mtime = r->rq.mtime,
	};
	if (r->rq.flags & FILEWIRE_PARENTS)
		rc = files_make_parents(r->path);
	if (rc == 0)
		rc = r->rq.flags & FILEWIRE_ATOMIC ? begin_atomic(w, r) :
						     begin_in_place(w, r);
	if (rc < 0)
		files_write_abort(w);
	return rc;
}

int files_write_data(struct files_write *w, struct slice data)
{
	struct slice piece;
	ssize_t n;

	while (data.len > 0) {
		if (w->at > INT64_MAX - data.len)
			return -EFBIG;
		n = pwrite(w->fd, data.ptr, data.len, (off_t)w->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		if (slice_take(&data, (size_t)n, &piece) < 0)
			return -EIO;
		w->at += (uint64_t)n;
		w->bytes += (uint64_t)n;
	}
	return 0;
}

int files_write_end(struct files_write *w)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)w->mtime },
	};
	int rc;

	if (w->mtime && futimens(w->fd, times) < 0)
		return -errno;
	/* some file systems report a full disk only here */
	if (close(fd_take(&w->fd)) < 0)
		return -errno;
	if (!w->temp[0])
		return 0;
	rc = files_move(w->dir, w->temp, w->dir, w->name, w->exclusive);
	if (rc == 0)
		w->temp[0] = '\0';
	return rc;
}

void files_write_abort(struct files_write *w)
{
	if (w->temp[0])
		unlinkat(w->dir, w->temp, 0);
	w->temp[0] = '\0';
	fd_closep(&w->fd);
	fd_closep(&w->dir);
}
