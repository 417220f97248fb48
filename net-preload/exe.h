/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exe.h - which program this is
 */
#ifndef NET_PRELOAD_EXE_H
#define NET_PRELOAD_EXE_H

#include <stddef.h>

/*
 * /proc/self/exe, or the last WIRE_EXE_MAX bytes of a longer path, into @out,
 * which has room for @size (WIRE_EXE_MAX or more; most paths fit into 1,000).
 * The length; 0 when it cannot be had. The kernel is asked for it once in a
 * process. May change errno.
 */
size_t exe_end(char *out, size_t size);

#endif
