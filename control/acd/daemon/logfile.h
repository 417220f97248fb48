/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logfile.h - a log file of bounded size, with its predecessor <path>.1
 */
#ifndef CONTROL_ACD_DAEMON_LOGFILE_H
#define CONTROL_ACD_DAEMON_LOGFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define LOGFILE_BYTES (8u * 1024 * 1024) /* the usual @max_bytes */

struct logfile;

/* Sets the owner of files that are opened from now on; by default they are
 * acd's. */
void logfile_set_owner(uid_t uid, gid_t gid);
/* Opens @path for appending, mode 0640; the caller closes *ret. The file is
 * rotated when it has more than @max_bytes. Returns 0 or a negative errno with
 * @err. */
int logfile_open(const char *path, uint64_t max_bytes, struct logfile **ret,
		 struct err *err);
/* Closes the file; the descriptor of logfile_redirect() stays open. NULL is
 * fine. */
void logfile_close(struct logfile *lf);
/* Appends, and rotates when due. Bytes that cannot be written, as on a full
 * disk, are lost. */
void logfile_write(struct logfile *lf, const void *data, size_t len);
/* Makes the descriptor @fd, such as 2, lead to the file, also after rotations.
 * Code that writes to it must call logfile_rotate() itself. Only one @fd for a
 * file. Returns 0 or a negative errno. */
int logfile_redirect(struct logfile *lf, int fd);
/* Rotates if the file is larger than its maximum. If that fails, writing goes
 * on in the file. */
void logfile_rotate(struct logfile *lf);
/* Empties the file @path if it is larger than @max_bytes; for files that other
 * programs keep open for appending, which cannot be renamed. Ignores
 * failures. */
void logfile_trim(const char *path, uint64_t max_bytes);

#endif
