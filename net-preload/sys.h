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

/* Milliseconds of CLOCK_MONOTONIC_COARSE, by the vDSO: 4 ms is exact enough,
 * and a quarter of the price. */
uint64_t sys_clock_ms(void);

#endif
