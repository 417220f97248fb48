/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h - a growing byte queue with a hard maximum
 *
 * Bytes are appended at the end and consumed at the front. The memory is freed
 * when the queue becomes empty, so an idle connection costs nothing.
 *
 * The int functions return 0, -ENOBUFS beyond the maximum or -ENOMEM; on
 * failure the queue is unchanged. Integers are stored big-endian.
 */
#ifndef LIB_BUF_H
#define LIB_BUF_H

#include "lib/slice.h"

struct buf {
	uint8_t *mem;
	size_t start, end, cap; /* live bytes are mem[start..end) */
	size_t max;
	bool secret; /* see buf_secret() */
};

/* Sets @b to an empty queue of at most @max bytes; allocates nothing. */
void buf_init(struct buf *b, size_t max);
/* Frees the memory. Accepts NULL, zeroed queues and repeated calls; @b keeps
 * its maximum and can be used again. */
void buf_done(struct buf *b);
/* Returns how many bytes can be appended before the maximum. */
size_t buf_room(const struct buf *b);
/* Returns how many bytes are queued. */
#ifdef __clang_analyzer__ /* see slice.h */
size_t buf_len(const struct buf *b);
struct slice buf_slice(const struct buf *b);
#else
static inline size_t buf_len(const struct buf *b)
{
	return b->end - b->start;
}
/* Returns a view of all queued bytes, valid until @b changes. */
static inline struct slice buf_slice(const struct buf *b)
{
	if (buf_len(b) == 0)
		return slice_of(NULL, 0);
	return slice_of(b->mem + b->start, buf_len(b));
}
#endif
/* Returns a place to write @want bytes at, owned by @b and valid until @b
 * changes; NULL beyond the maximum or when out of memory. The queued bytes may
 * move: earlier views are invalid. buf_commit() then appends what was
 * written. */
uint8_t *buf_reserve(struct buf *b, size_t want);
/* Appends the first @len bytes written to the place from buf_reserve(). Aborts
 * if @len is more than was reserved. */
void buf_commit(struct buf *b, size_t len);
/* Makes @b wipe its memory before every free, buf_done() included, until the
 * next buf_init(). */
void buf_secret(struct buf *b);
/* Appends a copy of the @len bytes at @ptr, which must not lie in @b. @ptr may
 * be NULL if @len is 0. */
int buf_append(struct buf *b, const void *ptr, size_t len) ATTR_WUR;
/* Append one integer. */
int buf_put_u8(struct buf *b, uint8_t v) ATTR_WUR;
int buf_put_u16(struct buf *b, uint16_t v) ATTR_WUR;
int buf_put_u32(struct buf *b, uint32_t v) ATTR_WUR;
int buf_put_u64(struct buf *b, uint64_t v) ATTR_WUR;
/* Appends @len as a u32 and then the bytes, both or neither; slice_lstr() reads
 * them. */
int buf_put_lstr(struct buf *b, const void *ptr, size_t len) ATTR_WUR;
/* Appends formatted text without its NUL. Returns 0, not the length. Also fails
 * with -EINVAL when the format cannot be written. */
int buf_printf(struct buf *b, const char *fmt, ...) ATTR_PRINTF(2, 3);
/* Removes @len bytes from the front; all if there are fewer. */
void buf_consume(struct buf *b, size_t len);

#endif
