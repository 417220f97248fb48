/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - memory that is free goes back to the system
 *
 * The allocator keeps what is freed between two blocks that live, and learns
 * from each large block that it should keep the next one as well. So large
 * blocks are mapped apart, always, and what is free within is given back when
 * much of it has been freed since the last time.
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
