/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked.h - paths of a workspace that its sandbox must not see
 */
#ifndef CONTROL_ACD_STORAGE_BLOCKED_H
#define CONTROL_ACD_STORAGE_BLOCKED_H

#include "lib/err.h"
#include "lib/str.h"

/* Makes what paths are covered with in the directory @covers: an empty file
 * and an empty directory. */
int blocked_prepare(const char *covers);
/* Covers each of @paths that exists below the mount @workspace, where nothing
 * runs yet, and makes each directory above it a mount point of itself, so that
 * it cannot be moved away with what it hides. -ELOOP: a link is in the way of one, -EINVAL: no path. What is
 * no directory is covered by the file, FIFOs and sockets as well. */
int blocked_cover(const char *workspace, const char *covers,
		  const struct strv *paths, struct err *err);
/* Which of @paths are not covered there, since they did not exist: "a, b".
 * NULL: all are. */
char *blocked_missing(const char *workspace, const struct strv *paths);

#endif
