/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.c - the hook of connect(2)
 */
#include "net-preload/shim.h"

#include <errno.h>

#include "net-preload/decide.h"
#include "net-preload/say.h"
#include "net-preload/sys.h"

static int real(int fd, const struct sockaddr *sa, socklen_t len)
{
	shim_connect_fn fn =
		atomic_load_explicit(&shim_real.connect, memory_order_relaxed);

	return fn ? fn(fd, sa, len) : (int)syscall(SYS_connect, fd, sa, len);
}

/* A sandbox has no IPv6. If that is the kernel's only objection, the user is
 * told once. */
static int real_ipv6(int fd, const struct sockaddr *sa, socklen_t len)
{
	int rc = real(fd, sa, len), code = errno;

	if (rc < 0 && (code == ENETUNREACH || code == EADDRNOTAVAIL ||
		       code == EAFNOSUPPORT)) {
		if (decide_protocol(fd) == DEST_TCP)
			say_ipv6();
		errno = code;
	}
	return rc;
}

int hook_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	struct dest d;
	int code;

	if (!shim_is_on())
		return real(fd, sa, len);
	if (!dest_read(sa, len, &d))
		return dest_is_ipv6(sa, len) ? real_ipv6(fd, sa, len) :
					       real(fd, sa, len);
	code = decide_connect(fd, &d);
	if (code == 0)
		return real(fd, sa, len);
	errno = code;
	return -1;
}
