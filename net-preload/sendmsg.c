/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sendmsg.c - the hook of sendmsg(2)
 */
#include "net-preload/shim.h"

#include <errno.h>

#include "net-preload/decide.h"
#include "net-preload/sys.h"

static ssize_t real(int fd, const struct msghdr *msg, int flags)
{
	shim_sendmsg_fn fn =
		atomic_load_explicit(&shim_real.sendmsg, memory_order_relaxed);

	return fn ? fn(fd, msg, flags) : syscall(SYS_sendmsg, fd, msg, flags);
}

ssize_t hook_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct dest d;
	int code;

	if (!shim_is_on() || !msg ||
	    !dest_read(msg->msg_name, msg->msg_namelen, &d))
		return real(fd, msg, flags);
	code = decide_send(fd, &d, flags);
	if (code == 0)
		return real(fd, msg, flags);
	errno = code;
	return -1;
}
