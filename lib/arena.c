/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c - memory that is freed all at once
 */
#include "lib/arena.h"

#include <stdalign.h>
#include <string.h>

#define CHUNK_SIZE (64u * 1024)

struct arena_chunk {
	struct arena_chunk *next;
	alignas(max_align_t) uint8_t mem[];
};

static struct arena_chunk *chunk_new(struct arena *a, size_t size)
{
	struct arena_chunk *c = calloc(1, sizeof(*c) + size);

	if (!c)
		return NULL;
	c->next = a->chunks;
	a->chunks = c;
	return c;
}

void *arena_alloc(struct arena *a, size_t size)
{
	const size_t align = alignof(max_align_t);
	struct arena_chunk *c;
	uint8_t *mem;

	if (size > PTRDIFF_MAX / 2)
		return NULL;
	size = (size + align - 1) / align * align;
	if (size > CHUNK_SIZE / 4) { /* of its own: wastes no chunk's rest */
		c = chunk_new(a, size);
		return c ? c->mem : NULL;
	}
	if (size > a->left) {
		c = chunk_new(a, CHUNK_SIZE);
		if (!c)
			return NULL;
		a->at = c->mem;
		a->left = CHUNK_SIZE;
	}
	mem = a->at;
	a->at += size;
	a->left -= size;
	return mem;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		return NULL;
	return arena_alloc(a, n * size);
}

char *arena_strn(struct arena *a, const char *s, size_t len)
{
	char *copy = arena_alloc(a, len + 1);

	if (copy)
		memcpy(copy, s, len);
	return copy;
}

void arena_done(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *c = a->chunks;

		a->chunks = c->next;
		free(c);
	}
	*a = (struct arena){ 0 };
}
