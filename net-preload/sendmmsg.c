/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sendmmsg.c - the hook of sendmmsg(2)
 *
 * The messages before the first denied one are sent and their number is
 * returned, as for any other error of a message (sendmmsg(2), "Return value"):
 * the program gets the error at its next call, for the first message.
 */
#include "net-preload/shim.h"

#include <errno.h>

#include "net-preload/decide.h"
#include "net-preload/sys.h"

#define MESSAGES_MAX 1024u /* UIO_MAXIOV: the kernel looks at no more */

static int real(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	shim_sendmmsg_fn fn =
		atomic_load_explicit(&shim_real.sendmmsg, memory_order_relaxed);

	return fn ? fn(fd, msgs, n, flags) :
		    (int)syscall(SYS_sendmmsg, fd, msgs, n, flags);
}

int hook_sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	if (!shim_is_on() || !msgs)
		return real(fd, msgs, n, flags);
	for (unsigned i = 0; i < n && i < MESSAGES_MAX; i++) {
		const struct msghdr *m = &msgs[i].msg_hdr;
		struct dest d;
		int code;

		if (!dest_read(m->msg_name, m->msg_namelen, &d))
			continue;
		code = decide_send(fd, &d, flags);
		if (code == 0)
			continue;
		if (i > 0)
			return real(fd, msgs, i, flags);
		errno = code;
		return -1;
	}
	return real(fd, msgs, n, flags);
}
