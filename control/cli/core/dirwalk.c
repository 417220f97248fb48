/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dirwalk.c - opens a directory of the user's once, and judges what was opened
 *
 * Theory of operation: a name that was checked may mean something else when it
 * is opened. An agent that works in a directory above can replace a directory
 * by a link at any moment. So each component is opened relative to the
 * descriptor before it, a link is read from its own descriptor, and the caller
 * judges the final descriptor.
 *
 * Whether one directory is in another is checked in two ways. The way up by
 * ".." sees mounts as the user does, but not that a bind mount shows the same
 * files elsewhere. The place in the file system does (device, path of the
 * mount's root, path below the mount).
 */
#include "control/cli/core/dirwalk.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/beneath.h"
#include "lib/file.h"
#include "lib/str.h"

#define UP_MAX 4096u /* directories on the way to the root */
#define MOUNTINFO_MAX (16u * 1024 * 1024)

static void (*hook_fn)(void *arg, const char *name);
static void *hook_arg;

void dirwalk_hook(void (*fn)(void *arg, const char *name), void *arg)
{
	hook_fn = fn;
	hook_arg = arg;
}

/* ---- the walk down ---- */

/* Opens @name, which has no '/'; it may be "." or "..". */
static int part_open(int dir, const char *name, int flags)
{
	int fd = beneath_open_how(dir, name, O_PATH | flags, 0,
				  RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

	/* An older kernel, or a seccomp filter that does not know it. */
	if (fd != -ENOSYS && fd != -EPERM)
		return fd;
	fd = openat(dir, name, O_PATH | O_CLOEXEC | O_NOFOLLOW | flags);
	return fd < 0 ? -errno : fd;
}

static int turn_add(struct dirwalk *w, int dir, bool link)
{
	int fd;

	if (w->n_turns == DIRWALK_TURNS_MAX)
		return -ELOOP;
	fd = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	w->turns[w->n_turns++] = (struct dirwalk_turn){ fd, link };
	return 0;
}

/* Replaces *rest by the link's text and the rest of the path. */
static int link_follow(struct dirwalk *w, int link, char **rest)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof(target));
	char *joined;
	int rc;

	if (n < 0)
		return -errno;
	if (n == 0 || n == (ssize_t)sizeof(target))
		return -ENAMETOOLONG;
	rc = turn_add(w, w->fd, true);
	if (rc < 0)
		return rc;
	joined = str_printf("%.*s/%s", (int)n, target, *rest);
	if (!joined)
		return -ENOMEM;
	free(*rest);
	*rest = joined;
	w->linked = true;
	return 0;
}

/* Handles a component that is no directory: a link, or an error. */
static int step_other(struct dirwalk *w, const char *name,
		      enum dirwalk_links links, char **rest)
{
	SCOPED_FD fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return -ENOTDIR;
	return links == DIRWALK_NO_LINKS ? -ELOOP : link_follow(w, fd, rest);
}

static int step(struct dirwalk *w, const char *name, enum dirwalk_links links,
		char **rest)
{
	int fd;

	if (hook_fn)
		hook_fn(hook_arg, name);
	/* O_DIRECTORY makes an automounter mount what it has there. */
	fd = part_open(w->fd, name, O_DIRECTORY);
	if (fd == -ENOTDIR || fd == -ELOOP)
		return step_other(w, name, links, rest);
	if (fd < 0)
		return fd;
	close(w->fd);
	w->fd = fd;
	return strcmp(name, "..") == 0 ? turn_add(w, fd, false) : 0;
}

static int start(struct dirwalk *w, const char *path)
{
	int fd = open(*path == '/' ? "/" : ".",
		      O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (w->fd >= 0)
		close(w->fd);
	w->fd = fd;
	return 0;
}

/* Moves the first component of *rest to @name. Returns false if there is
 * none. */
static int component(char *rest, char name[NAME_MAX + 1])
{
	size_t skip = strspn(rest, "/");
	size_t len = strcspn(rest + skip, "/");

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, rest + skip, len);
	name[len] = '\0';
	memmove(rest, rest + skip + len, strlen(rest + skip + len) + 1);
	return len > 0;
}

int dirwalk_open(const char *path, enum dirwalk_links links,
		 struct dirwalk *ret)
{
	SCOPED_STR rest = str_printf("%s", path);
	char name[NAME_MAX + 1];
	int rc;

	memset(ret, 0, sizeof(*ret));
	ret->fd = -1;
	if (!rest)
		return -ENOMEM;
	if (!*path)
		return -ENOENT;
	rc = start(ret, path);
	while (rc == 0 && (rc = component(rest, name)) > 0) {
		size_t turns = ret->n_turns;

		if (strlen(rest) > PATH_MAX)
			return -ENAMETOOLONG;
		if (strcmp(name, ".") == 0) {
			rc = 0;
			continue;
		}
		rc = step(ret, name, links, &rest);
		if (rc == 0 && ret->n_turns > turns && ret->turns[turns].link &&
		    *rest == '/')
			rc = start(ret, rest);
	}
	return rc;
}

void dirwalk_done(struct dirwalk *w)
{
	fd_closep(&w->fd);
	while (w->n_turns > 0)
		fd_closep(&w->turns[--w->n_turns].fd);
}

/* ---- its place ---- */

int dirwalk_id(int fd, struct dir_id *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret = (struct dir_id){ st.st_dev, st.st_ino };
	return 0;
}

static int mount_id(int fd, uint64_t *ret)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &sx) < 0)
		return -errno;
	if (!(sx.stx_mask & STATX_MNT_ID))
		return -ENOTSUP;
	*ret = sx.stx_mnt_id;
	return 0;
}

