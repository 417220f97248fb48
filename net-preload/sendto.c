/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sendto.c - the hook of sendto(2)
 *
 * send(2) has no address and is not hooked.
 */
#include "net-preload/shim.h"

#include <errno.h>

#include "net-preload/decide.h"
#include "net-preload/sys.h"

static ssize_t real(int fd, const void *data, size_t len, int flags,
		    const struct sockaddr *sa, socklen_t sa_len)
{
	shim_sendto_fn fn =
		atomic_load_explicit(&shim_real.sendto, memory_order_relaxed);

	return fn ? fn(fd, data, len, flags, sa, sa_len) :
		    syscall(SYS_sendto, fd, data, len, flags, sa, sa_len);
}

ssize_t hook_sendto(int fd, const void *data, size_t len, int flags,
		    const struct sockaddr *sa, socklen_t sa_len)
{
	struct dest d;
	int code;

	if (!shim_is_on() || !dest_read(sa, sa_len, &d))
		return real(fd, data, len, flags, sa, sa_len);
	code = decide_send(fd, &d, flags);
	if (code == 0)
		return real(fd, data, len, flags, sa, sa_len);
	errno = code;
	return -1;
}
