/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_vfs.h - a file system for SQLite that can only read
 */
#ifndef CONTROL_CLI_HOST_STORE_VFS_H
#define CONTROL_CLI_HOST_STORE_VFS_H

#include <sqlite3.h>

#include "lib/err.h"

/*
 * Opens the database @path with its write-ahead log, if it has one. Both are
 * opened O_RDONLY, no lock is taken, and no file is made, changed or removed:
 * the index of the log is in memory. -ENOENT, -EACCES; -EUCLEAN: it is no
 * database, or is damaged. Close with sqlite3_close_v2().
 */
int store_vfs_open(const char *path, sqlite3 **ret, struct err *err);

#endif
