/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked.h - paths of a workspace that its sandbox must not see
 */
#ifndef CONTROL_ACD_STORAGE_BLOCKED_H
#define CONTROL_ACD_STORAGE_BLOCKED_H

#include "lib/err.h"
#include "lib/str.h"

/* Makes an empty file and an empty directory in @covers, to cover paths with.
 * Returns 0 or a negative errno. */
int blocked_prepare(const char *covers);
/* Covers each of @paths that exists below the mount @workspace, in which no
 * process runs yet. Makes each directory above it a mount point of itself, so
 * that it cannot be moved away with the hidden file. All but directories are
 * covered by the file, including FIFOs and sockets. Returns 0; -ELOOP if a link
 * is in the way; -EINVAL if one is no path; another negative errno. */
int blocked_cover(const char *workspace, const char *covers,
		  const struct strv *paths, struct err *err);
/* Returns those of @paths that are not covered, since they did not exist: "a,
 * b" (the caller frees it), or NULL if all are; also NULL without memory or if
 * @workspace cannot be opened. */
char *blocked_missing(const char *workspace, const struct strv *paths);

#endif
