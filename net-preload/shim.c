/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim.c - net_proxy.so: makes denied connections fail at once, with a reason
 *
 * Theory of operation
 *
 * Mapped into every dynamic program of a sandbox (/etc/ld.so.preload). It hooks
 * the four calls that can name a peer: connect(2), sendto(2), sendmsg(2),
 * sendmmsg(2). Before such a call it asks the gateway for its verdict (ask.c).
 * A call that would be denied fails at once and the user is told why (say.c);
 * every other call is made unchanged, so what sockets, poll(2) and SO_ERROR
 * report is the kernel's own. prctl(2) is hooked to learn that a program
 * confines itself (prctl.c). Nothing here is trusted: what bypasses it (static
 * programs, raw system calls, io_uring) meets the same verdict in the packet
 * path, only later.
 *
 * getaddrinfo(3) and its kin are not hooked. The gateway answers each name with
 * an address of its own (198.18.0.0/15) and knows the name by that address, so
 * the address that a program passes here is enough. A table of names here would
 * miss names that came from a cache, another process or another resolver.
 *
 * It runs inside programs of others, therefore:
 * - it exports no symbol but the hooks (net_proxy.map) and needs no library:
 *   what it uses of the C library is in glibc and in musl, and has no version.
 *   Symbols that an old one may lack are weak.
 * - it allocates no memory, takes no lock and uses no buffered I/O: it may run
 *   in a signal handler, in a child of vfork(2), in a thread with a small stack
 *   (it uses under 3 KiB, or 7 if the path of the program is longer than 1,200
 *   bytes; it adds no cancellation points).
 * - it leaves errno as the real call does.
 * - each program start costs two mappings and one fstat(2). A program that was
 *   allowed to connect to a host asks one more question for each such host when
 *   it ends (after.h).
 *
 * An unreadable address in memory kills the program here, where the kernel
 * would return EFAULT.
 */
#include "net-preload/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net-preload/after.h"
#include "net-preload/say.h"
#include "net-preload/sys.h"

/* Before glibc 2.34 it is in a library that not every program has. */
#pragma weak dlsym

/* Hidden, which avoids a detour through the symbol table. */
struct shim_real shim_real;
static _Atomic bool on;

bool shim_is_on(void)
{
	return atomic_load_explicit(&on, memory_order_acquire);
}

/* In C an object pointer cannot be cast to a function pointer; POSIX says that
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

/* Called by exit(3) after the program's own handlers. A program that ends
 * without it (a signal, _exit(2), exec(2)) reports nothing more. */
static void __attribute__((destructor)) end(void)
{
	int saved = errno;

	if (shim_is_on())
		after_tell();
	errno = saved;
}
