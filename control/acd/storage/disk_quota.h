/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_quota.h - a disk limit by project quota
 *
 * Setting one may take long, and is for a child.
 */
#ifndef CONTROL_ACD_STORAGE_DISK_QUOTA_H
#define CONTROL_ACD_STORAGE_DISK_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct disk_quota {
	uint64_t used, limit; /* bytes */
	uint64_t files, files_limit; /* inodes; no limit of them: 0 */
};

/* Is a project quota kept that is set below @path? */
bool disk_quota_here(const char *path);
/*
 * Lets the trees at @paths (NULL-terminated; the first must
 * exist) hold @bytes together, files that
 * are there already included. -ENOTSUP: this file system has no project
 * quota that is on, or they belong to a project of somebody else; -EDQUOT:
 * they hold more, or more files than come with so many bytes. May be
 * canceled (treejob.h).
 */
int disk_quota_set(const char *const *paths, uint64_t bytes, struct err *err);
/* Their limit, if any, is no more. */
int disk_quota_drop(const char *const *paths, struct err *err);
/* Two system calls: is there a limit, and how much of it is used? -ENOENT:
 * no project of ours. */
int disk_quota_look(const char *path, struct disk_quota *ret);

#endif
