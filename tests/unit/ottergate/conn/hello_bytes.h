/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello_bytes.h - hellos for tests, made byte by byte, and what to expect of
 * them however they are cut
 */
#ifndef TESTS_UNIT_OTTERGATE_CONN_HELLO_BYTES_H
#define TESTS_UNIT_OTTERGATE_CONN_HELLO_BYTES_H

#include "lib/buf.h"
#include "ottergate/conn/hello.h"
#include "tests/unit/tap.h"

#define BYTES(s) s, sizeof(s) - 1
#define STREAM_MAX (128u * 1024)
/* Extensions, with their headers. */
#define SNI                                    \
	"\x00\x00\x00\x0b\x00\x09\x00\x00\x06" \
	"a.test"
#define SNI_B                                  \
	"\x00\x00\x00\x0b\x00\x09\x00\x00\x06" \
	"b.test"
#define ALPN "\x00\x10\x00\x0e\x00\x0c\x02h2\x08http/1.1"
#define V13 "\x00\x2b\x00\x05\x04\x03\x04\x03\x03"
#define ECH "\xfe\x0d\x00\x01\x00"
#define MESSAGE_FIXED 47u /* of message(), all but the extensions */

/* Writing to a test's buffer does not fail, but for lack of memory. */
static inline void put(struct buf *b, const void *data, size_t len)
{
	if (buf_append(b, data, len) < 0)
		abort();
}

static inline void put_u16(struct buf *b, size_t v)
{
	if (buf_put_u16(b, (uint16_t)v) < 0)
		abort();
}

/* A handshake message: one suite, null compression, @ext as it is. */
static inline void message(struct buf *b, uint16_t legacy, const void *ext,
			   size_t len)
{
	size_t body = 2 + 32 + 1 + 4 + 2 + (ext ? 2 + len : 0);
	static const uint8_t random[32] = { 0x16, 3, 1, 0xff };

	put(b, (uint8_t[]){ 1, (uint8_t)(body >> 16) }, 2);
	put_u16(b, body & 0xffff);
	put_u16(b, legacy);
	put(b, random, sizeof(random));
	put(b, "\x00\x00\x02\x13\x01\x01\x00", 7);
	if (ext) {
		put_u16(b, len);
		put(b, ext, len);
	}
}

static inline void record(struct buf *b, uint8_t type, uint16_t version,
			  const void *data, size_t len)
{
	put(b, &type, 1);
	put_u16(b, version);
	put_u16(b, len);
	put(b, data, len);
}

/* @msg in records of @size bytes. */
static inline void records(struct buf *b, uint16_t version, struct slice msg,
			   size_t size)
{
	struct slice part;

	while (slice_take(&msg, msg.len < size ? msg.len : size, &part) == 0 &&
	       part.len > 0)
		record(b, 22, version, part.ptr, part.len);
}

static inline void simple(struct buf *b, const void *ext, size_t len)
{
	struct buf msg;

	buf_init(&msg, STREAM_MAX);
	message(&msg, 0x0303, ext, len);
	record(b, 22, 0x0301, buf_slice(&msg).ptr, buf_len(&msg));
	buf_done(&msg);
}

static inline int read_once(struct slice s, struct hello *h,
			    enum hello_why *why)
{
	struct hello_reader r = { 0 };
	int rc = hello_read(&r, s, h);

	*why = r.why;
	return rc;
}

/* Byte by byte, each prefix in memory of its own; the position only grows,
 * and each record is counted once. */
static inline int read_bytes(struct slice s, struct hello *h,
			     enum hello_why *why, struct hello_reader *r)
{
	int rc = -EAGAIN;

	*r = (struct hello_reader){ 0 };
	for (size_t n = 1; rc == -EAGAIN && n <= s.len; n++) {
		SCOPED_MEM copy = malloc(n);
		uint32_t pos = r->pos;

		if (!copy)
			abort();
		memcpy(copy, s.ptr, n);
		rc = hello_read(r, slice_of(copy, n), h);
		if (r->pos < pos || r->records > HELLO_RECORDS_MAX)
			abort();
	}
	*why = r->why;
	return rc;
}

static inline void expect(struct slice s, enum hello_why want, const char *sni,
			  const char *what)
{
	struct hello h = { .version = 9 }, slow = { 0 };
	struct hello_reader r;
	enum hello_why why, slow_why;
	int rc = read_once(s, &h, &why);
	int slow_ret = read_bytes(s, &slow, &slow_why, &r);

	if (want != HELLO_OK)
		ok(rc == -EBADMSG && why == want && h.version == 9, "%s: %d",
		   what, (int)why);
	else
		ok(rc == 0 && h.has_sni == !!sni &&
			   strcmp(h.sni.s, sni ? sni : "") == 0,
		   "%s: %d, \"%s\"", what, rc, h.sni.s);
	ok(slow_ret == rc && slow_why == why &&
		   strcmp(slow.sni.s, h.sni.s) == 0,
	   "T4: %s, byte by byte", what);
}

#endif
