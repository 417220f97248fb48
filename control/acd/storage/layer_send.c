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
#define ATTR_FROM "trusted.overlay.redirect"
#define ATTR_BELOW "trusted.overlay.origin"
#define PIECE (256u * 1024)

/* Where the walk is: a directory of the archive, and the user's below it. */
struct place {
	size_t path_len; /* of send.path, above it */
	char *from; /* path of the user's directory below; "": the workspace
		     * itself; NULL: none */
};

struct send {
	const struct layer_source *source;
	char path[CHANGES_PATH_MAX + 1]; /* of the entry; no slash at its end */
	size_t path_len; /* of the directory with the entry */
	struct place *places; /* the way down to it */
	size_t n_places, room;
	unsigned long
		skip_below; /* levels below a directory that is left out */
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

/* Reads an attribute of @name in @dirfd without following a link. Returns its
 * length, 0 if there is none. */
static ssize_t attr_get(int dirfd, const char *name, const char *attr,
			char *ret, size_t size)
{
	char path[64 + NAME_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd, name);
	n = lgetxattr(path, attr, ret, size);
	return n < 0 ? 0 : n;
}

static bool attr_has(int dirfd, const char *name, const char *attr)
{
	char path[64 + NAME_MAX];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd, name);
	return lgetxattr(path, attr, NULL, 0) >= 0;
}

static bool is_opaque(int dirfd, const char *name)
{
	char yes;

	return attr_get(dirfd, name, ATTR_OPAQUE, &yes, 1) == 1 && yes == 'y';
}

/*
 * Sets *@ret to the path of the user's directory that lies below the directory
 * @name, whose attributes @fd and @at lead to; NULL: none does. It is what its
 * redirect names, from the workspace or, without a slash, beside the parent's;
 * else the parent's with its own name. Returns 1 if the sandbox has moved it,
 * else 0, or -ENOMEM.
 */
static int from_find(const struct send *s, int fd, const char *at,
		     const char *name, char **ret)
{
	const char *up = s->places[s->n_places - 1].from;
	char to[PATH_MAX];
	ssize_t n = attr_get(fd, at, ATTR_FROM, to, sizeof(to) - 1);

	*ret = NULL;
	to[n] = '\0';
	if (is_opaque(fd, at) || (!up && to[0] != '/'))
		return 0;
	if (to[0] == '/')
		*ret = strdup(to + 1);
	else
		*ret = str_printf("%s%s%s", up, *up ? "/" : "",
				  n > 0 ? to : name);
	return *ret ? n > 0 : -ENOMEM;
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

static int dir_send(struct send *s, int dirfd, const char *name,
		    struct change *c)
{
	SCOPED_STR from = NULL;
	int moved = from_find(s, dirfd, name, name, &from);

	c->opaque = is_opaque(dirfd, name);
	if (moved > 0)
		c->from = slice_str(from);
	return moved < 0 ? moved : changes_head(&s->out, c);
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

	c.below = (c.kind == CHANGE_FILE || c.kind == CHANGE_LINK) &&
		  attr_has(dirfd, name, ATTR_BELOW);
	switch (c.kind) {
	case CHANGE_FILE:
		return file_send(s, dirfd, name, &c);
	case CHANGE_DIR:
		return dir_send(s, dirfd, name, &c);
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

	if (s->skip_below > 0)
		return 0;
	if (treejob_is_canceled())
		return -ECANCELED;
	if (path_set(s, name) < 0 || is_blocked(s))
		return 0;
	rc = entry_send(s, dirfd, name, st);
	return rc == 0 && buf_len(&s->out) >= PIECE ? flush(s) : rc;
}

/* Takes @from. */
static int place_push(struct send *s, char *from)
{
	if (s->n_places == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		struct place *mem = reallocarray(s->places, room, sizeof(*mem));

		if (!mem) {
			free(from);
			return -ENOMEM;
		}
		s->places = mem;
		s->room = room;
	}
	s->places[s->n_places++] = (struct place){ s->path_len, from };
	return 0;
}

static int on_enter(void *arg, int fd, const char *name)
{
	struct send *s = arg;
	char *from = NULL;
	int rc;

	if (s->skip_below > 0 || path_set(s, name) < 0 || is_blocked(s)) {
		s->skip_below++;
		return 0;
	}
	/* "." is the directory itself, whatever its name is now. */
	rc = from_find(s, fd, ".", name, &from);
	if (rc >= 0)
		rc = place_push(s, from);
	if (rc == 0)
		s->path_len = strlen(s->path);
	return rc;
}

static int on_leave(void *arg, int fd)
{
	struct send *s = arg;

	(void)fd;
	if (s->skip_below > 0) {
		s->skip_below--;
	} else if (s->n_places > 1) {
		struct place *p = &s->places[--s->n_places];

		s->path_len = p->path_len;
		free(p->from);
	}
	return 0;
}

static int upper_send(struct send *s, const char *dir)
{
	static const struct walk_ops ops = { .entry = on_entry,
					     .enter = on_enter,
					     .leave = on_leave };
	SCOPED_STR upper = str_printf("%s/upper", dir);
	char *from = strdup("");
	int rc;

	s->piece = malloc(PIECE);
	if (!upper || !from || !s->piece) {
		free(from);
		return -ENOMEM;
	}
	rc = place_push(s, from);
	if (rc == 0)
		rc = walk_tree(upper, &ops, s);
	/* There is no upper yet. */
	if (rc == -ENOENT && buf_len(&s->out) == 0)
		rc = 0;
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
	while (s.n_places > 0)
		free(s.places[--s.n_places].from);
	free(s.places);
	free(s.piece);
	buf_done(&s.out);
	return rc < 0 ? err_set(err, rc, "read the layer: %s", err_text(rc)) :
			0;
}
