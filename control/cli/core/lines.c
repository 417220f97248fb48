/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.c - splits pieces of text into lines
 */
#include "control/cli/core/lines.h"

#include <string.h>

static int line_end(struct buf *held, lines_fn fn, void *arg)
{
	struct slice s = buf_slice(held);
	int rc = fn(arg, (const char *)s.ptr, s.len - 1);

	buf_consume(held, s.len);
	return rc;
}

int lines_feed(struct buf *held, const char *data, size_t len, lines_fn fn,
	       void *arg)
{
	while (len > 0) {
		const char *end = memchr(data, '\n', len);
		size_t n = end ? (size_t)(end - data) + 1 : len;
		int rc = 0;

		if (buf_append(held, data, n) < 0)
			return -EMSGSIZE;
		data += n;
		len -= n;
		if (end)
			rc = line_end(held, fn, arg);
		if (rc < 0)
			return rc;
	}
	return 0;
}
