/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beneath.c - opens files below a directory whose content is not trusted
 */
#include "lib/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 64u /* a rename anywhere disturbs a path with ".." */

int beneath_open_how(int dir, const char *path, int flags, mode_t mode,
		     uint64_t resolve)
{
	const struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.mode = mode,
		.resolve = resolve,
	};
	long fd = -1;

	for (unsigned i = 0; i < TRIES && fd < 0; i++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd < 0 && errno != EAGAIN && errno != EINTR)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

int beneath_open(int dir, const char *path, int flags)
{
	return beneath_open_how(dir, path, flags, 0, BENEATH_STRICT);
}
