/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - memory that is free goes back to the system
 */
#ifndef LIB_MEMORY_H
#define LIB_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_TRIM_MS 1000u /* between two looks */
#define MEMORY_TRIM_BYTES (UINT64_C(4) << 20) /* freed in between, at least */

/* Once, before there are threads. */
void memory_init(void);
/* Notes that @bytes of what sandboxes held are free, or soon will be. */
void memory_freed(uint64_t bytes);
/* Gives back what is free, if that may be much. For the control thread: it takes
 * milliseconds. True: it did. */
bool memory_trim(void);

#endif
