/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idmap.h - detached mounts whose file owners are swapped with the agent's
 */
#ifndef CONTROL_ACD_STORAGE_IDMAP_H
#define CONTROL_ACD_STORAGE_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * Writes the lines of a uid_map that swaps @a and @b and keeps every other
 * id. Pure. -ENOBUFS.
 */
int idmap_swap_lines(char *out, size_t size, uint32_t a, uint32_t b);

/* A detached copy of the mount at @path (a directory, no link), without
 * what is mounted below it. Returns the descriptor. */
int idmap_open(const char *path);
/*
 * Sets the attributes of a detached mount: nosuid, nodev, read-only on
 * request, and @uid and @gid swapped with the agent's. Where the kernel or
 * the file system knows no such mapping, the mount is left as it is and 1 is
 * returned, 0 when it was mapped (or needs none).
 */
int idmap_apply(int mount_fd, uint32_t uid, uint32_t gid, bool ro);
/* The same for the swap with another id than the agent's. */
int idmap_apply_as(int mount_fd, uint32_t uid, uint32_t gid, uint32_t as,
		   bool ro);
/* Mounts it at @path; the descriptor stays the caller's. */
int idmap_attach(int mount_fd, const char *path);
/* Forgets the cached user namespace. */
void idmap_done(void);

#endif
