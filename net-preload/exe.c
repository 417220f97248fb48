/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exe.c - the path of this program
 *
 * It stays the same until exec(2), which discards this memory. The first thread
 * that reads it stores it for the others; if that thread dies meanwhile (a
 * killed child of vfork(2)), the others ask the kernel each time.
 */
#include "net-preload/exe.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

#include "net-preload/sys.h"
#include "net-preload/wire.h"

#define PATH_LONGEST 4096u /* PATH_MAX, the longest target of a link in /proc */

enum { EXE_NONE, EXE_WRITING, EXE_KNOWN };

static _Atomic unsigned state;
static char known[WIRE_EXE_MAX];
static size_t known_len;

static size_t read_path(char *out, size_t size)
{
	long n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", out, size);

	return n < 0 ? 0 : (size_t)n;
}

/* Handles a path that did not fit, in a stack frame of its own, since hardly
 * any program needs it. */
static __attribute__((noinline)) size_t long_end(char *out)
{
	char path[PATH_LONGEST];
	size_t len = read_path(path, sizeof(path));
	size_t keep = len < WIRE_EXE_MAX ? len : WIRE_EXE_MAX;

	memcpy(out, path + len - keep, keep);
	return keep;
}

size_t exe_end(char *out, size_t size)
{
	unsigned was = EXE_NONE;
	size_t n;

	if (atomic_load_explicit(&state, memory_order_acquire) == EXE_KNOWN) {
		memcpy(out, known, known_len);
		return known_len;
	}
	n = read_path(out, size);
	if (n == size)
		n = long_end(out);
	if (n > WIRE_EXE_MAX) {
		memmove(out, out + n - WIRE_EXE_MAX, WIRE_EXE_MAX);
		n = WIRE_EXE_MAX;
	}
	if (n > 0 &&
	    atomic_compare_exchange_strong(&state, &was, EXE_WRITING)) {
		memcpy(known, out, n);
		known_len = n;
		atomic_store_explicit(&state, EXE_KNOWN, memory_order_release);
	}
	return n;
}
