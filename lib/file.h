/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - whole files and trees; nothing here follows a link it did not
 * mean to
 */
#ifndef LIB_FILE_H
#define LIB_FILE_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/err.h"

/*
 * Reads a regular file of at most @max bytes into a NUL-terminated heap
 * buffer (caller frees). -EFBIG when larger, -EINVAL when not a regular file,
 * without waiting on a FIFO. @ret_len may be NULL. file_read() is for paths
 * the user named and follows links; file_read_at() refuses a link as the
 * last component with -ELOOP.
 */
int file_read(const char *path, size_t max, char **ret, size_t *ret_len);
int file_read_at(int dirfd, const char *path, size_t max, char **ret,
		 size_t *ret_len);
/* Writes a temporary beside @path, fsyncs, renames over it. @mode is exact,
 * whatever the umask. */
int file_write_atomic(const char *path, const void *data, size_t len,
		      mode_t mode);
/* The same without waiting for the disk: for what nobody reads after the
 * machine has crashed. */
int file_replace(const char *path, const void *data, size_t len, mode_t mode);
/* Opens for writing, writes all, closes; for /proc and cgroup files. Creates
 * nothing. */
int file_put(const char *path, const char *text);
/* Gives the open file @fd to whom the directory of @path belongs. A process
 * that may not do so leaves it as it is. */
int file_give(int fd, const char *path);
/* @mode, less the umask, for each directory made; existing ones keep theirs. */
int file_mkdir_p(const char *path, mode_t mode);
/* Makes the directory @path, 0700, of @uid:@gid. One that is there stays as it
 * is; fails with -ENOTDIR for anything else, a link to a directory too. */
int file_mkdir_for(const char *path, uid_t uid, gid_t gid);
/*
 * Removes a tree without following links or crossing into another mount.
 * A missing path is success. Hostile names and depth are expected: a
 * sandbox made them. Goes on after a failure and returns the first one;
 * -EBUSY for a mount point. Nobody may write to the tree meanwhile.
 */
int file_remove_tree(const char *path);
/*
 * Bytes that a tree occupies (512-byte blocks) on its own file system; hard
 * links count once each (a file with n links counts 1/n per link). The tree
 * may be in use: what vanishes is left out, -EAGAIN when directories were
 * moved during the walk, -E2BIG beyond the limits of walk.h.
 */
int file_tree_size(const char *path, uint64_t *ret_bytes);
/* All that comes from a blocking descriptor: its length, -EMSGSIZE beyond @max,
 * -errno. @mem has room for one byte more, by which that is seen. */
ssize_t fd_read_all(int fd, void *mem, size_t max);
/* Retries on EINTR until all is written to a blocking descriptor. */
int fd_write_all(int fd, const void *data, size_t len);

#endif
