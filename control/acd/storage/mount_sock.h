/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_sock.h - takes directories of the user's as descriptors
 *
 * There is one socket, so the state is global in the process.
 */
#ifndef CONTROL_ACD_STORAGE_MOUNT_SOCK_H
#define CONTROL_ACD_STORAGE_MOUNT_SOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/loop.h"

/* A directory for the instance @name was sent. @to: AC_MNT/NAME for a mount of
 * a blueprint, "" for the workspace. Takes ownership of @fd, also on failure.
 * Returns 0 or a negative errno, which the peer is told. */
typedef int (*mount_sock_fn)(const char *name, const char *to, int fd, bool ro,
			     struct err *err);

/* Listens at @path, owned by @uid:@gid, mode 0600. Returns 0 or a negative errno
 * with @err. */
int mount_sock_open(struct loop *loop, const char *path, uint32_t uid,
		    uint32_t gid, mount_sock_fn take, struct err *err);
void mount_sock_close(void); /* harmless when not open */
/* Sets how many ms a peer has for its message; 10 s by default. */
void mount_sock_limit(unsigned ms);

#endif
