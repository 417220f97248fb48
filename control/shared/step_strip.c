/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_strip.c - takes setuid bits and file capabilities from an image
 *
 * The last step of an image for agents. An agent runs without no_new_privs (the
 * vault's wrapper needs setuid), so no other way up may be left. It is done from
 * outside, by ours alone: a program of the image would be as honest as what the
 * steps before have installed.
 *
 * The tree is walked by descriptors. Its depth is limited by PATH_MAX only in
 * the image's own programs, so the walk has a limit of its own.
 */
#include "control/shared/step_strip.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "lib/str.h"

#define DEPTH_MAX 512u
#define CAPABILITY "security.capability"
#define SET_BITS (S_ISUID | S_ISGID)

struct walk {
	dev_t device;
	size_t files;
	struct err *err;
};

static int failed(struct walk *w, int code, const char *what, const char *name)
{
	char shown[128];

	return err_set(w->err, code, "%s %s: %s", what,
		       str_escape(shown, sizeof(shown), name, strlen(name)),
		       err_text(code));
}

/* Removes the capability of the entry @name of @dir. /proc/self/fd is the way
 * to one by a descriptor that follows no link. */
static int capability_drop(struct walk *w, int dir, const char *name,
			   bool *changed)
{
	SCOPED_FD fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return failed(w, -errno, "open", name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (removexattr(path, CAPABILITY) == 0)
		*changed = true;
	else if (errno != ENODATA && errno != EOPNOTSUPP)
		return failed(w, -errno, "remove the capability of", name);
	return 0;
}

static int entry_strip(struct walk *w, int dir, const char *name,
		       const struct stat *st)
{
	bool changed = false;
	int rc = 0;

	/* First: a change of the mode drops a capability, but not always. */
	if (S_ISREG(st->st_mode))
		rc = capability_drop(w, dir, name, &changed);
	if (rc == 0 && (st->st_mode & SET_BITS)) {
		if (fchmodat(dir, name, st->st_mode & 07777 & ~SET_BITS, 0) < 0)
			return failed(w, -errno, "chmod", name);
		changed = true;
	}
	w->files += changed;
	return rc;
}

static int tree_strip(struct walk *w, int fd, unsigned depth);

static int child_strip(struct walk *w, int dir, const char *name,
		       unsigned depth)
{
	struct stat st;
	int rc, fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return failed(w, -errno, "look at", name);
	if (S_ISLNK(st.st_mode))
		return 0;
	/* Of an overlay only directories have its own device. */
	if (S_ISDIR(st.st_mode) && st.st_dev != w->device)
		return failed(w, -EXDEV, "another file system at", name);
	rc = entry_strip(w, dir, name, &st);
	if (rc < 0 || !S_ISDIR(st.st_mode))
		return rc;
	if (depth == 0)
		return failed(w, -ELOOP, "too many levels at", name);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed(w, -errno, "open", name);
	return tree_strip(w, fd, depth - 1);
}

/* Takes ownership of @fd. */
static int tree_strip(struct walk *w, int fd, unsigned depth)
{
	SCOPED_DIR d = fdopendir(fd);
	const struct dirent *e;
	int rc = 0;

	if (!d) {
		rc = -errno;
		close(fd);
		return failed(w, rc, "read", "a directory");
	}
	while (rc == 0 && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = child_strip(w, fd, e->d_name, depth);
	}
	return rc;
}

/* Opens or makes the directory @name of @dir; a link is neither. */
static int dir_enter(int dir, const char *name)
{
	int fd;

	if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Replaces what has its name. @root may be an image's in which /usr/libexec is
 * a link: no start would find the list there either, so it is a failure. */
static int list_write(int root)
{
	SCOPED_FD usr = dir_enter(root, "usr");
	SCOPED_FD libexec = usr < 0 ? usr : dir_enter(usr, "libexec");
	SCOPED_FD ac = libexec < 0 ? libexec : dir_enter(libexec, "ac");
	const char *name = strrchr(STEP_STRIP_LIST, '/') + 1;
	SCOPED_FD fd = -1;

	if (ac < 0)
		return ac;
	if (unlinkat(ac, name, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(ac, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (fd < 0 || fchmod(fd, 0444) < 0)
		return -errno;
	return 0;
}

int step_strip(const char *root, size_t *ret_files, struct err *err)
{
	SCOPED_FD fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct walk w = { .err = err };
	struct stat st;
	int rc, again;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "open %s", root);
	w.device = st.st_dev;
	again = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (again < 0)
		return err_sys(err, "open %s", root);
	rc = tree_strip(&w, again, DEPTH_MAX);
	if (rc < 0)
		return rc;
	rc = list_write(fd);
	if (rc < 0)
		return err_set(err, rc, "write /" STEP_STRIP_LIST ": %s",
			       err_text(rc));
	*ret_files = w.files;
	return 0;
}
