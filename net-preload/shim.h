/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim.h - what the hooks share: the real functions, and the switch
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

/* The next definition of each name (dlsym(3), RTLD_NEXT): the C library's, or
 * that of another object between it and us. NULL before our constructor has run
 * and if it found none; the hook then makes the system call itself. */
struct shim_real {
	_Atomic(shim_connect_fn) connect;
	_Atomic(shim_sendto_fn) sendto;
	_Atomic(shim_sendmsg_fn) sendmsg;
	_Atomic(shim_sendmmsg_fn) sendmmsg;
	_Atomic(shim_prctl_fn) prctl;
};
extern struct shim_real shim_real;

/* The hooks, the only exported symbols (see also net_proxy.map). Each behaves
 * like the function it is named after. They are renamed by __asm__ because the
 * C library declares these names with types of its own. */
#define HOOK(name) __asm__(name) __attribute__((visibility("default")))
int hook_connect(int fd, const struct sockaddr *sa, socklen_t len)
	HOOK("connect");
ssize_t hook_sendto(int fd, const void *data, size_t len, int flags,
		    const struct sockaddr *sa, socklen_t sa_len) HOOK("sendto");
ssize_t hook_sendmsg(int fd, const struct msghdr *msg, int flags)
	HOOK("sendmsg");
int hook_sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
	HOOK("sendmmsg");
/* Takes the arguments in registers, as every caller of a variadic function
 * passes them. Those that a caller did not set are as arbitrary as in the C
 * library's prctl(). */
int hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
	       unsigned long d) HOOK("prctl");

/* Returns false before the constructor has run and with AC_NET_PRELOAD=off:
 * every call then goes to the real function. */
bool shim_is_on(void);

#endif
