/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys.h - system calls without the C library's wrappers
 *
 * Some wrappers are our own hooks; others are cancellation points or have
 * several versions. Only calls that 64-bit Linux has on every architecture are
 * used. These functions may change errno; the hooks restore it.
 */
#ifndef NET_PRELOAD_SYS_H
#define NET_PRELOAD_SYS_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns an int-sized option of socket(7), ip(7), ..., or a negative errno. */
static inline int sys_option(int fd, int level, int name)
{
	uint32_t len = sizeof(int);
	int value = 0;

	if (syscall(SYS_getsockopt, fd, level, name, &value, &len) < 0)
		return -errno;
	return value;
}

/*
 * A signal set as the kernel represents it: bit SIG - 1 (sigset_t is larger).
 */
#define SYS_SIGSET_BYTES 8u
#define SYS_SIGNAL(sig) (UINT64_C(1) << ((sig)-1))
#define SYS_ALL_SIGNALS (~UINT64_C(0))

/* Adds @set to the blocked signals of this thread. Returns true, and *ret is
 * the mask from before, for sys_signals_restore(); or false with nothing
 * changed. */
static inline bool sys_signals_hold(uint64_t set, uint64_t *ret)
{
	return syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, ret,
		       SYS_SIGSET_BYTES) == 0;
}

/* Sets the blocked signals of this thread to @before. */
static inline void sys_signals_restore(uint64_t before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL,
		SYS_SIGSET_BYTES);
}

/* Returns milliseconds of CLOCK_MONOTONIC_COARSE through the vDSO: its
 * resolution of 4 ms suffices, at a quarter of the cost. */
uint64_t sys_clock_ms(void);

#endif
