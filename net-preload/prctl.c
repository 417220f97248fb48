/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prctl.c - the hook of prctl(2)
 *
 * A program that confines itself calls it first: without PR_SET_NO_NEW_PRIVS
 * only root may load a seccomp filter (seccomp(2)), for which the C library has
 * no wrapper. Any system call after that may kill the process, so we make none
 * of our own when it ends, not even one to find out.
 */
#include "net-preload/shim.h"

#include <sys/prctl.h>

#include "net-preload/after.h"
#include "net-preload/sys.h"

int hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
	       unsigned long d)
{
	shim_prctl_fn fn =
		atomic_load_explicit(&shim_real.prctl, memory_order_relaxed);

	if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP)
		after_never();
	return fn ? fn(option, a, b, c, d) :
		    (int)syscall(SYS_prctl, option, a, b, c, d);
}
