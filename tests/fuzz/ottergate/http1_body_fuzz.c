/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_body_fuzz.c - the framing of bodies
 *
 * The first byte says whose body it is and in which pieces it comes. Pieces
 * change nothing; and where a request's chunks end is where a plain reader
 * that knows neither extensions nor trailers finds the end.
 */
#include <stdlib.h>
#include <string.h>

#include "ottergate/inspect/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	size_t taken;
	bool done, bad;
};

static struct outcome feed(bool request, struct slice raw, size_t step)
{
	struct http1_request rq = { .m.chunked = true };
	struct http1_response rs = { .m.chunked = true };
	struct outcome o = { 0 };
	struct http1_body b;

	if (request)
		http1_body_of_request(&b, &rq);
	else
		http1_body_of_response(&b, &rs);
	while (o.taken < raw.len && !b.done && !o.bad) {
		size_t left = raw.len - o.taken;
		size_t n = left < step ? left : step;
		ssize_t rc =
			http1_body_feed(&b, slice_of(raw.ptr + o.taken, n));

		o.bad = rc < 0;
		if (o.bad)
			break;
		if ((size_t)rc > n || ((size_t)rc < n && !b.done))
			abort();
		o.taken += (size_t)rc;
	}
	o.done = b.done;
	return o;
}

/* The end of the chunks, 0: there is none. strtoull() is laxer than we are:
 * it is asked only about what was accepted. */
static size_t plain_end(struct slice raw)
{
	size_t pos = 0;

	for (;;) {
		char line[24] = "";
		size_t len = 0;
		unsigned long long n;

		while (pos + len < raw.len && raw.ptr[pos + len] != '\r' &&
		       len < sizeof(line) - 1) {
			line[len] = (char)raw.ptr[pos + len];
			len++;
		}
		n = strtoull(line, NULL, 16);
		pos += len + 2;
		if (pos > raw.len || n > raw.len - pos)
			return 0;
		pos += (size_t)n + 2;
		if (pos > raw.len)
			return 0;
		if (n == 0)
			return pos;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, parts;
	struct slice raw;
	bool request;

	if (size < 1)
		return 0;
	raw = slice_of(data + 1, size - 1);
	request = data[0] & 1;
	whole = feed(request, raw, raw.len ? raw.len : 1);
	parts = feed(request, raw, (size_t)(data[0] >> 1) + 1);
	if (whole.bad != parts.bad || whole.done != parts.done)
		abort();
	if (!whole.bad && whole.taken != parts.taken)
		abort();
	if (whole.done && request && plain_end(raw) != whole.taken)
		abort();
	if (whole.done && memcmp(raw.ptr + whole.taken - 4, "\r\n\r\n", 4) != 0)
		abort();
	return 0;
}
