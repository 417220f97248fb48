/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h - a growing byte queue with a hard maximum
 *
 * Bytes are appended at the end and consumed at the front. Memory is given
 * back when the queue runs empty, so that an idle connection costs nothing.
 * Appending past the maximum fails with -ENOBUFS and leaves the queue as it
 * was.
 */
#ifndef LIB_BUF_H
#define LIB_BUF_H

#include "lib/slice.h"

struct buf {
	uint8_t *mem;
	size_t start, end, cap; /* live bytes are mem[start..end) */
	size_t max;
	bool secret; /* buf_secret() */
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b); /* accepts zeroed and done buffers */
size_t buf_room(const struct buf *b); /* bytes until max */
#ifdef __clang_analyzer__ /* see slice.h */
size_t buf_len(const struct buf *b);
struct slice buf_slice(const struct buf *b);
#else
static inline size_t buf_len(const struct buf *b)
{
	return b->end - b->start;
}
/* A view of all live bytes. */
static inline struct slice buf_slice(const struct buf *b)
{
	if (buf_len(b) == 0)
		return slice_of(NULL, 0);
	return slice_of(b->mem + b->start, buf_len(b));
}
#endif
/* A place of at least @want bytes to write at, or NULL (max, memory). */
uint8_t *buf_reserve(struct buf *b, size_t want);
void buf_commit(struct buf *b, size_t len); /* after buf_reserve() */
/* From now on, buf_done() included and until buf_init(), its memory is wiped
 * before it is given back. */
void buf_secret(struct buf *b);
int buf_append(struct buf *b, const void *ptr, size_t len) ATTR_WUR;
int buf_put_u8(struct buf *b, uint8_t v) ATTR_WUR;
int buf_put_u16(struct buf *b, uint16_t v) ATTR_WUR;
int buf_put_u32(struct buf *b, uint32_t v) ATTR_WUR;
int buf_put_u64(struct buf *b, uint64_t v) ATTR_WUR;
/* u32 length and the bytes; the counterpart of slice_lstr(). */
int buf_put_lstr(struct buf *b, const void *ptr, size_t len) ATTR_WUR;
int buf_printf(struct buf *b, const char *fmt, ...) ATTR_PRINTF(2, 3);
void buf_consume(struct buf *b, size_t len); /* at most buf_len() */

#endif
