/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_vfs.h - a file system for SQLite that can only read
 */
#ifndef CONTROL_CLI_HOST_STORE_VFS_H
#define CONTROL_CLI_HOST_STORE_VFS_H

#include <sqlite3.h>

#include "lib/err.h"

/*
 * Opens the database @path with its write-ahead log, if there is one. Both are
 * opened O_RDONLY, no lock is taken, and no file is made, changed or removed:
 * the log's index is in memory. The caller closes *ret with sqlite3_close_v2().
 * Returns 0, -ENOENT, -EACCES, or -EUCLEAN if it is no database or damaged.
 */
int store_vfs_open(const char *path, sqlite3 **ret, struct err *err);

#endif
