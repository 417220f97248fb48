/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_send.h - the client side of mount.sock: a directory for acd
 */
#ifndef CONTROL_SHARED_MOUNT_SEND_H
#define CONTROL_SHARED_MOUNT_SEND_H

#include <stdbool.h>

#include "lib/err.h"

#define MOUNT_ANSWER_MAX 4096u

#define MOUNT_ID_MAX 64u

/* What the directory @fd is, as text for another process: "" when the kernel
 * does not say. Returns @out. */
const char *mount_id_text(int fd, char out[MOUNT_ID_MAX]);

/*
 * Makes a detached copy of the mount at the directory @dir (a descriptor,
 * O_PATH is enough; borrowed) and hands it to acd as the workspace of @instance
 * (a checked name). @answer gets acd's JSON, ended by NUL. Fails with -EPERM
 * without CAP_SYS_ADMIN.
 */
int mount_send(const char *sock_path, const char *instance, int dir,
	       bool read_only, char answer[MOUNT_ANSWER_MAX], struct err *err);

#endif
