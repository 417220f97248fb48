/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked.c - paths of a workspace that its sandbox must not see
 *
 * A path is resolved below the workspace without following any link, and the
 * cover goes on the descriptor that was found, so nothing can be swapped in
 * between. A link is refused: its target may be visible by another name, so
 * covering it would promise too much.
 *
 * A mount covers the file at the path, not its name. If a directory above were
 * renamed, the cover would move along, and in the next run nothing would be at
 * the path. So each directory above becomes a mount point of itself, and no
 * process with these mounts can rename or remove it. The user, who does not
 * have these mounts, can.
 */
#include "control/acd/storage/blocked.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "control/acd/storage/idmap.h"
#include "lib/beneath.h"
#include "lib/file.h"

int blocked_prepare(const char *covers)
{
	SCOPED_STR dir = str_printf("%s/dir", covers);
	SCOPED_STR file = str_printf("%s/file", covers);
	int rc = dir && file ? file_mkdir_p(covers, 0700) : -ENOMEM;

	if (rc == 0)
		rc = file_mkdir_p(dir, 0755);
	if (rc == 0)
		rc = file_write_atomic(file, "", 0, 0);
	return rc;
}

/* Opens a detached, read-only mount of a cover. */
static int cover_open(const char *covers, const char *kind)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
	};
	SCOPED_STR path = str_printf("%s/%s", covers, kind);
	SCOPED_FD fd = path ? idmap_open(path) : -ENOMEM;

	if (fd < 0)
		return fd;
	if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attr,
		    sizeof(attr)) < 0)
		return -errno;
	return fd_take(&fd);
}

/* Opens @path. Returns -ENOENT if nothing is there. */
static int path_open(int workspace, const char *path)
{
	char text[PATH_MAX];
	size_t len = strlen(path);
	int fd;

	/* A slash at the end would require a directory. */
	while (len > 0 && path[len - 1] == '/')
		len--;
	if (len == 0 || len >= sizeof(text))
		return -EINVAL;
	memcpy(text, path, len);
	text[len] = '\0';
	fd = beneath_open_how(workspace, text, O_PATH | O_NOFOLLOW, 0,
			      BENEATH_MOUNTS);
	/* Nothing exists below a file. */
	return fd == -ENOTDIR ? -ENOENT : fd;
}

static bool is_mount_root(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) == 0 &&
	       (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static int attach(int mount, int at)
{
	return syscall(SYS_move_mount, mount, "", at, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ?
		       -errno :
		       0;
}

/* Makes the directory @at a mount point of itself, with the same owners and
 * flags. Returns a descriptor of the mount, or a copy of @at if it is one. */
static int dir_pin(int at)
{
	SCOPED_FD self = -1;
	int rc;

	if (is_mount_root(at)) {
		rc = fcntl(at, F_DUPFD_CLOEXEC, 0);
		return rc < 0 ? -errno : rc;
	}
	self = (int)syscall(SYS_open_tree, at, "",
			    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
				    AT_EMPTY_PATH);
	if (self < 0)
		return -errno;
	rc = attach(self, at);
	return rc < 0 ? rc : fd_take(&self);
}

/* Pins each directory above @path and opens @path. Continues from the
 * descriptors of the pins, so nothing can be swapped in between. */
static int path_pin(int workspace, const char *path)
{
	SCOPED_STR copy = strdup(path);
	char *rest = copy, *name, *next;
	SCOPED_FD dir = fcntl(workspace, F_DUPFD_CLOEXEC, 0);

	if (!copy)
		return -ENOMEM;
	for (name = strsep(&rest, "/"); dir >= 0; name = next) {
		SCOPED_FD at = path_open(dir, name);
		struct stat st;
		int rc;

		/* "dir/" is the directory itself. */
		next = rest && *rest ? strsep(&rest, "/") : NULL;
		if (!next || at < 0)
			return fd_take(&at);
		if (fstat(at, &st) < 0)
			return -errno;
		if (S_ISLNK(st.st_mode))
			return -ELOOP;
		rc = dir_pin(at);
		if (rc < 0)
			return rc;
		close(dir);
		dir = rc;
	}
	return -errno;
}

static int cover_one(int workspace, const char *covers, const char *path)
{
	SCOPED_FD found = path_open(workspace, path);
	/* Directories above a missing path stay movable. */
	SCOPED_FD at = found < 0 ? found : path_pin(workspace, path);
	SCOPED_FD cover = -1;
	struct stat st;

	if (at == -ENOENT)
		return 0;
	if (at < 0)
		return at;
	if (fstat(at, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	cover = cover_open(covers, S_ISDIR(st.st_mode) ? "dir" : "file");
	return cover < 0 ? cover : attach(cover, at);
}

int blocked_cover(const char *workspace, const char *covers,
		  const struct strv *paths, struct err *err)
{
	SCOPED_FD fd =
		open(workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, "open %s", workspace);
	for (size_t i = 0; i < paths->n; i++) {
		int rc = cover_one(fd, covers, paths->v[i]);

		if (rc == -ELOOP)
			return err_set(err, rc,
				       "the blocked path '%s' is a symbolic "
				       "link, or there is one in it: name what "
				       "it points to, or remove the link",
				       paths->v[i]);
		if (rc < 0)
			return err_set(err, rc, "block '%s': %s", paths->v[i],
				       err_text(rc));
	}
	return 0;
}

char *blocked_missing(const char *workspace, const struct strv *paths)
{
	SCOPED_FD fd =
		open(workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char *list = NULL;

	for (size_t i = 0; fd >= 0 && i < paths->n; i++) {
		SCOPED_FD at = path_open(fd, paths->v[i]);
		SCOPED_STR before = NULL;

		/* A path that has appeared since is not covered either. */
		if (at >= 0 && is_mount_root(at))
			continue;
		before = ptr_take(&list);
		list = str_printf("%s%s%s", before ? before : "",
				  before ? ", " : "", paths->v[i]);
		if (!list)
			break;
	}
	return list;
}
