/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.c - the file server: mkdir, remove, rename
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "init-guard/files/impl.h"
#include "lib/file.h"

#define DIR_MODE 0755u

int files_make_parents(const char *path)
{
	char dir[FILEWIRE_PATH_MAX + 1];
	size_t len = strlen(path);

	memcpy(dir, path, len + 1);
	while (len > 0 && dir[len - 1] == '/')
		len--;
	while (len > 0 && dir[len - 1] != '/')
		len--;
	dir[len] = '\0';
	return len > 0 ? file_mkdir_p(dir, DIR_MODE) : 0;
}

int files_mkdir(const struct files_request *r)
{
	const mode_t mode = r->rq.mode ? r->rq.mode : DIR_MODE;
	struct stat st;
	int rc;

	if (!(r->rq.flags & FILEWIRE_PARENTS))
		return mkdir(r->path, mode) < 0 ? -errno : 0;
	rc = files_make_parents(r->path);
	if (rc < 0)
		return rc;
	if (mkdir(r->path, mode) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	if (stat(r->path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int files_remove(const struct files_request *r)
{
	struct stat st;

	if (lstat(r->path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return unlink(r->path) < 0 ? -errno : 0;
	if (r->rq.flags & FILEWIRE_RECURSIVE)
		return file_remove_tree(r->path);
	return rmdir(r->path) < 0 ? -errno : 0;
}

int files_move(int from_dir, const char *from, int to_dir, const char *to,
	       bool exclusive)
{
	struct stat st;

	if (exclusive) {
		if (renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE) ==
		    0)
			return 0;
		if (errno != EINVAL && errno != ENOSYS)
			return -errno;
		/* The workspace of a gVisor sandbox lacks RENAME_NOREPLACE:
		 * then there are two steps, and only the agent can
		 * interfere. */
		if (fstatat(to_dir, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return -EEXIST;
		if (errno != ENOENT)
			return -errno;
	}
	return renameat(from_dir, from, to_dir, to) < 0 ? -errno : 0;
}

int files_rename(const struct files_request *r)
{
	return files_move(AT_FDCWD, r->path, AT_FDCWD, r->other,
			  r->rq.flags & FILEWIRE_EXCLUSIVE);
}
