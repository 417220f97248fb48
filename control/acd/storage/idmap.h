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
 * Writes the lines of a uid_map that swaps @a and @b and keeps every other id.
 * Has no side effects. Returns 0, -ENOBUFS, or -EINVAL for an invalid id.
 */
int idmap_swap_lines(char *out, size_t size, uint32_t a, uint32_t b);

/* Returns a detached copy of the mount at @path (a directory, no link), without
 * what is mounted below it, as a descriptor that the caller owns; or a negative
 * errno. */
int idmap_open(const char *path);
/* The same for the open directory @dir, which stays the caller's. */
int idmap_open_at(int dir);
/*
 * Sets the attributes of a detached mount: nosuid, nodev, read-only if @ro, and
 * @uid and @gid swapped with the agent's. Returns 0 if it is mapped or needs no
 * mapping; 1 if kernel or file system cannot map (the mount is unmapped then);
 * or a negative errno.
 */
int idmap_apply(int mount_fd, uint32_t uid, uint32_t gid, bool ro);
/* The same for a swap with the id @as. */
int idmap_apply_as(int mount_fd, uint32_t uid, uint32_t gid, uint32_t as,
		   bool ro);
/* Mounts it at @path; the descriptor stays the caller's. Returns 0 or a
 * negative errno. */
int idmap_attach(int mount_fd, const char *path);
/* Closes the cached user namespace. */
void idmap_done(void);

#endif
