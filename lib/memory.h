/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - returns freed memory to the kernel
 */
#ifndef LIB_MEMORY_H
#define LIB_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_TRIM_MS 1000u /* interval of memory_trim() */
/* trim only if this much was freed since the last time */
#define MEMORY_TRIM_BYTES (UINT64_C(4) << 20)

/* Configures the allocator. Call it once, before any thread starts. */
void memory_init(void);
/* Counts @bytes, which sandboxes made us allocate, as freed or soon to be
 * freed. Any thread may call it. */
void memory_freed(uint64_t bytes);
/* Returns free memory to the kernel if at least MEMORY_TRIM_BYTES were counted,
 * and returns whether it did. It takes milliseconds, so only the control thread
 * may call it. */
bool memory_trim(void);

#endif