static size_t id_find(const struct dir_id *id, const struct dir_id *ids,
		      size_t n)
{
	size_t i = 0;

	while (i < n && (ids[i].dev != id->dev || ids[i].ino != id->ino))
		i++;
	return i;
}

/* Opens the directory above @fd. Returns 1 if @fd is the root: its own parent
 * in the same mount. */
static int above_open(int fd, const struct dir_id *here, int *ret)
{
	SCOPED_FD above = part_open(fd, "..", O_DIRECTORY);
	uint64_t mount = 0, mount_up = 0;
	struct dir_id up = { 0 };
	int rc = above < 0 ? above : dirwalk_id(above, &up);

	if (rc == 0)
		rc = mount_id(fd, &mount);
	if (rc == 0)
		rc = mount_id(above, &mount_up);
	if (rc < 0)
		return rc;
	*ret = fd_take(&above);
	return mount == mount_up && id_find(&up, here, 1) == 0;
}

ssize_t dirwalk_above(int fd, const struct dir_id *ids, size_t n)
{
	SCOPED_FD at = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (at < 0)
		return -errno;
	for (unsigned i = 0; i < UP_MAX; i++) {
		struct dir_id here = { 0 };
		int above = -1, rc = dirwalk_id(at, &here);
		size_t found;

		if (rc < 0)
			return rc;
		found = id_find(&here, ids, n);
		if (found < n)
			return (ssize_t)found;
		rc = above_open(at, &here, &above);
		if (rc < 0)
			return rc;
		close(at);
		at = above;
		if (rc > 0)
			return (ssize_t)n;
	}
	return -ELOOP;
}

int dirwalk_name(int fd, char **ret)
{
	char link[32], path[PATH_MAX];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0 || fstat(fd, &st) < 0)
		return -errno;
	path[n] = '\0';
	if (path[0] != '/' || st.st_nlink == 0)
		return -ENOENT;
	*ret = strdup(path);
	return *ret ? 0 : -ENOMEM;
}

/* The place of a directory in its file system. */
struct place {
	char dev[24]; /* "8:1" */
	char *path;
};

static void place_done(struct place *p)
{
	free(p->path);
	p->path = NULL;
}

/* Decodes "\040" and the like. */
static void unescape(char *s)
{
	char *out = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] &&
		    s[3]) {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
					(s[3] - '0'));
			s += 4;
		} else {
			*out++ = *s++;
		}
	}
	*out = '\0';
}

/* Returns @name without the mount point, or NULL if it is not below it. */
static const char *below(const char *name, const char *point)
{
	size_t len = strcmp(point, "/") == 0 ? 0 : strlen(point);

	if (strncmp(name, point, len) != 0 ||
	    (name[len] != '\0' && name[len] != '/'))
		return NULL;
	return name + len;
}

/* Parses a line of mountinfo (proc(5)): "id parent maj:min root point …". */
static int place_of_line(char *line, uint64_t id, const char *name,
			 struct place *ret)
{
	char *field[5], *save = NULL;
	const char *rest;
	size_t n;

	for (n = 0; n < 5; n++) {
		field[n] = strtok_r(n == 0 ? line : NULL, " ", &save);
		if (!field[n])
			return 0;
	}
	if (strtoull(field[0], NULL, 10) != id)
		return 0;
	unescape(field[3]);
	unescape(field[4]);
	rest = below(name, field[4]);
	if (!rest)
		return -EBADMSG;
	snprintf(ret->dev, sizeof(ret->dev), "%s", field[2]);
	ret->path = str_printf("%s%s",
			       strcmp(field[3], "/") == 0 ? "" : field[3],
			       strcmp(rest, "/") == 0 ? "" : rest);
	return ret->path ? 1 : -ENOMEM;
}

static int place_of(int fd, struct place *ret)
{
	SCOPED_STR name = NULL;
	SCOPED_STR text = NULL;
	char *line, *save = NULL;
	SCOPED_FD info = -1;
	uint64_t id = 0;
	ssize_t len;
	int rc = mount_id(fd, &id);

	if (rc == 0)
		rc = dirwalk_name(fd, &name);
	if (rc < 0 || !name)
		return rc < 0 ? rc : -ENOENT;
	info = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	text = malloc(MOUNTINFO_MAX + 1);
	if (info < 0 || !text)
		return text ? -errno : -ENOMEM;
	len = fd_read_all(info, text, MOUNTINFO_MAX);
	if (len < 0)
		return (int)len;
	text[len] = '\0';
	for (line = strtok_r(text, "\n", &save); line && rc == 0;
	     line = strtok_r(NULL, "\n", &save))
		rc = place_of_line(line, id, name, ret);
	return rc > 0 ? 0 : rc < 0 ? rc : -EBADMSG;
}

static bool place_in(const struct place *outer, const struct place *inner)
{
	return strcmp(outer->dev, inner->dev) == 0 &&
	       below(inner->path, *outer->path ? outer->path : "/") != NULL;
}

int dirwalk_contains(int outer, int inner)
{
	struct place a = { 0 }, b = { 0 };
	struct dir_id id = { 0 };
	ssize_t up;
	int rc = dirwalk_id(outer, &id);

	if (rc < 0)
		return rc;
	up = dirwalk_above(inner, &id, 1);
	if (up <= 0)
		return up < 0 ? (int)up : 1;
	rc = place_of(outer, &a);
	if (rc == 0)
		rc = place_of(inner, &b);
	if (rc == 0)
		rc = a.path && b.path ? place_in(&a, &b) : -ENOENT;
	place_done(&a);
	place_done(&b);
	return rc;
}
