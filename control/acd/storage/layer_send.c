/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_send.c - reads a layer and writes its changes as an archive
 *
 * Runs in a child of acd, which may wait for a slow reader. The tree is the
 * agent's: no link in it is followed, and a sandbox may write to it meanwhile.
 * What lies too deep for CHANGES_PATH_MAX is left out: no program could open it
 * by its path, and one such name must not hide all others. What overlayfs has noted is in attributes that no sandbox can set: trusted.* needs
 * CAP_SYS_ADMIN on the machine.
 */
#include "control/acd/storage/layer.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "control/acd/storage/disk_image.h"
#include "control/acd/storage/treejob.h"
#include "control/shared/changes.h"
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/str.h"
#include "lib/walk.h"

#define ATTR_OPAQUE "trusted.overlay.opaque"
#define PIECE (256u * 1024)
/* Longer files are left out, as are those over SPARSE_MIN bytes of which seven
 * eighths are holes: an agent makes them with one call, and every reader would
 * have to take terabytes of zeros. */
#define FILE_MAX (UINT64_C(16) << 30)
#define SPARSE_MIN (UINT64_C(256) << 20)

struct send {
	const struct layer_source *source;
	char path[CHANGES_PATH_MAX + 1]; /* of the entry; no slash at its end */
	size_t path_len; /* of the directory with the entry */
	size_t *ups; /* the lengths of the directories above that */
	size_t n_ups, room;
	unsigned long skipped; /* levels below a directory that is left out */
	struct buf out;
	char *piece;
};

static int flush(struct send *s)
{
	int rc = fd_write_all(s->source->out, buf_slice(&s->out).ptr,
			      buf_len(&s->out));

	buf_consume(&s->out, buf_len(&s->out));
	return rc;
}

/* ---- what overlayfs has noted ---- */

/* Returns true for a directory that hides what the user has there. */
static bool is_opaque(int dirfd, const char *name)
{
	char path[64 + NAME_MAX], yes;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd, name);
	return lgetxattr(path, ATTR_OPAQUE, &yes, 1) == 1 && yes == 'y';
}

/* ---- entries ---- */

/* Returns true for a path that the blueprint blocks, and what is below one. */
static bool is_blocked(const struct send *s)
{
	const struct strv *list = s->source->blocked;

	for (size_t i = 0; list && i < list->n; i++) {
		const char *b = list->v[i];
		size_t len = strlen(b);

		while (len > 0 && b[len - 1] == '/')
			len--;
		if (len > 0 && strncmp(s->path, b, len) == 0 &&
		    (s->path[len] == '\0' || s->path[len] == '/'))
			return true;
	}
	return false;
}

/* Makes s->path that of @name; -ENAMETOOLONG for one that is too long. */
static int path_set(struct send *s, const char *name)
{
	size_t len = s->path_len, more = strlen(name);

	if (len + 1 + more > CHANGES_PATH_MAX)
		return -ENAMETOOLONG;
	if (len > 0)
		s->path[len++] = '/';
	memcpy(s->path + len, name, more + 1);
	return 0;
}

/* Sends @size bytes of a file, zeros for what it lacks meanwhile. */
static int content_send(struct send *s, int fd, uint64_t size, bool *torn)
{
	uint64_t left = size;
	int rc = flush(s);

	while (rc == 0 && left > 0) {
		size_t want = left < PIECE ? (size_t)left : PIECE;
		ssize_t n = *torn ? 0 : read(fd, s->piece, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			*torn = true;
			memset(s->piece, 0, want);
			n = (ssize_t)want;
		}
		if (treejob_is_canceled())
			return -ECANCELED;
		rc = fd_write_all(s->source->out, s->piece, (size_t)n);
		left -= (uint64_t)n;
	}
	return rc == 0 ? changes_pad(&s->out, size) : rc;
}

/* Returns why a file is left out, CHANGE_UNSAID for one that is not. */
static enum change_other too_long(const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size;
	uint64_t held = (uint64_t)st->st_blocks * 512;

	return size > SPARSE_MIN && held < size / 8 ? CHANGE_HOLES :
	       size > FILE_MAX                      ? CHANGE_TOO_LARGE :
						      CHANGE_UNSAID;
}

static int file_send(struct send *s, int dirfd, const char *name,
		     struct change *c)
{
	SCOPED_FD fd = openat(dirfd, name,
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat before, after;
	bool torn = false;
	int rc;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : -errno;
	if (fstat(fd, &before) < 0)
		return -errno;
	if (!S_ISREG(before.st_mode))
		return 0; /* it was replaced meanwhile */
	c->other = too_long(&before);
	if (c->other != CHANGE_UNSAID) {
		c->kind = CHANGE_OTHER;
		return changes_head(&s->out, c);
	}
	c->size = (uint64_t)before.st_size;
	c->mode = before.st_mode & 07777;
	c->mtime = before.st_mtim;
	rc = changes_head(&s->out, c);
	if (rc == 0)
		rc = content_send(s, fd, c->size, &torn);
	if (rc < 0)
		return rc;
	torn = torn || fstat(fd, &after) < 0 ||
	       after.st_size != before.st_size ||
	       after.st_mtim.tv_sec != before.st_mtim.tv_sec ||
	       after.st_mtim.tv_nsec != before.st_mtim.tv_nsec;
	return torn ? changes_torn(&s->out) : 0;
}

static int link_send(struct send *s, int dirfd, const char *name,
		     struct change *c)
{
	char target[CHANGES_PATH_MAX + 1];
	ssize_t n = readlinkat(dirfd, name, target, sizeof(target));

