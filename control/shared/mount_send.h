/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_send.h - the client side of mount.sock: a directory for acd
 */
#ifndef CONTROL_SHARED_MOUNT_SEND_H
#define CONTROL_SHARED_MOUNT_SEND_H

#include <stdbool.h>

#include "lib/err.h"

#define MOUNT_ANSWER_MAX 4096u

/*
 * Makes a detached copy of the mount at @dir and hands it to acd as the
 * workspace of @instance (a checked name). @answer gets acd's JSON, ended by
 * NUL. -EPERM: no CAP_SYS_ADMIN here.
 */
int mount_send(const char *sock_path, const char *instance, const char *dir,
	       bool read_only, char answer[MOUNT_ANSWER_MAX], struct err *err);

#endif
