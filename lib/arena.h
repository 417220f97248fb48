/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - memory that is given back all at once
 *
 * For what is built once and then only read: policies and YAML trees.
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

/* Zeroed, aligned for any object; NULL without memory. */
void *arena_alloc(struct arena *a, size_t size) ATTR_WUR;
/* The same for an array; NULL also when n * size overflows. */
void *arena_array(struct arena *a, size_t n, size_t size) ATTR_WUR;
/* A copy with a NUL behind it. */
char *arena_strn(struct arena *a, const char *s, size_t len) ATTR_WUR;
void arena_done(struct arena *a); /* accepts zeroed and done arenas */

#endif
