/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.c - the overlay of a workspace in the mode `copy`
 *
 * The layer may be written only through one overlay at a time; an instance has
 * one sandbox, and what an earlier acd left mounted is undone before the next
 * run (mounts.c).
 */
#include "control/acd/storage/layer.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "lib/file.h"

/*
 * Written down, since a kernel may be built with other defaults:
 *
 *	redirect_dir  off: rename(2) of a directory of the user's is EXDEV, and mv
 *	              copies. A redirect would lead to the user's directory, which
 *	              `ac apply` moves: the files would be gone from the copy
 *	metacopy      a file in upper always has its content, which layer_send()
 *	              reads
 *	index, xino   would bind the layer to this very file system and to free
 *	              bits of its inode numbers
 */
#define OPTIONS "redirect_dir=off,metacopy=off,index=off,xino=off"

int layer_make(const char *dir, const struct stat *below)
{
	SCOPED_FD fd =
		open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (mkdirat(fd, "work", 0700) < 0 && errno != EEXIST)
		return -errno;
	if (fstatat(fd, "upper", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	/* Under another name first: an upper is complete or not there. */
	if ((mkdirat(fd, "upper.new", 0700) < 0 && errno != EEXIST) ||
	    fchownat(fd, "upper.new", below->st_uid, below->st_gid,
		     AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(fd, "upper.new", below->st_mode & 01777, 0) < 0 ||
	    renameat(fd, "upper.new", fd, "upper") < 0)
		return -errno;
	return 0;
}

int layer_mount(const char *below, const char *dir, const char *target,
		struct err *err)
{
	SCOPED_STR options = str_printf(OPTIONS
					",lowerdir=%s,upperdir=%s/upper,"
					"workdir=%s/work",
					below, dir, dir);

	if (!options)
		return err_nomem(err);
	/* They would need escapes; instances' names have none of these. */
	if (strpbrk(below, ",:\\") || strpbrk(dir, ",:\\"))
		return err_set(err, -EINVAL, "a path with one of ,:\\");
	if (mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV,
		  options) == 0)
		return 0;
	if (errno == EINVAL || errno == EOPNOTSUPP || errno == ENODEV)
		return err_set(err, -ENOTSUP,
			       "a copy of your directory cannot be kept in "
			       "$AC_HOME (overlayfs: %s): put AC_HOME on ext4, "
			       "xfs or btrfs, or work in the directory itself "
			       "(--workspace DIR:live)",
			       err_text(-errno));
	return err_sys(err, "mount the overlay of the workspace");
}
