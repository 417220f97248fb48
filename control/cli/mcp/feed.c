/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.c - splits a stream of bytes into lines of bounded length
 */
#include "control/cli/mcp/feed.h"

#include <errno.h>

void feed_init(struct feed *l, size_t max)
{
	buf_init(&l->buf, max);
	l->skips = false;
}

void feed_done(struct feed *l)
{
	buf_done(&l->buf);
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct slice without_blanks(struct slice s)
{
	while (s.len > 0 && is_blank(s.ptr[0]))
		s = slice_of(s.ptr + 1, s.len - 1);
	while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

/* Ends the line with the @len bytes at @data. */
static int end_line(struct feed *l, const uint8_t *data, size_t len, feed_fn fn,
		    void *arg)
{
	bool skips = l->skips || len > buf_room(&l->buf);
	struct slice line = slice_of(data, len);

	l->skips = false;
	if (skips) {
		buf_done(&l->buf);
		fn(arg, slice_of(NULL, 0));
		return 0;
	}
	/* The usual line has come in one piece, and is not copied. */
	if (buf_len(&l->buf) > 0) {
		if (buf_append(&l->buf, data, len) < 0)
			return -ENOMEM;
		line = buf_slice(&l->buf);
	}
	line = without_blanks(line);
	if (line.len > 0)
		fn(arg, line);
	buf_done(&l->buf);
	return 0;
}

int feed_take(struct feed *l, const void *data, size_t len, feed_fn fn,
	      void *arg)
{
	const uint8_t *p = data;

	while (len > 0) {
		const uint8_t *end = memchr(p, '\n', len);
		size_t n = end ? (size_t)(end - p) : len;
		int rc;

		if (!end) {
			l->skips = l->skips || n > buf_room(&l->buf);
			if (l->skips) {
				buf_done(&l->buf);
				return 0;
			}
			return buf_append(&l->buf, p, n) < 0 ? -ENOMEM : 0;
		}
		rc = end_line(l, p, n, fn, arg);
		if (rc < 0)
			return rc;
		p += n + 1;
		len -= n + 1;
	}
	return 0;
}
