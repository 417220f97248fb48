/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_quota.c - a disk limit by project quota
 *
 * ext4 and xfs count blocks by a project number, which each inode has and new
 * files inherit from their directory. Workspace and home of an instance share
 * one number, and so the limit. The number is stored on these two directories
 * only.
 *
 * Our numbers are 0x61000000 to 0x61ffffff. One is picked at random and taken
 * if the file system knows no use and no limit of it: other programs count up
 * from 1. A directory with another number belongs to another program's project
 * and is left alone.
 *
 * The root of a tree gets its number last, so a root with a number means a
 * finished tree. The agent's filter (init-guard/start/seccomp.c) denies the calls
 * that change these attributes.
 */
#include "control/acd/storage/disk_quota.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <linux/dqblk_xfs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "control/acd/storage/treejob.h"
#include "lib/walk.h"

#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
#define OURS 0x61000000u
#define OURS_MASK 0xff000000u
#define PICK_TRIES 32
#define BLOCK 1024u /* of the kernel's quota calls */
/* Every file costs an inode, also an empty one. */
#define BYTES_PER_INODE 4096u
#define INODES_MORE 1024u

static int quota_call(int fd, int cmd, uint32_t id, void *data)
{
	long rc = syscall(SYS_quotactl_fd, fd, QCMD((unsigned)cmd, PRJQUOTA),
			  id, data);

	return rc < 0 ? -errno : 0;
}

/* Returns true if a limit set here would be enforced. */
static bool quota_is_on(int fd)
{
	struct fs_quota_statv st = { .qs_version = FS_QSTATV_VERSION1 };

	return quota_call(fd, Q_XGETQSTATV, 0, &st) == 0 &&
	       (st.qs_flags & FS_QUOTA_PDQ_ENFD);
}

static int tree_open(const char *path)
{
	int fd = open(path, OPEN_FLAGS);

	return fd < 0 ? -errno : fd;
}

/* *ret is 0 for none. */
static int project_of(int fd, uint32_t *ret)
{
	struct fsxattr attr;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &attr) < 0)
		return -errno;
	*ret = (attr.fsx_xflags & FS_XFLAG_PROJINHERIT) ? attr.fsx_projid : 0;
	return 0;
}

static int project_set(int fd, bool is_dir, uint32_t id)
{
	struct fsxattr attr;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &attr) < 0)
		return -errno;
	attr.fsx_projid = id;
	if (is_dir)
		attr.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	return ioctl(fd, FS_IOC_FSSETXATTR, &attr) < 0 ? -errno : 0;
}

static bool is_ours(uint32_t id)
{
	return (id & OURS_MASK) == OURS;
}

/* Finds the number of the first tree that has one. -ENOTSUP: it is not ours. */
static int project_find(const char *const *paths, uint32_t *ret)
{
	*ret = 0;
	for (size_t i = 0; paths[i]; i++) {
		SCOPED_FD fd = tree_open(paths[i]);
		uint32_t id = 0;
		int rc = fd < 0 ? fd : project_of(fd, &id);

		if (rc == -ENOENT || (rc == 0 && id == 0))
			continue;
		if (rc < 0 || !is_ours(id))
			return -ENOTSUP;
		if (*ret == 0)
			*ret = id;
	}
	return 0;
}

static int project_pick(int fd, uint32_t *ret)
{
	for (int i = 0; i < PICK_TRIES; i++) {
		struct if_dqblk dq = { 0 };
		uint32_t id;
		int rc;

		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			return -EIO;
		id = OURS | (id & ~OURS_MASK);
		rc = quota_call(fd, Q_GETQUOTA, id, &dq);
		if (rc < 0 && rc != -ENOENT) /* xfs: number not in use */
			return rc;
		if (dq.dqb_curspace == 0 && dq.dqb_curinodes == 0 &&
		    dq.dqb_bhardlimit == 0) {
			*ret = id;
			return 0;
		}
	}
	return -EAGAIN;
}

/* Links and FIFOs cannot have a number; they count where they were made. */
static int on_entry(void *arg, int dirfd, const char *name,
		    const struct stat *st)
{
	SCOPED_FD fd = -1;

	if (treejob_is_canceled())
		return -ECANCELED;
	if (!S_ISREG(st->st_mode))
		return 0;
	fd = openat(dirfd, name, OPEN_FLAGS);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return project_set(fd, false, *(const uint32_t *)arg);
}

static int on_leave(void *arg, int fd)
{
	return project_set(fd, true, *(const uint32_t *)arg);
}

