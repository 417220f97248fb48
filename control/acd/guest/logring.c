/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logring.c - the last bytes of a run's terminal output, on disk
 *
 * <path> is written until it has half of the ring; then it replaces <path>.1
 * and a new one is begun. The older file has the positions [start, seam), the
 * newer [seam, end). What is on disk when the ring is opened begins at position
 * 0.
 *
 * The bytes come from a sandbox; nothing is interpreted but newlines. No
 * sandbox sees the files' folder.
 */
#include "control/acd/guest/logring.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/file.h"
#include "lib/str.h"

#define TAIL_BLOCK 16384u

struct logring {
	char *path, *old_path;
	int fd, old_fd; /* old_fd -1: not rotated yet */
	uint64_t half; /* bytes a file may have */
	uint64_t start, seam, end;
	uint64_t dropped;
	unsigned owners;
};

static int segment_open(const char *path, int flags, int *ret_fd,
			uint64_t *ret_size)
{
	SCOPED_FD fd =
		open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/* The user reads it while acd does not run. */
	if (flags & O_CREAT)
		(void)file_give(fd, path);
	*ret_size = (uint64_t)st.st_size;
	*ret_fd = fd_take(&fd);
	return 0;
}

static int segments_open(struct logring *r, bool fresh)
{
	uint64_t old_size = 0, size = 0;
	int rc;

	/* Removed, not emptied: the old files may still be read. */
	if (fresh && ((unlink(r->old_path) < 0 && errno != ENOENT) ||
		      (unlink(r->path) < 0 && errno != ENOENT)))
		return -errno;
	if (!fresh) {
		rc = segment_open(r->old_path, 0, &r->old_fd, &old_size);
		if (rc < 0 && rc != -ENOENT)
			return rc;
	}
	rc = segment_open(r->path, O_CREAT, &r->fd, &size);
	if (rc < 0)
		return rc;
	r->seam = old_size;
	r->end = old_size + size;
	return 0;
}

int logring_open(const char *path, uint64_t max_bytes, bool fresh,
		 struct logring **ret, struct err *err)
{
	struct logring *r = calloc(1, sizeof(*r));
	int rc = -ENOMEM;

	if (r) {
		r->owners = 1;
		r->fd = r->old_fd = -1;
		r->half = max_bytes / 2 ? max_bytes / 2 : 1;
		r->path = strdup(path);
		r->old_path = str_printf("%s.1", path);
		if (r->path && r->old_path)
			rc = segments_open(r, fresh);
	}
	if (rc < 0) {
		logring_close(r);
		return err_set(err, rc, "open the log %s: %s", path,
			       err_text(rc));
	}
	*ret = r;
	return 0;
}

struct logring *logring_ref(struct logring *r)
{
	r->owners++;
	return r;
}

void logring_close(struct logring *r)
{
	if (!r || --r->owners > 0)
		return;
	fd_closep(&r->fd);
	fd_closep(&r->old_fd);
	free(r->path);
	free(r->old_path);
	free(r);
}

/* Begins a new segment. If that fails, the ring keeps its current one. */
static int rotate(struct logring *r)
{
	int fd = -1;
	uint64_t size;
	int rc;

	if (rename(r->path, r->old_path) < 0)
		return -errno;
	rc = segment_open(r->path, O_CREAT | O_EXCL, &fd, &size);
	if (rc < 0) {
		/* The older segment is lost, but not the current one. */
		fd_closep(&r->old_fd);
		r->start = r->seam;
		return rename(r->old_path, r->path) < 0 ? -errno : rc;
	}
	fd_closep(&r->old_fd);
	r->old_fd = r->fd;
	r->fd = fd;
	r->start = r->seam;
	r->seam = r->end;
	return 0;
}

void logring_write(struct logring *r, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		uint64_t used = r->end - r->seam;
		size_t room;
		ssize_t n;

		if (used >= r->half) {
			if (rotate(r) < 0)
				break;
			used = 0;
		}
		room = r->half - used < len ? (size_t)(r->half - used) : len;
		n = pwrite(r->fd, p, room, (off_t)used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		r->end += (uint64_t)n;
		p += n;
		len -= (size_t)n;
	}
	r->dropped += len;
}

uint64_t logring_end(const struct logring *r)
{
	return r->end;
}

uint64_t logring_dropped(const struct logring *r)
{
	return r->dropped;
}

/* Reads at most up to the end of the segment with @pos. */
static ssize_t segment_read(const struct logring *r, uint64_t pos, void *data,
			    size_t len)
{
	bool old = pos < r->seam;
	uint64_t base = old ? r->start : r->seam;
	uint64_t limit = old ? r->seam : r->end;
	ssize_t n;

	if (limit - pos < len)
		len = (size_t)(limit - pos);
	do {
		n = pread(old ? r->old_fd : r->fd, data, len,
			  (off_t)(pos - base));
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t logring_read(struct logring *r, uint64_t *pos, void *data, size_t len,
		     uint64_t *ret_skipped)
{
	uint64_t skipped = 0;
	ssize_t n;

	if (*pos < r->start) {
		skipped = r->start - *pos;
		*pos = r->start;
	}
	if (ret_skipped)
		*ret_skipped = skipped;
	if (*pos >= r->end)
		return 0;
	n = segment_read(r, *pos, data, len);
	if (n > 0)
		*pos += (uint64_t)n;
	return n == 0 && len > 0 ? -EIO : n; /* the file was cut */
}

/*
 * Searches backwards, a block at a time. The newline at the very end begins no
 * line.
 */
uint64_t logring_tail(const struct logring *r, uint64_t lines)
{
	uint64_t pos = r->end;
	char block[TAIL_BLOCK];

	if (lines == 0)
		return r->end;
	while (pos > r->start) {
		uint64_t low = pos <= r->seam ? r->start : r->seam;
		size_t want = pos - low < TAIL_BLOCK ? (size_t)(pos - low) :
						       TAIL_BLOCK;
		uint64_t at = pos - want;

		if (segment_read(r, at, block, want) != (ssize_t)want)
			return pos;
		for (size_t i = want; i-- > 0;) {
			if (block[i] == '\n' && at + i + 1 != r->end &&
			    --lines == 0)
				return at + i + 1;
		}
		pos = at;
	}
	return r->start;
}
