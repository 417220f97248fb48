/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_fuzz.c - the front end of inspection over HTTP/1.1
 *
 * The first byte says what the rest is. What the front end takes, llhttp alone
 * takes; what it writes from it, both take again as the same message, and the
 * head says nothing of framing but what was written for it. The content of a
 * body and its trailers do not depend on the pieces that it comes in.
 */
#include <llhttp.h>
#include <stdlib.h>
#include <string.h>

#include "ottergate/inspect/h1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static int on_end(llhttp_t *p)
{
	(void)p;
	return HPE_PAUSED;
}

/* Does llhttp, with nothing of ours around it, take this head whole? */
static bool alone(struct slice head, bool response)
{
	static const llhttp_settings_t settings = { .on_headers_complete =
							    on_end };
	llhttp_t p;

	llhttp_init(&p, response ? HTTP_RESPONSE : HTTP_REQUEST, &settings);
	return llhttp_execute(&p, (const char *)head.ptr, head.len) ==
		       HPE_PAUSED &&
	       llhttp_get_error_pos(&p) == (const char *)head.ptr + head.len;
}

/* Our own fields may take a head past what is read here. */
static bool at_limit(const struct buf *b, size_t n_fields)
{
	return buf_len(b) > HTTP1_HEAD_MAX || n_fields + 4 > HTTP1_HEADERS_MAX;
}

static void request_again(const struct http1_request *a, const struct buf *out)
{
	struct http1_request b;

	check(alone(buf_slice(out), false));
	check(http1_request_read(buf_slice(out), &b) == 0);
	check(b.m.head_len == buf_len(out));
	check(slice_eq(a->method, b.method) && slice_eq(a->path, b.path));
	check(slice_eq(b.host, a->authority.len ? a->authority : a->host));
	check(a->m.chunked == b.m.chunked &&
	      a->m.has_length == b.m.has_length && a->m.length == b.m.length);
	check(a->m.keep_alive == b.m.keep_alive && a->m.minor == b.m.minor);
	check(a->expect_continue == b.expect_continue);
}

static void fuzz_request(struct slice raw)
{
	struct h1_request rq = { 0 };
	struct http1_request in;
	struct ihead head;
	struct buf out;

	if (http1_request_read(raw, &in) < 0 || in.form == HTTP1_AUTHORITY ||
	    (in.authority.len == 0 && in.host.len == 0))
		return;
	check(alone(slice_of(raw.ptr, in.m.head_len), false));
	ihead_init(&head);
	buf_init(&out, H1_QUEUE_MAX);
	rq.head = &head;
	rq.old = in.m.minor == 0;
	rq.keep = in.m.keep_alive;
	rq.expect = in.expect_continue;
	rq.chunked = in.m.chunked;
	if (h1_request_head(&in, &head) == 0) {
		check(h1_request_write(&rq, &out) == 0);
		if (!at_limit(&out, head.n_fields))
			request_again(&in, &out);
	}
	buf_done(&out);
	ihead_done(&head);
}

static void fuzz_response(struct slice raw, bool head_request)
{
	struct http1_response in, again;
	struct h1_response rs = { 0 };
	struct ihead head;
	struct buf out;

	if (http1_response_read(raw, head_request, &in) < 0)
		return;
	check(alone(slice_of(raw.ptr, in.m.head_len), true));
	ihead_init(&head);
	buf_init(&out, H1_QUEUE_MAX);
	rs.chunked = in.m.chunked && !in.no_body;
	if (h1_response_head(&in, &head) == 0) {
		check(h1_response_write(&head, &rs, NULL, &out) == 0);
		if (!at_limit(&out, head.n_fields)) {
			check(http1_response_read(buf_slice(&out), head_request,
						  &again) == 0);
			check(again.m.head_len == buf_len(&out));
			check(again.status == in.status);
			check(in.no_body || in.m.chunked == again.m.chunked);
			check(again.until_close == in.until_close);
		}
	}
	buf_done(&out);
	ihead_done(&head);
}

/* Content and trailers of a chunked body that comes @step bytes at a time. */
static bool body(struct slice raw, size_t step, struct buf *content,
		 struct buf *trailers)
{
	struct http1_response rs = { .m.chunked = true };
	struct http1_body b;
	size_t pos = 0, end = 0;

	http1_body_of_response(&b, &rs);
	while (pos < raw.len && !b.done) {
		struct slice data;
		ssize_t n;

		if (pos == end)
			end = raw.len - pos < step ? raw.len : pos + step;
		n = http1_body_take(&b, slice_of(raw.ptr + pos, end - pos),
				    &data, trailers);
		if (n < 0)
			return false;
		check((size_t)n <= end - pos && data.len <= (size_t)n);
		check(n > 0 || b.done);
		check(data.len == 0 ||
		      buf_append(content, data.ptr, data.len) == 0);
		pos += (size_t)n;
	}
	return b.done;
}

static void fuzz_trailers(struct slice lines)
{
	struct ihead head;
	struct buf out;

	ihead_init(&head);
	buf_init(&out, H1_QUEUE_MAX);
	if (h1_trailers_read(lines, &head) == 0) {
		check(h1_fields_write(&head, &out) == 0);
		for (size_t i = 0; i < head.n_fields; i++)
			check(!slice_eq(head.fields[i].name,
					slice_str("content-length")) &&
			      !slice_eq(head.fields[i].name,
					slice_str("transfer-encoding")));
	}
	buf_done(&out);
	ihead_done(&head);
}

static void fuzz_body(struct slice raw, size_t step)
{
	struct buf a, b, ta, tb;
	bool whole, parts;

	buf_init(&a, raw.len + 1);
	buf_init(&b, raw.len + 1);
	buf_init(&ta, HTTP1_TRAILERS_MAX);
	buf_init(&tb, HTTP1_TRAILERS_MAX);
	whole = body(raw, raw.len + 1, &a, &ta);
	parts = body(raw, step, &b, &tb);
	check(whole == parts);
	if (whole) {
		check(slice_eq(buf_slice(&a), buf_slice(&b)));
		check(slice_eq(buf_slice(&ta), buf_slice(&tb)));
		fuzz_trailers(buf_slice(&ta));
	}
	buf_done(&a);
	buf_done(&b);
	buf_done(&ta);
	buf_done(&tb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice raw;

	if (size < 1)
		return 0;
	raw = slice_of(data + 1, size - 1);
	switch (data[0] & 3) {
	case 0:
		fuzz_request(raw);
		break;
	case 1:
		fuzz_response(raw, data[0] & 4);
		break;
	case 2:
		fuzz_body(raw, (size_t)(data[0] >> 2) + 1);
		break;
	default:
		fuzz_trailers(raw);
		break;
	}
	return 0;
}
