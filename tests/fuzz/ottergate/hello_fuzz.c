/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello_fuzz.c - what a hello says does not depend on how it is cut
 *
 * The stream is read at once and byte by byte, and an accepted hello again in
 * other records: always the same answer.
 */
#include <string.h>

#include "ottergate/conn/hello.h"

#define STREAM_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same_name(const struct name *a, const struct name *b)
{
	return a->len == b->len && memcmp(a->s, b->s, a->len + 1u) == 0;
}

static void must_equal(const struct hello *a, const struct hello *b)
{
	if (a->has_sni != b->has_sni || !same_name(&a->sni, &b->sni) ||
	    a->ech != b->ech || a->early_data != b->early_data ||
	    a->alpn_h2 != b->alpn_h2 || a->alpn_h1 != b->alpn_h1 ||
	    a->alpn_other != b->alpn_other || a->version != b->version)
		abort();
}

static void check_hello(const struct hello *h)
{
	struct name again;

	if (h->has_sni != (h->sni.len > 0))
		abort();
	if (h->has_sni && (name_canon(slice_str(h->sni.s), &again) < 0 ||
			   !same_name(&h->sni, &again)))
		abort();
	if (h->version && (h->version < 0x0301 || h->version > 0x0304))
		abort();
}

/* Takes the message out of its records: @r has seen them all. */
static size_t unwrap(const struct hello_reader *r, const uint8_t *data,
		     size_t size, uint8_t *out)
{
	size_t n = 0, at = 0;

	while (n < r->want) {
		size_t len = (size_t)data[at + 3] << 8 | data[at + 4];

		at += 5;
		if (len > r->want - n)
			len = r->want - n;
		if (at + len > size)
			abort();
		memcpy(out + n, data + at, len);
		n += len;
		at += len;
	}
	return n;
}

/* As one record or as many, of @first bytes and then @rest each. */
static void check_other_records(const struct hello *h, const uint8_t *msg,
				size_t len, size_t first, size_t rest)
{
	static uint8_t out[STREAM_MAX * 6];
	struct hello_reader r = { 0 };
	struct hello again;
	size_t n = 0, size = first;

	if (first == 0 || rest == 0 || 1 + len / rest > HELLO_RECORDS_MAX)
		return;
	while (len > 0) {
		if (size > len)
			size = len;
		memcpy(out + n, "\x16\x03\x03", 3);
		out[n + 3] = (uint8_t)(size >> 8);
		out[n + 4] = (uint8_t)size;
		memcpy(out + n + 5, msg, size);
		n += 5 + size;
		msg += size;
		len -= size;
		size = rest;
	}
	if (hello_read(&r, slice_of(out, n), &again) != 0)
		abort();
	must_equal(h, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t msg[STREAM_MAX];
	struct hello_reader whole = { 0 }, slow = { 0 };
	struct hello h = { 0 }, g = { 0 };
	int rc, slow_ret = -EAGAIN;
	size_t len;

	if (size > STREAM_MAX)
		return 0;
	rc = hello_read(&whole, slice_of(data, size), &h);
	for (size_t n = 1; slow_ret == -EAGAIN && n <= size; n++) {
		uint32_t pos = slow.pos;

		slow_ret = hello_read(&slow, slice_of(data, n), &g);
		if (slow.pos < pos)
			abort();
	}
	if (rc != slow_ret || whole.why != slow.why ||
	    (rc == -EBADMSG) != (whole.why != HELLO_OK))
		abort();
	if (rc != 0)
		return 0;
	must_equal(&h, &g);
	check_hello(&h);
	len = unwrap(&whole, data, size, msg);
	check_other_records(&h, msg, len, len, 1);
	check_other_records(&h, msg, len, data[size - 1], data[size / 2]);
	return 0;
}
