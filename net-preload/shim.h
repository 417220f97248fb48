/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim.h - what the hooks share: the real functions, and whether to look
 */
#ifndef NET_PRELOAD_SHIM_H
#define NET_PRELOAD_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>

typedef int (*shim_connect_fn)(int, const struct sockaddr *, socklen_t);
typedef ssize_t (*shim_sendto_fn)(int, const void *, size_t, int,
				  const struct sockaddr *, socklen_t);
typedef ssize_t (*shim_sendmsg_fn)(int, const struct msghdr *, int);
typedef int (*shim_sendmmsg_fn)(int, struct mmsghdr *, unsigned, int);
typedef int (*shim_prctl_fn)(int, ...);

/*
 * The next definition of each name (dlsym(3), RTLD_NEXT): the C library's, or
 * that of another object between it and us. NULL before our constructor ran
 * and where it found none: the system call is made then.
 */
struct shim_real {
	_Atomic(shim_connect_fn) connect;
	_Atomic(shim_sendto_fn) sendto;
	_Atomic(shim_sendmsg_fn) sendmsg;
	_Atomic(shim_sendmmsg_fn) sendmmsg;
	_Atomic(shim_prctl_fn) prctl;
};
extern struct shim_real shim_real;

/*
 * The hooks: the only symbols that leave the object (net_proxy.map says so
 * too). Named past the compiler, since the C library declares these names with
 * types of its own.
 */
#define HOOK(name) __asm__(name) __attribute__((visibility("default")))
int hook_connect(int fd, const struct sockaddr *sa, socklen_t len)
	HOOK("connect");
ssize_t hook_sendto(int fd, const void *data, size_t len, int flags,
		    const struct sockaddr *sa, socklen_t sa_len) HOOK("sendto");
ssize_t hook_sendmsg(int fd, const struct msghdr *msg, int flags)
	HOOK("sendmsg");
int hook_sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
	HOOK("sendmmsg");
/* As every caller of a variadic function passes them, in registers. Those that
 * a caller did not set are as arbitrary as they are to the C library's. */
int hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
	       unsigned long d) HOOK("prctl");

/* False before the constructor ran and with AC_NET_PRELOAD=off: every call
 * goes to the real function then. */
bool shim_is_on(void);

#endif
