/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_fuzz.c - request and response heads
 *
 * What is accepted and written anew reads as the same message and is written
 * the same once more: no second reader finds anything else in it. A head's
 * end does not depend on the pieces it comes in.
 */
#include <stdlib.h>
#include <string.h>

#include "ottergate/inspect/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_same(const struct buf *a, const struct buf *b)
{
	check(slice_eq(buf_slice(a), buf_slice(b)));
}

/* Our own fields and blanks may take a head past what is read here. */
static bool at_limit(const struct buf *head, size_t n_fields)
{
	return buf_len(head) > HTTP1_HEAD_MAX ||
	       n_fields + 3 > HTTP1_HEADERS_MAX;
}

static void check_pieces(struct slice raw)
{
	size_t whole = 0, pos = 0;
	ssize_t want = http1_head_end(raw, &whole), got = -EAGAIN;

	for (size_t n = 1; n <= raw.len && got == -EAGAIN; n++)
		got = http1_head_end(slice_of(raw.ptr, n), &pos);
	check(got == want);
	check(want < 0 || (size_t)want <= raw.len);
}

static void check_request_again(const struct http1_request *a,
				const struct buf *first, struct buf *second)
{
	struct http1_request b;

	check(http1_request_read(buf_slice(first), &b) == 0);
	check(b.m.head_len == buf_len(first));
	check(slice_eq(a->method, b.method) && slice_eq(a->path, b.path));
	check(slice_eq(b.host, slice_str("a.test")));
	check(a->m.minor == b.m.minor && a->m.chunked == b.m.chunked);
	check(a->m.has_length == b.m.has_length && a->m.length == b.m.length);
	check(a->expect_continue == b.expect_continue && !b.upgrade);
	check(http1_request_write(&b, "a.test", "keep-alive", second) >= 0);
	check_same(first, second);
}

static void check_request(struct slice raw)
{
	struct http1_request a;
	struct buf first, second;

	if (http1_request_read(raw, &a) < 0)
		return;
	check(a.m.head_len <= raw.len && !(a.m.chunked && a.m.has_length));
	if (a.form == HTTP1_AUTHORITY)
		return;
	check(a.path.len > 0 && (a.path.ptr[0] == '/' || a.path.ptr[0] == '*'));
	buf_init(&first, 1 << 20);
	buf_init(&second, 1 << 20);
	check(http1_request_write(&a, "a.test", "keep-alive", &first) >= 0);
	if (!at_limit(&first, a.m.n_fields))
		check_request_again(&a, &first, &second);
	buf_done(&first);
	buf_done(&second);
}

static void check_response_again(const struct http1_response *a, bool head,
				 const struct buf *first, struct buf *second)
{
	struct http1_response b;

	check(http1_response_read(buf_slice(first), head, &b) == 0);
	check(b.m.head_len == buf_len(first));
	check(a->status == b.status && a->no_body == b.no_body);
	check(a->until_close == b.until_close && !b.websocket);
	check(a->no_body ||
	      (a->m.chunked == b.m.chunked && a->m.length == b.m.length));
	check(http1_response_write(&b, "close", second) >= 0);
	check_same(first, second);
}

static void check_response(struct slice raw, bool head)
{
	struct http1_response a;
	struct buf first, second;

	if (http1_response_read(raw, head, &a) < 0)
		return;
	check(a.m.head_len <= raw.len && !(a.m.chunked && a.m.has_length));
	buf_init(&first, 1 << 20);
	buf_init(&second, 1 << 20);
	check(http1_response_write(&a, "close", &first) >= 0);
	if (!at_limit(&first, a.m.n_fields))
		check_response_again(&a, head, &first, &second);
	buf_done(&first);
	buf_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice raw = slice_of(data, size);

	check_pieces(raw);
	check_request(raw);
	check_response(raw, false);
	check_response(raw, true);
	return 0;
}
