/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_quota.h - a disk limit by project quota
 *
 * Setting one may take long, so it runs in a child.
 */
#ifndef CONTROL_ACD_STORAGE_DISK_QUOTA_H
#define CONTROL_ACD_STORAGE_DISK_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct disk_quota {
	uint64_t used, limit; /* bytes */
	uint64_t files, files_limit; /* inodes; limit 0: none */
};

/* Returns true if a project quota that is set below @path would be enforced;
 * false also if @path cannot be opened. */
bool disk_quota_here(const char *path);
/*
 * Limits the trees at @paths (NULL-terminated; the first must exist) to @bytes
 * together, including files that exist. Returns 0; -ENOTSUP if the file system
 * has no active project quota, or a tree belongs to a project of another
 * program; -EDQUOT if they hold more bytes or more files than that allows;
 * -ECANCELED (treejob.h); or another negative errno. After a failure an earlier
 * limit still holds.
 */
int disk_quota_set(const char *const *paths, uint64_t bytes, struct err *err);
/* Removes the limit of the trees at @paths. Returns 0, also if there is none or
 * no quota, or a negative errno with @err. */
int disk_quota_drop(const char *const *paths, struct err *err);
/* Sets *ret to limit and use of the project of @path, with a few system calls.
 * Returns 0, -ENOENT if @path does not exist or is in no project of ours, or
 * another negative errno. */
int disk_quota_look(const char *path, struct disk_quota *ret);

#endif
