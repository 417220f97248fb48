/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys.h - system calls past the C library's wrappers
 *
 * The wrappers of some of them are our own hooks, others are cancellation
 * points or have more than one version. Only what 64-bit Linux has on every
 * architecture is used. Hooks keep errno; what is called here may change it.
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

/* An int-sized option of socket(7), ip(7), ...; negative errno. */
static inline int sys_option(int fd, int level, int name)
{
	uint32_t len = sizeof(int);
	int value = 0;

	if (syscall(SYS_getsockopt, fd, level, name, &value, &len) < 0)
		return -errno;
	return value;
}

/* A set of signals as the kernel has it: bit SIG - 1 (sigset_t is larger). */
#define SYS_SIGSET_BYTES 8u
#define SYS_SIGNAL(sig) (UINT64_C(1) << ((sig)-1))
#define SYS_ALL_SIGNALS (~UINT64_C(0))

/* Holds the signals @set back from this thread, too; *ret is what to restore.
 * False: they are not, and nothing is to be restored. */
static inline bool sys_signals_hold(uint64_t set, uint64_t *ret)
{
	return syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, ret,
		       SYS_SIGSET_BYTES) == 0;
}

static inline void sys_signals_restore(uint64_t before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL,
		SYS_SIGSET_BYTES);
}

/* Milliseconds of CLOCK_MONOTONIC_COARSE, by the vDSO: 4 ms is exact enough,
 * and a quarter of the price. */
uint64_t sys_clock_ms(void);

#endif
