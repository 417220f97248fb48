/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.c - a growing byte queue with a hard maximum
 *
 * Consumed bytes leave a hole at the front. It is closed only when at least
 * as many bytes were consumed as have to be moved, so moving costs no more
 * than consuming did; until then the queue grows. For that the memory may
 * reach twice the maximum; the live bytes never pass it.
 */
#include "lib/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#define BUF_CAP_MIN 256u

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = max };
}

static void mem_free(struct buf *b)
{
	if (b->secret && b->mem)
		explicit_bzero(b->mem, b->cap);
	free(b->mem);
}

static void buf_release(struct buf *b)
{
	mem_free(b);
	b->mem = NULL;
	b->start = b->end = b->cap = 0;
}

void buf_secret(struct buf *b)
{
	b->secret = true;
}

void buf_done(struct buf *b)
{
	if (b)
		buf_release(b);
}

size_t buf_room(const struct buf *b)
{
	size_t len = buf_len(b);

	return b->max > len ? b->max - len : 0;
}

static size_t size_double(size_t v)
{
	return v > SIZE_MAX / 2 ? SIZE_MAX : v * 2;
}

/* Makes @want bytes of space behind the live ones; heeds no maximum. */
static int buf_grow(struct buf *b, size_t want)
{
	size_t len = buf_len(b);
	size_t need, cap;
	uint8_t *mem;

	if (b->mem && b->cap - b->end >= want)
		return 0;
	if (b->mem && b->start >= len && b->cap - len >= want) {
		memcpy(b->mem, b->mem + b->start, len);
		b->start = 0;
		b->end = len;
		return 0;
	}
	if (want > PTRDIFF_MAX - len)
		return -ENOMEM; /* no object may be larger */
	need = len + want;
	cap = size_double(b->cap < b->max ? b->cap : b->max);
	if (cap < need)
		cap = need;
	if (cap < BUF_CAP_MIN)
		cap = BUF_CAP_MIN;

	/* Not realloc(): it would copy the hole as well. */
	mem = malloc(cap);
	if (!mem)
		return -ENOMEM;
	if (b->mem)
		memcpy(mem, b->mem + b->start, len);
	mem_free(b);
	b->mem = mem;
	b->start = 0;
	b->end = len;
	b->cap = cap;
	return 0;
}

uint8_t *buf_reserve(struct buf *b, size_t want)
{
	if (want > buf_room(b) || buf_grow(b, want) < 0)
		return NULL;
	return b->mem + b->end;
}

void buf_commit(struct buf *b, size_t len)
{
	/* More than was reserved: memory is overrun already. */
	assert(len <= b->cap - b->end && len <= buf_room(b));
	b->end += len;
	if (buf_len(b) == 0)
		buf_release(b); /* reserved for a read that brought nothing */
}

int buf_append(struct buf *b, const void *ptr, size_t len)
{
	uint8_t *to;

	if (len == 0)
		return 0;
	if (len > buf_room(b))
		return -ENOBUFS;
	to = buf_reserve(b, len);
	if (!to)
		return -ENOMEM;
	memcpy(to, ptr, len);
	b->end += len;
	return 0;
}

static void uint_store(uint8_t *to, size_t size, uint64_t v)
{
	for (size_t i = size; i > 0; i--) {
		to[i - 1] = (uint8_t)(v & 0xff);
		v >>= 8;
	}
}

static int buf_put_uint(struct buf *b, size_t size, uint64_t v)
{
	uint8_t bytes[sizeof(v)];

	uint_store(bytes, size, v);
	return buf_append(b, bytes, size);
}

int buf_put_u8(struct buf *b, uint8_t v)
{
	return buf_put_uint(b, sizeof(v), v);
}

int buf_put_u16(struct buf *b, uint16_t v)
{
	return buf_put_uint(b, sizeof(v), v);
}

int buf_put_u32(struct buf *b, uint32_t v)
{
	return buf_put_uint(b, sizeof(v), v);
}

int buf_put_u64(struct buf *b, uint64_t v)
{
	return buf_put_uint(b, sizeof(v), v);
}

int buf_put_lstr(struct buf *b, const void *ptr, size_t len)
{
	const size_t head = sizeof(uint32_t);
	size_t room = buf_room(b);
	uint8_t *to;

	/* Both or nothing: a lone length would desynchronise the reader. */
	if (len > UINT32_MAX || room < head || len > room - head)
		return -ENOBUFS;
	to = buf_reserve(b, head + len);
	if (!to)
		return -ENOMEM;
	uint_store(to, head, len);
	if (len > 0)
		memcpy(to + head, ptr, len);
	b->end += head + len;
	return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0)
		return -EINVAL;
	if (len == 0)
		return 0;
	if ((size_t)len > buf_room(b))
		return -ENOBUFS;
	/* The NUL needs a byte of memory, but is not part of the queue. */
	if (buf_grow(b, (size_t)len + 1) < 0)
		return -ENOMEM;
	va_start(ap, fmt);
	vsnprintf((char *)b->mem + b->end, (size_t)len + 1, fmt, ap);
	va_end(ap);
	b->end += (size_t)len;
	return 0;
}

void buf_consume(struct buf *b, size_t len)
{
	if (len >= buf_len(b))
		buf_release(b);
	else
		b->start += len;
}
