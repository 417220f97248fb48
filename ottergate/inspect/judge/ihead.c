/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ihead.c - the head of an inspected message, the same for HTTP/1 and HTTP/2
 *
 * Bytes live in a chain of blocks that never move, so views stay valid while
 * fields are added and changed. A replaced value stays in its block. All blocks
 * are wiped at the end, since they may hold credentials.
 */
#include "ottergate/inspect/judge/ihead.h"

#include <sodium.h>
#include <stddef.h>
#include <string.h>

#define BLOCK_SIZE 2048u

struct ihead_block {
	struct ihead_block *next;
	size_t used, size;
	uint8_t mem[];
};

struct ihead_mem {
	struct ihead_block *blocks; /* the newest first */
	size_t total; /* bytes kept */
};

void ihead_init(struct ihead *h)
{
	memset(h, 0, offsetof(struct ihead, fields));
	h->length = IHEAD_NO_LENGTH;
}

void ihead_done(struct ihead *h)
{
	struct ihead_block *next;

	if (h->mem) {
		for (struct ihead_block *b = h->mem->blocks; b; b = next) {
			next = b->next;
			sodium_memzero(b->mem, b->used);
			free(b);
		}
		free(h->mem);
	}
	ihead_init(h);
}

/* Returns room for @len bytes, or NULL beyond the maximum or without memory. */
static uint8_t *mem_take(struct ihead *h, size_t len)
{
	struct ihead_block *b;
	size_t size = len > BLOCK_SIZE ? len : BLOCK_SIZE;

	if (!h->mem)
		h->mem = calloc(1, sizeof(*h->mem));
	if (!h->mem || len > IHEAD_BYTES_MAX - h->mem->total)
		return NULL;
	b = h->mem->blocks;
	if (!b || b->size - b->used < len) {
		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		b->used = 0;
		b->size = size;
		b->next = h->mem->blocks;
		h->mem->blocks = b;
	}
	h->mem->total += len;
	b->used += len;
	return b->mem + b->used - len;
}

struct slice ihead_keep(struct ihead *h, struct slice s)
{
	/* Empty slices are kept too: a ptr shows that one is there. */
	uint8_t *to = mem_take(h, s.len ? s.len : 1);

	if (!to)
		return slice_of(NULL, 0);
	if (s.len)
		memcpy(to, s.ptr, s.len);
	return slice_of(to, s.len);
}

static bool too_much(const struct ihead *h, size_t len)
{
	return len > IHEAD_BYTES_MAX - (h->mem ? h->mem->total : 0);
}

int ihead_add(struct ihead *h, struct slice name, struct slice value)
{
	struct ifield f = { 0 };
	uint8_t *lower;

	if (h->n_fields >= IHEAD_FIELDS_MAX || name.len == 0 ||
	    name.len > IHEAD_BYTES_MAX || value.len > IHEAD_BYTES_MAX ||
	    too_much(h, name.len + value.len + 1))
		return -E2BIG;
	lower = mem_take(h, name.len);
	if (!lower)
		return -ENOMEM;
	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.ptr[i];

		lower[i] = c >= 'A' && c <= 'Z' ? c | 0x20 : c;
	}
	f.name = slice_of(lower, name.len);
	f.value = ihead_keep(h, value);
	if (!f.value.ptr)
		return -ENOMEM;
	h->fields[h->n_fields++] = f;
	return 0;
}

int ihead_add_str(struct ihead *h, const char *name, const char *value)
{
	return ihead_add(h, slice_str(name), slice_str(value));
}

bool ihead_is_like(struct slice name, const char *want)
{
	/* The first letter decides in nearly all cases. */
	if (name.len > 0 && name.ptr[0] != (uint8_t)want[0] &&
	    name.ptr[0] != '_')
		return false;
	if (name.len != strlen(want))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		if ((name.ptr[i] == '_' ? '-' : name.ptr[i]) !=
		    (uint8_t)want[i])
			return false;
	}
	return true;
}

static bool is_shadow(struct slice name, const char *of)
{
	if (name.len != strlen(of))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.ptr[i] == '_' ? '-' : name.ptr[i];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		if (c != (uint8_t)of[i])
			return false;
	}
	return true;
}

bool ihead_shadows(struct slice name)
{
	static const char *const list[] = {
		"content-length", "transfer-encoding",   "content-encoding",
		"content-type",   "proxy-authorization", "proxy-connection",
		"keep-alive",     "http2-settings",      "private-token",
		"job-token",      "deploy-token",        "x-api-key",
		"api-key",        "x-goog-api-key",      "x-amz-security-token"
	};

	if (name.len == 0 || !memchr(name.ptr, '_', name.len))
		return false;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (is_shadow(name, list[i]))
			return true;
	return false;
}

struct ifield *ihead_find(struct ihead *h, const char *name, size_t nth)
{
	struct slice want = slice_str(name);

	for (size_t i = 0; i < h->n_fields; i++) {
		if (slice_eq(h->fields[i].name, want) && nth-- == 0)
			return &h->fields[i];
	}
	return NULL;
}

size_t ihead_count(const struct ihead *h, const char *name)
{
	struct slice want = slice_str(name);
	size_t n = 0;

	for (size_t i = 0; i < h->n_fields; i++)
		n += slice_eq(h->fields[i].name, want);
	return n;
}

size_t ihead_drop(struct ihead *h, const char *name)
{
	struct slice want = slice_str(name);
	size_t before = h->n_fields;

	h->n_fields = 0;
	for (size_t i = 0; i < before; i++) {
		if (!slice_eq(h->fields[i].name, want))
			h->fields[h->n_fields++] = h->fields[i];
	}
	return before - h->n_fields;
}

int ihead_set(struct ihead *h, struct ifield *f, struct slice value)
{
	struct slice kept;

	if (value.len > IHEAD_BYTES_MAX || too_much(h, value.len + 1))
		return -E2BIG;
	kept = ihead_keep(h, value);
	if (!kept.ptr)
		return -ENOMEM;
	f->value = kept;
	return 0;
}
