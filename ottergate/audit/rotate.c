/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotate.c - the file of the audit, and the rotated ones
 *
 * Theory of operation
 *
 * The chain continues with the last line of the file, or of the previous file
 * if this one is new. A killed process or a full disk may have left a part of a
 * line: no reader has accepted that as a line, so it is cut off. Any other end
 * that is no line of ours (zeros after a power cut, a manual edit) is put aside
 * by a rotation, so that the gateway starts and the gap remains visible.
 *
 * Space after the end is allocated ahead, beyond the file's size. So a sandbox
 * that fills the file system cannot stop the audit, and with it the network of
 * all others.
 */
#include "ottergate/audit/audit_impl.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "lib/log.h"
#include "lib/str.h"

#define FILE_MODE 0640

char *audit_file_name(const char *path, uint32_t n)
{
	return n ? str_printf("%s.%u", path, n) : strdup(path);
}

/* Returns the unused part of the reserve. */
static void file_close(struct audit_file *f)
{
	if (f->fd >= 0 && f->reserved > f->size &&
	    ftruncate(f->fd, (off_t)f->size) < 0)
		log_warn("%s: its unused reserve cannot be freed: %s", f->path,
			 err_text(-errno));
	f->reserved = 0;
	fd_closep(&f->fd);
}

void audit_file_close(struct audit_file *f)
{
	if (!f->path)
		return;
	file_close(f);
	free(f->path);
	f->path = NULL;
}

static int file_open(struct audit_file *f)
{
	struct stat st;

	f->fd = open(f->path,
		     O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		     FILE_MODE);
	if (f->fd < 0)
		return -errno;
	if (fstat(f->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		fd_closep(&f->fd);
		return -EINVAL;
	}
	f->size = (uint64_t)st.st_size;
	return 0;
}

bool audit_file_has_room(const struct audit_file *f)
{
	struct statvfs fs;

	/* A quarter more: the reserve itself must not fill the disk. */
	return f->reserve == 0 || (f->fd >= 0 && fstatvfs(f->fd, &fs) == 0 &&
				   (uint64_t)fs.f_bavail * fs.f_frsize >
					   f->reserve + f->reserve / 4);
}

void audit_file_reserve(struct audit_file *f)
{
	if (f->reserve == 0 || f->fd < 0 ||
	    f->reserved >= f->size + f->reserve / 2 || !audit_file_has_room(f))
		return;
	if (fallocate(f->fd, FALLOC_FL_KEEP_SIZE, (off_t)f->size,
		      (off_t)f->reserve) == 0)
		f->reserved = f->size + f->reserve;
	else if (errno == EOPNOTSUPP || errno == ENOSYS)
		f->reserve = 0;
}

/* Finds the first unused number, at most @files. */
static int file_gap(const struct audit_file *f, uint32_t files, uint32_t *ret)
{
	uint32_t n = 1;

	for (; n < files; n++) {
		SCOPED_STR name = audit_file_name(f->path, n);

		if (!name)
			return -ENOMEM;
		if (access(name, F_OK) < 0)
			break;
	}
	*ret = n;
	return 0;
}

int audit_file_rotate(struct audit_file *f, uint32_t files)
{
	uint32_t n = 0;
	int rc;

	file_close(f);
	if (access(f->path, F_OK) < 0)
		return file_open(f); /* the previous call got this far */
	if (files == 0 && unlink(f->path) < 0)
		return -errno;
	/* Up to the first gap only: an earlier failure left one. */
	rc = files ? file_gap(f, files, &n) : 0;
	if (rc < 0)
		return rc;
	for (; n > 0; n--) {
		SCOPED_STR from = audit_file_name(f->path, n - 1);
		SCOPED_STR to = audit_file_name(f->path, n);

		if (!from || !to)
			return -ENOMEM;
		if (rename(from, to) < 0)
			return -errno;
	}
	return file_open(f);
}

/* Reads the last @size bytes before @end. */
static int tail_read(int fd, uint64_t end, char *buf, size_t size, size_t *ret)
{
	size_t len = end < size ? (size_t)end : size;
	ssize_t n = pread(fd, buf, len, (off_t)(end - len));

	if (n < 0)
		return -errno;
	if ((size_t)n != len)
		return -EIO;
	*ret = len;
	return 0;
}

/* Finds the last whole line of @fd and its hash; *ret_end is its end. Returns
 * -ENODATA if there is no line, and -EBADMSG if it is none of ours. */
static int chain_find(int fd, uint64_t size, struct audit_chain *ret,
		      uint64_t *ret_end)
{
	/* a cut line and a whole one before it */
	char buf[2 * AUDIT_LINE_MAX];
	struct audit_chain prev, hash;
	const char *end, *begin;
	size_t len = 0;
	int rc = tail_read(fd, size, buf, sizeof(buf), &len);

	if (rc < 0)
		return rc;
	end = memrchr(buf, '\n', len);
	if (!end)
		return len < AUDIT_LINE_MAX && len == size ? -ENODATA :
							     -EBADMSG;
	begin = memrchr(buf, '\n', (size_t)(end - buf));
	begin = begin ? begin + 1 : buf;
	if (audit_chain_read(begin, (size_t)(end - begin), &prev, &hash) < 0 ||
	    !audit_chain_holds(begin, (size_t)(end - begin), &prev, &hash))
		return -EBADMSG;
	*ret = hash;
	*ret_end = size - len + (size_t)(end + 1 - buf);
	return 0;
}

/* Reads the last hash of the most recent rotated file, if there is one. */
static int chain_of_previous(const char *path, struct audit_chain *ret)
{
	SCOPED_STR name = audit_file_name(path, 1);
	SCOPED_FD fd = -1;
	struct stat st;
	uint64_t end;

	if (!name)
		return -ENOMEM;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	return chain_find(fd, (uint64_t)st.st_size, ret, &end);
}

/* Continues at the end of the file. Returns -EBADMSG if it does not end as a
 * log does. */
static int file_continue(struct audit_file *f, struct audit_chain *chain)
{
	uint64_t end = 0;
	int rc = chain_find(f->fd, f->size, chain, &end);

	if (rc == -ENODATA)
		rc = chain_of_previous(f->path, chain);
	if (rc < 0)
		return rc == -ENODATA ? -EBADMSG : rc;
	if (end == f->size)
		return 0;
	if (ftruncate(f->fd, (off_t)end) < 0)
		return -errno;
	f->size = end;
	return 0;
}

int audit_file_open(struct audit_file *f, const char *path, uint32_t files,
		    struct audit_chain *chain, struct err *err)
{
	int rc;

	*f = (struct audit_file){ .path = strdup(path), .fd = -1 };
	if (!f->path)
		return err_nomem(err);
	rc = file_open(f);
	if (rc < 0)
		return err_set(err, rc, "open %s: %s", path, err_text(rc));
	rc = file_continue(f, chain);
	if (rc != -EBADMSG)
		return rc < 0 ? err_set(err, rc, "read %s: %s", path,
					err_text(rc)) :
				0;
	f->broken = true;
	/* Even if no files are kept: this one shows what happened. */
	rc = audit_file_rotate(f, files ? files : 1);
	return rc < 0 ? err_set(err, rc, "rotate %s: %s", path, err_text(rc)) :
			0;
}
