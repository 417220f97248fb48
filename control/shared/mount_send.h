/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_send.h - hands a directory to acd over mount.sock
 */
#ifndef CONTROL_SHARED_MOUNT_SEND_H
#define CONTROL_SHARED_MOUNT_SEND_H

#include <stdbool.h>

#include "lib/err.h"

#define MOUNT_ANSWER_MAX 4096u

#define MOUNT_ID_MAX 64u

/* Writes device and inode of the directory @fd as text that another process can
 * compare, "" if fstat() fails. Returns @out. */
const char *mount_id_text(int fd, char out[MOUNT_ID_MAX]);

/*
 * Makes a detached copy of the mount at the directory @dir (borrowed; O_PATH is
 * enough), without mounts below it, and sends it to acd as the workspace of
 * @instance, a checked name; or for its mount at @to (name_is_mount()), if that
 * is not NULL. Waits up to 20 s. Returns 0 with acd's JSON in
 * @answer, NUL-terminated: acd may have refused. Fails with -EPERM without
 * CAP_SYS_ADMIN, -ENOTCONN if acd cannot be reached, -EIO if it does not
 * answer, or another negative errno, with @err.
 */
int mount_send(const char *sock_path, const char *instance, const char *to,
	       int dir, bool read_only, char answer[MOUNT_ANSWER_MAX],
	       struct err *err);

#endif
