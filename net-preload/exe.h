/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exe.h - the path of this program
 */
#ifndef NET_PRELOAD_EXE_H
#define NET_PRELOAD_EXE_H

#include <stddef.h>

/*
 * Writes /proc/self/exe without a NUL to @out, of a longer path its last
 * WIRE_EXE_MAX bytes. @size is WIRE_EXE_MAX or more; most paths fit into 1,000.
 * Returns the length, 0 if the path is not available. Reads it once per
 * process. May change errno.
 */
size_t exe_end(char *out, size_t size);

#endif