	if (n < 0)
		return errno == ENOENT || errno == EINVAL ? 0 : -errno;
	if ((size_t)n > CHANGES_PATH_MAX)
		return -ENAMETOOLONG;
	c->target = slice_of(target, (size_t)n);
	return changes_head(&s->out, c);
}

static bool is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

static int entry_send(struct send *s, int dirfd, const char *name,
		      const struct stat *st)
{
	struct change c = {
		.kind = S_ISREG(st->st_mode) ? CHANGE_FILE :
			S_ISDIR(st->st_mode) ? CHANGE_DIR :
			S_ISLNK(st->st_mode) ? CHANGE_LINK :
			is_whiteout(st)      ? CHANGE_GONE :
					       CHANGE_OTHER,
		.path = slice_str(s->path),
		.mode = st->st_mode & 07777,
		.mtime = st->st_mtim,
	};

	c.opaque = c.kind == CHANGE_DIR && is_opaque(dirfd, name);
	if (c.kind == CHANGE_OTHER)
		c.other = S_ISFIFO(st->st_mode) ? CHANGE_FIFO :
			  S_ISSOCK(st->st_mode) ? CHANGE_SOCKET :
						  CHANGE_DEVICE;
	switch (c.kind) {
	case CHANGE_FILE:
		return file_send(s, dirfd, name, &c);
	case CHANGE_LINK:
		return link_send(s, dirfd, name, &c);
	default:
		return changes_head(&s->out, &c);
	}
}

/* ---- the walk ---- */

static int on_entry(void *arg, int dirfd, const char *name,
		    const struct stat *st)
{
	struct send *s = arg;
	int rc;

	if (s->skipped > 0)
		return 0;
	if (treejob_is_canceled())
		return -ECANCELED;
	if (path_set(s, name) < 0 || is_blocked(s))
		return 0;
	rc = entry_send(s, dirfd, name, st);
	return rc == 0 && buf_len(&s->out) >= PIECE ? flush(s) : rc;
}

static int on_enter(void *arg, int fd, const char *name)
{
	struct send *s = arg;

	(void)fd;
	if (s->skipped > 0 || path_set(s, name) < 0 || is_blocked(s)) {
		s->skipped++;
		return 0;
	}
	if (s->n_ups == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		size_t *mem = reallocarray(s->ups, room, sizeof(*mem));

		if (!mem)
			return -ENOMEM;
		s->ups = mem;
		s->room = room;
	}
	s->ups[s->n_ups++] = s->path_len;
	s->path_len = strlen(s->path);
	return 0;
}

static int on_leave(void *arg, int fd)
{
	struct send *s = arg;

	(void)fd;
	if (s->skipped > 0)
		s->skipped--;
	else if (s->n_ups > 0)
		s->path_len = s->ups[--s->n_ups];
	return 0;
}

/* A layer that was dropped, or never made, is not there. If it must be, walking
 * it says what is wrong. */
static bool source_is_there(const struct layer_source *source, const char *dir)
{
	struct stat st;

	return source->must || lstat(dir, &st) == 0 || errno != ENOENT;
}

static int upper_send(struct send *s, const char *dir)
{
	static const struct walk_ops ops = { .entry = on_entry,
					     .enter = on_enter,
					     .leave = on_leave };
	SCOPED_STR upper = str_printf("%s/upper", dir);
	int rc;

	s->piece = malloc(PIECE);
	if (!upper || !s->piece)
		return -ENOMEM;
	rc = source_is_there(s->source, dir) ? walk_tree(upper, &ops, s) : 0;
	if (rc == 0)
		rc = changes_end(&s->out);
	return rc == 0 ? flush(s) : rc;
}

/* Mounts the disk.img in a mount namespace of this process. */
static int image_show(const struct layer_source *source, struct err *err)
{
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, "a mount namespace");
	return disk_image_mount(source->image, source->at, err);
}

int layer_send(const void *what, struct err *err)
{
	const struct layer_source *source = what;
	SCOPED_STR inside = source->image ? str_printf("%s/layer", source->at) :
					    NULL;
	struct send s = { .source = source };
	int rc = 0;

	if (source->image)
		rc = inside ? image_show(source, err) : err_nomem(err);
	if (rc < 0)
		return rc;
	buf_init(&s.out, SIZE_MAX);
	/* A reader that has gone is an error of write(2). */
	signal(SIGPIPE, SIG_IGN);
	rc = upper_send(&s, inside ? inside : source->dir);
	free(s.ups);
	free(s.piece);
	buf_done(&s.out);
	return rc < 0 ? err_set(err, rc, "read the layer: %s", err_text(rc)) :
			0;
}
