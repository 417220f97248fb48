/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - memory that is freed all at once
 *
 * For data that is built once and then only read, such as policies and YAML
 * trees.
 */
#ifndef LIB_ARENA_H
#define LIB_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "lib/attr.h"

struct arena_chunk;
struct arena { /* zeroed: empty */
	struct arena_chunk *chunks;
	uint8_t *at;
	size_t left;
};

/* Returns @size zeroed bytes, aligned for any object and owned by the arena, or
 * NULL when out of memory. */
void *arena_alloc(struct arena *a, size_t size) ATTR_WUR;
/* Like arena_alloc() for @n objects of @size bytes; also NULL if n * size
 * overflows. */
void *arena_array(struct arena *a, size_t n, size_t size) ATTR_WUR;
/* Returns a copy of @len bytes of @s with a NUL after them, owned by the arena,
 * or NULL when out of memory. */
char *arena_strn(struct arena *a, const char *s, size_t len) ATTR_WUR;
/*
 * Frees everything allocated from @a. Accepts zeroed arenas and repeated calls.
 */
void arena_done(struct arena *a);

#endif