/* Marks all below @path and, last, @path itself. */
static int tree_mark(const char *path, uint32_t id)
{
	static const struct walk_ops ops = { .entry = on_entry,
					     .leave = on_leave };

	return walk_tree(path, &ops, &id);
}

static int trees_mark(const char *const *paths, uint32_t id, struct err *err)
{
	for (size_t i = 0; paths[i]; i++) {
		SCOPED_FD fd = tree_open(paths[i]);
		uint32_t now = 0;
		int rc = fd < 0 ? fd : project_of(fd, &now);

		if (rc == 0 && now != id)
			rc = tree_mark(paths[i], id);
		if (rc < 0 && rc != -ENOENT)
			return err_set(err, rc,
				       "count the files of %s as a project: "
				       "%s",
				       paths[i], err_text(rc));
	}
	return 0;
}

static uint64_t inodes_of(uint64_t bytes)
{
	return bytes ? bytes / BYTES_PER_INODE + INODES_MORE : 0;
}

static int limit_set(int fd, uint32_t id, uint64_t bytes)
{
	struct if_dqblk dq = {
		.dqb_bhardlimit = bytes / BLOCK,
		.dqb_ihardlimit = inodes_of(bytes),
		.dqb_valid = QIF_LIMITS,
	};

	return quota_call(fd, Q_SETQUOTA, id, &dq);
}

bool disk_quota_here(const char *path)
{
	SCOPED_FD fd = tree_open(path);

	return fd >= 0 && quota_is_on(fd);
}

int disk_quota_set(const char *const *paths, uint64_t bytes, struct err *err)
{
	SCOPED_FD fd = tree_open(paths[0]);
	struct if_dqblk dq = { 0 };
	uint32_t id = 0;
	int rc = fd < 0 ? fd : 0;

	if (rc == 0 && !quota_is_on(fd))
		rc = -ENOTSUP;
	if (rc == 0)
		rc = project_find(paths, &id);
	if (rc == 0 && id == 0)
		rc = project_pick(fd, &id);
	if (rc < 0)
		return err_set(err, rc, "project quota: %s", err_text(rc));
	rc = trees_mark(paths, id, err);
	if (rc < 0)
		return rc;
	rc = quota_call(fd, Q_GETQUOTA, id, &dq);
	if (rc == 0 && dq.dqb_curspace > bytes)
		return err_set(err, -EDQUOT,
			       "workspace and home hold %llu bytes already",
			       (unsigned long long)dq.dqb_curspace);
	if (rc == 0 && dq.dqb_curinodes > inodes_of(bytes))
		return err_set(err, -EDQUOT,
			       "workspace and home hold %llu files, more than "
			       "the %llu that come with it",
			       (unsigned long long)dq.dqb_curinodes,
			       (unsigned long long)inodes_of(bytes));
	if (rc == 0)
		rc = limit_set(fd, id, bytes);
	return rc < 0 ? err_set(err, rc, "set the project quota: %s",
				err_text(rc)) :
			0;
}

int disk_quota_drop(const char *const *paths, struct err *err)
{
	uint32_t id = 0;

	if (project_find(paths, &id) < 0 || id == 0)
		return 0;
	for (size_t i = 0; paths[i]; i++) {
		SCOPED_FD fd = tree_open(paths[i]);
		int rc = fd < 0 ? fd : limit_set(fd, id, 0);

		/* Or there is no quota. */
		if (rc == 0 || rc == -ENOTSUP || rc == -ESRCH || rc == -ENOSYS)
			return 0;
		if (rc != -ENOENT)
			return err_set(err, rc, "lift the project quota: %s",
				       err_text(rc));
	}
	return 0;
}

int disk_quota_look(const char *path, struct disk_quota *ret)
{
	SCOPED_FD fd = tree_open(path);
	struct if_dqblk dq = { 0 };
	uint32_t id = 0;
	int rc = fd < 0 ? fd : project_of(fd, &id);

	if (rc == 0 && !is_ours(id))
		rc = -ENOENT;
	if (rc == 0)
		rc = quota_call(fd, Q_GETQUOTA, id, &dq);
	if (rc < 0)
		return rc;
	*ret = (struct disk_quota){ .used = dq.dqb_curspace,
				    .limit = dq.dqb_bhardlimit * BLOCK,
				    .files = dq.dqb_curinodes,
				    .files_limit = dq.dqb_ihardlimit };
	return 0;
}
