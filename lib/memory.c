/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - returns freed memory to the kernel
 *
 * The allocator keeps memory that was freed between two live blocks, and after
 * each large block it raises the size from which blocks are mapped separately.
 * So that size is fixed here, and free memory within the heap is returned when
 * much of it was freed since the last time.
 */
#include "lib/memory.h"

#include <malloc.h>
#include <stdatomic.h>

#define MAP_APART \
	(128 * 1024) /* bytes of a block; setting it stops the learning */

static _Atomic uint64_t freed;

void memory_init(void)
{
	mallopt(M_MMAP_THRESHOLD, MAP_APART);
	mallopt(M_TRIM_THRESHOLD, 2 * MAP_APART);
}

void memory_freed(uint64_t bytes)
{
	atomic_fetch_add_explicit(&freed, bytes, memory_order_relaxed);
}

bool memory_trim(void)
{
	/* What is less than that is left for the next look. */
	if (atomic_load_explicit(&freed, memory_order_relaxed) <
	    MEMORY_TRIM_BYTES)
		return false;
	atomic_store_explicit(&freed, 0, memory_order_relaxed);
	malloc_trim(0);
	return true;
}
