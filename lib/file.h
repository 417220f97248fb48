/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - whole files and directory trees
 *
 * Every function returns 0 or a negative errno unless its comment says
 * otherwise. Descriptors stay the caller's.
 */
#ifndef LIB_FILE_H
#define LIB_FILE_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/err.h"

/*
 * Reads a regular file of at most @max bytes into a NUL-terminated heap buffer,
 * which the caller frees; @ret_len may be NULL. Fails with -EFBIG when the file
 * is larger and with -EINVAL when it is not a regular file; *@ret is unchanged
 * then. Never blocks on a FIFO.
 *
 * file_read() follows links, for paths that the user named; file_read_at()
 * fails with -ELOOP if the last component is a link.
 */
int file_read(const char *path, size_t max, char **ret, size_t *ret_len);
int file_read_at(int dirfd, const char *path, size_t max, char **ret,
		 size_t *ret_len);
/*
 * Writes a temporary file in the same directory, fsyncs it, renames it over
 * @path and fsyncs the directory. The file gets exactly @mode, whatever the
 * umask. On failure @path keeps its old content, unless only the last fsync
 * failed.
 */
int file_write_atomic(const char *path, const void *data, size_t len,
		      mode_t mode);
/* Like file_write_atomic() without fsync, for files that need not survive a
 * crash of the machine. */
int file_replace(const char *path, const void *data, size_t len, mode_t mode);
/* Overwrites an existing file, for /proc and cgroups. Fails with -ENOENT if
 * there is none and with -ELOOP for a link. After another failure the file may
 * be empty or have a part of @text. */
int file_put(const char *path, const char *text);
/* Gives the open file @fd the owner and group of the directory that holds
 * @path. Without the privilege to do so, changes nothing and returns 0. */
int file_give(int fd, const char *path);
/* Creates @path and its missing parents with @mode less the umask. Existing
 * directories, and links to some, are left as they are. Fails with -ENOTDIR if
 * one of them is anything else; what was created stays. */
int file_mkdir_p(const char *path, mode_t mode);
/* Creates the directory @path with mode 0700, owned by @uid:@gid. An existing
 * directory is left as it is; fails with -ENOTDIR if @path is anything else, a
 * link to a directory included. */
int file_mkdir_for(const char *path, uid_t uid, gid_t gid);
/*
 * Removes a tree; follows no links and does not cross mounts. Succeeds if @path
 * does not exist. Names and depth may be hostile, as a sandbox made them; but
 * nothing may write to the tree at the same time.
 *
 * Continues after a failure and returns the first one: -EBUSY for a mount
 * point.
 */
int file_remove_tree(const char *path);
/* Links all files of the directory @from, which has no directories, into @to,
 * which exists and is in the same file system. Names that begin with a dot are
 * left out. Returns 0 or a negative errno; some may be there then. */
int file_link_all(const char *from, const char *to);
/*
 * Sets *@ret_bytes to the disk space of a tree, counting 512-byte blocks on its
 * own file system; a file with n links counts 1/n for each link.
 *
 * The tree may be in use: what vanishes is skipped. Fails with -ENOENT if @path
 * does not exist, with -EAGAIN if a directory was moved during the walk, and
 * with -E2BIG beyond the limits of walk_tree(); *@ret_bytes is unchanged then.
 */
int file_tree_size(const char *path, uint64_t *ret_bytes);
/* Reads a blocking descriptor to its end. Returns the length, -EMSGSIZE if more
 * than @max bytes come, or a negative errno. @mem must have room for @max + 1
 * bytes: one byte too many is how that is seen. Writes no NUL. */
ssize_t fd_read_all(int fd, void *mem, size_t max);
/* Writes all bytes to a blocking descriptor, retrying on EINTR. Some may have
 * been written when it fails. */
int fd_write_all(int fd, const void *data, size_t len);

#endif
