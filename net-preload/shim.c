/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim.c - net_proxy.so: a program's connect() fails at once, with the reason
 *
 * Theory of operation
 *
 * Mapped into every dynamic program of a sandbox (/etc/ld.so.preload). It
 * hooks the four calls that can name a peer: connect(2), sendto(2),
 * sendmsg(2), sendmmsg(2). Before such a call the gateway is asked what it
 * will say (ask.c); a call that would be denied fails at once and the user is
 * told why (say.c), every other one is made as it is, so that what sockets,
 * poll(2) and SO_ERROR tell is the kernel's own. prctl(2) is hooked to be told
 * of a program that confines itself (prctl.c). Nothing here is trusted: what
 * does not pass through here (static programs, raw system calls, io_uring)
 * meets the same verdict in the packet path, only later.
 *
 * getaddrinfo(3) and its kin are not hooked. The gateway answers each name
 * with an address of its own (198.18.0.0/15) and knows the name by it, so the
 * address that a program passes here says all there is to say. A table of
 * names here would miss those that came from a cache, another process or
 * another resolver.
 *
 * It is a guest in strangers' processes, therefore:
 * - no symbol but the hooks leaves it (net_proxy.map), and it needs no
 *   library: what it takes from the C library is in glibc and in musl, and
 *   has no version. What an old one may lack is weak.
 * - no memory is allocated, no lock is taken, no buffered I/O is used: it may
 *   run in a signal handler, in a child of vfork(2), in a thread with a small
 *   stack (under 3 KiB are used, 7 where the path of a program is longer than
 *   1,200 bytes; cancellation points are not added).
 * - errno is as the real call leaves it.
 * - each program that starts pays for two mappings and one fstat(2). One that
 *   was allowed to connect to a host asks one more question for each such host
 *   when it ends (after.h).
 *
 * An address in memory that cannot be read ends the program here, where the
 * kernel would say EFAULT.
 */
#include "net-preload/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net-preload/after.h"
#include "net-preload/say.h"
#include "net-preload/sys.h"

/* Before glibc 2.34 in a library of its own, which not every program has. */
#pragma weak dlsym

/* Visible inside of the object alone: no detour by the symbol table. */
struct shim_real shim_real;
static _Atomic bool on;

bool shim_is_on(void)
{
	return atomic_load_explicit(&on, memory_order_acquire);
}

/* A pointer to an object is no pointer to a function in C; POSIX says that
 * the bytes are the same (dlsym, "Application usage"). */
#define FIND(name)                                           \
	do {                                                 \
		void *p = dlsym(RTLD_NEXT, #name);           \
		shim_##name##_fn fn;                         \
                                                             \
		memcpy(&fn, &p, sizeof(fn));                 \
		atomic_store_explicit(&shim_real.name, fn,   \
				      memory_order_relaxed); \
	} while (0)

static bool is_off(void)
{
	const char *v = getenv("AC_NET_PRELOAD");

	return v && v[0] == 'o' && v[1] == 'f' && v[2] == 'f' && v[3] == '\0';
}

static void __attribute__((constructor)) start(void)
{
	int saved = errno;

	if (dlsym) {
		FIND(connect);
		FIND(sendto);
		FIND(sendmsg);
		FIND(sendmmsg);
		FIND(prctl);
	}
	if (!is_off()) {
		say_start();
		atomic_store_explicit(&on, true, memory_order_release);
	}
	errno = saved;
}

/* exit(3) comes here when the program's own handlers have run; what ends
 * without it (a signal, _exit(2), exec(2)) tells nothing more. */
static void __attribute__((destructor)) end(void)
{
	int saved = errno;

	if (shim_is_on())
		after_tell();
	errno = saved;
}
