/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logfile.h - a log file of bounded size: <path>, and <path>.1 before it
 */
#ifndef CONTROL_ACD_DAEMON_LOGFILE_H
#define CONTROL_ACD_DAEMON_LOGFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define LOGFILE_BYTES (8u * 1024 * 1024) /* of <path>; then it is rotated */

struct logfile;

/* Whose the files that are opened from now on become; without it they are
 * ours. */
void logfile_set_owner(uid_t uid, gid_t gid);
/* Opens for appending, mode 0640. */
int logfile_open(const char *path, uint64_t max_bytes, struct logfile **ret,
		 struct err *err);
void logfile_close(struct logfile *lf); /* NULL is fine */
/* Appends and rotates when due. A full disk loses the bytes, no more. */
void logfile_write(struct logfile *lf, const void *data, size_t len);
/* From now on @fd (say, 2) is the file as well, across rotations; whoever
 * writes there must leave the size to logfile_rotate(). */
int logfile_redirect(struct logfile *lf, int fd);
/* Rotates when the file is larger than its maximum. */
void logfile_rotate(struct logfile *lf);
/* For a file that strangers keep open for appending, so that it cannot be
 * renamed: empties it when it is larger than @max_bytes. */
void logfile_trim(const char *path, uint64_t max_bytes);

#endif
