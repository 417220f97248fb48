/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beneath.h - opens files below a directory whose content is not trusted:
 * openat2(2)
 *
 * The path is resolved from an open directory. Somebody else may put links into
 * it, or rename its parts, at the same time: the kernel refuses what @resolve
 * forbids at each step of the way, the last one included.
 */
#ifndef LIB_BENEATH_H
#define LIB_BENEATH_H

#include <linux/openat2.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/attr.h"

/* No way out of the directory: a link fails with -ELOOP, an absolute path and a
 * ".." that leads above it with -EXDEV. Mounts below it are followed. */
#define BENEATH_MOUNTS \
	(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
/* The same, and a mount fails with -EXDEV, too. */
#define BENEATH_STRICT (BENEATH_MOUNTS | RESOLVE_NO_XDEV)

/* Opens @path below @dir, with O_CLOEXEC added, as BENEATH_STRICT says. Returns a
 * descriptor that the caller owns, or a negative errno: -EINVAL for @flags that
 * open(2) would ignore. A FIFO blocks unless @flags has O_NONBLOCK or O_PATH. */
int beneath_open(int dir, const char *path, int flags) ATTR_WUR;
/* The same with other RESOLVE_* flags, and with O_CREAT: the new file gets @mode
 * less the umask. Without O_CREAT, @mode is 0. Fails with -EAGAIN if renames
 * disturb it again and again. */
int beneath_open_how(int dir, const char *path, int flags, mode_t mode,
		     uint64_t resolve) ATTR_WUR;

#endif
