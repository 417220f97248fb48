/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logfile.c - a log file of bounded size, with its predecessor <path>.1
 *
 * Rotation renames, so a reader that follows the name sees another inode and
 * goes on there; it loses nothing.
 */
#include "control/acd/daemon/logfile.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "lib/file.h"
#include "lib/str.h"

struct logfile {
	char *path, *old_path;
	uint64_t max;
	int fd;
	int alias; /* descriptor of logfile_redirect(), or -1 */
};

static struct {
	bool set;
	uid_t uid;
	gid_t gid;
} owner;

void logfile_set_owner(uid_t uid, gid_t gid)
{
	owner.set = true;
	owner.uid = uid;
	owner.gid = gid;
}

static int file_open(const char *path)
{
	int fd = open(path,
		      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		      0600);

	if (fd < 0)
		return -errno;
	/* Not fatal: acd can still show it to a user who cannot read it. */
	if ((owner.set && fchown(fd, owner.uid, owner.gid) < 0) ||
	    fchmod(fd, 0640) < 0)
		return fd;
	return fd;
}

int logfile_open(const char *path, uint64_t max_bytes, struct logfile **ret,
		 struct err *err)
{
	struct logfile *lf = calloc(1, sizeof(*lf));

	if (!lf)
		return err_set(err, -ENOMEM, "log %s: out of memory", path);
	lf->alias = -1;
	lf->max = max_bytes;
	lf->path = str_printf("%s", path);
	lf->old_path = str_printf("%s.1", path);
	lf->fd = lf->path && lf->old_path ? file_open(path) : -ENOMEM;
	if (lf->fd < 0) {
		int rc = lf->fd;

		logfile_close(lf);
		return err_set(err, rc, "open log %s: %s", path, err_text(rc));
	}
	*ret = lf;
	return 0;
}

void logfile_close(struct logfile *lf)
{
	if (!lf)
		return;
	if (lf->fd >= 0)
		close(lf->fd);
	free(lf->path);
	free(lf->old_path);
	free(lf);
}

void logfile_rotate(struct logfile *lf)
{
	struct stat st;
	int fd;

	if (fstat(lf->fd, &st) < 0 || (uint64_t)st.st_size <= lf->max)
		return;
	if (rename(lf->path, lf->old_path) < 0)
		return;
	fd = file_open(lf->path);
	if (fd < 0)
		return; /* go on writing to the renamed file */
	close(lf->fd);
	lf->fd = fd;
	if (lf->alias >= 0)
		dup2(lf->fd, lf->alias);
}

void logfile_write(struct logfile *lf, const void *data, size_t len)
{
	fd_write_all(lf->fd, data, len);
	logfile_rotate(lf);
}

int logfile_redirect(struct logfile *lf, int fd)
{
	if (dup2(lf->fd, fd) < 0)
		return -errno;
	lf->alias = fd;
	return 0;
}

void logfile_trim(const char *path, uint64_t max_bytes)
{
	SCOPED_FD fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || (uint64_t)st.st_size <= max_bytes)
		return;
	if (ftruncate(fd, 0) < 0)
		return; /* the next call tries again */
}
