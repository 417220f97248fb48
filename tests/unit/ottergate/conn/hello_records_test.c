/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello_records_test.c - rows T4 to T6 and T8 of the bypass catalogue: a
 * hello over segments and records, and how much of it is too much
 */
#include "ottergate/conn/hello.h"

#include "tests/unit/ottergate/conn/hello_bytes.h"

/* T4, T5: two records split at each place, each cut of the stream. */
static void test_splits(void)
{
	static const uint16_t versions[] = { 0x0301, 0x0302, 0x0303, 0x0304 };
	int bad = 0, cuts = 0;
	struct buf msg;

	buf_init(&msg, STREAM_MAX);
	message(&msg, 0x0303, BYTES(V13 SNI ALPN));
	for (size_t k = 1; k < buf_len(&msg); k++) {
		struct slice rest = buf_slice(&msg), head;
		struct buf b;

		buf_init(&b, STREAM_MAX);
		bad += slice_take(&rest, k, &head) < 0;
		record(&b, 22, versions[k % 4], head.ptr, head.len);
		record(&b, 22, versions[(k + 1) % 4], rest.ptr, rest.len);
		for (size_t cut = 0; cut < buf_len(&b); cut++, cuts++) {
			struct hello_reader r = { 0 };
			struct hello h;

			bad += hello_read(&r, slice_of(buf_slice(&b).ptr, cut),
					  &h) != -EAGAIN;
			bad += hello_read(&r, buf_slice(&b), &h) != 0 ||
			       strcmp(h.sni.s, "a.test") != 0 ||
			       h.version != 0x0304 || !h.alpn_h1 ||
			       r.records != 2 || r.pos != buf_len(&b);
		}
		buf_done(&b);
	}
	is_int(bad, 0, "T4, T5: %d cuts of hellos in two records", cuts);
	buf_done(&msg);
}

static void test_records(void)
{
	struct slice s, half;
	struct hello_reader r;
	struct hello h;
	enum hello_why why;
	struct buf msg, b;
	static const struct {
		const char *id;
		size_t len;
		enum hello_why want;
		uint8_t type;
	} between[] = {
		{ "T5 empty record between", 0, HELLO_RECORDS, 22 },
		{ "T5 CCS between", 1, HELLO_NOT_HELLO, 20 },
		{ "T5 alert between", 2, HELLO_NOT_HELLO, 21 },
		{ "T5 data between", 1, HELLO_NOT_HELLO, 23 },
		{ "T5 SSLv2 between", 1, HELLO_NOT_HELLO, 0x80 },
	};

	buf_init(&msg, STREAM_MAX);
	buf_init(&b, STREAM_MAX);
	message(&msg, 0x0303, BYTES(SNI V13 ALPN));
	records(&b, 0x0301, buf_slice(&msg), 1);
	expect(buf_slice(&b), HELLO_OK, "a.test", "T5 records of 1 byte");
	is_int(read_bytes(buf_slice(&b), &h, &why, &r), 0, "and its work");
	ok(r.records == buf_len(&msg) && r.pos == buf_len(&b),
	   "each header was walked over once");
	for (size_t i = 0; i < ARRAY_SIZE(between); i++) {
		buf_consume(&b, buf_len(&b));
		s = buf_slice(&msg);
		if (!ok(slice_take(&s, 20, &half) == 0, "half"))
			break;
		record(&b, 22, 0x0301, half.ptr, half.len);
		record(&b, between[i].type, 0x0301, "\x01\x00", between[i].len);
		record(&b, 22, 0x0301, s.ptr, s.len);
		expect(buf_slice(&b), between[i].want, NULL, between[i].id);
	}
	buf_consume(&b, buf_len(&b));
	record(&b, 22, 0x0301, "", 0);
	expect(buf_slice(&b), HELLO_RECORDS, NULL, "T5 empty record first");
	buf_done(&msg);
	buf_done(&b);
}

/* T5, T8: as many records and bytes as are allowed, and one more. */
static void test_limits(void)
{
	static uint8_t pad[65536]; /* extension 0: a type, a length, zeros */
	static const struct {
		const char *id;
		size_t len; /* of the message */
		size_t record;
		uint16_t max_kib;
		enum hello_why want;
	} cases[] = {
		{ "T5 256 records", 256, 1, 0, HELLO_OK },
		{ "T5 257 records", 257, 1, 0, HELLO_RECORDS },
		{ "T8 16 KiB", 16384, 16384, 0, HELLO_OK },
		{ "T8 and a byte", 16385, 16384, 0, HELLO_TOO_LONG },
		{ "T8 2 KiB", 2048, 1400, 2, HELLO_OK },
		{ "T8 2 KiB and a byte", 2049, 1400, 2, HELLO_TOO_LONG },
		{ "T8 64 KiB", 65536, 1400, 64, HELLO_OK },
		{ "T8 64 KiB and a byte", 65537, 1400, 64, HELLO_TOO_LONG },
		{ "T8 no more than 64 KiB", 65537, 1400, 200, HELLO_TOO_LONG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hello_reader r = { .max_kib = cases[i].max_kib };
		size_t ext = cases[i].len - MESSAGE_FIXED;
		struct hello h;
		struct buf msg, b;
		int rc;

		buf_init(&msg, STREAM_MAX);
		buf_init(&b, STREAM_MAX);
		pad[0] = 0x7a; /* nobody's extension */
		pad[2] = (uint8_t)((ext - 4) >> 8);
		pad[3] = (uint8_t)(ext - 4);
		message(&msg, 0x0303, pad, ext);
		records(&b, 0x0301, buf_slice(&msg), cases[i].record);
		rc = hello_read(&r, buf_slice(&b), &h);
		ok(buf_len(&msg) == cases[i].len &&
			   rc == (cases[i].want ? -EBADMSG : 0) &&
			   r.why == cases[i].want,
		   "%s: %d", cases[i].id, (int)r.why);
		buf_done(&msg);
		buf_done(&b);
	}
}

static void test_extension_count(void)
{
	uint8_t ext[4 * (HELLO_EXTENSIONS_MAX + 1)] = { 0 };

	for (size_t i = 0; i <= HELLO_EXTENSIONS_MAX; i++) {
		ext[4 * i] = 0x20; /* types of nobody */
		ext[4 * i + 1] = (uint8_t)i;
	}
	for (size_t n = HELLO_EXTENSIONS_MAX; n <= HELLO_EXTENSIONS_MAX + 1;
	     n++) {
		struct buf b;

		buf_init(&b, STREAM_MAX);
		simple(&b, ext, 4 * n);
		expect(buf_slice(&b),
		       n > HELLO_EXTENSIONS_MAX ? HELLO_TOO_LONG : HELLO_OK,
		       NULL, "T8 as many extensions as may be, and one more");
		buf_done(&b);
	}
}

/* T6: what follows is not looked at; T4: a hello of today's size. */
static void test_rest(void)
{
	static uint8_t share[4 + 1216 + 38] = { 0x00, 0x33, 0x04, 0xe6 };
	static const char *const after[] = { "\x17\x03\x03\x00\x01x", "SSH-2.0",
					     "\x16\x03\x03" };
	struct buf msg, b, ext;

	buf_init(&msg, STREAM_MAX);
	buf_init(&b, STREAM_MAX);
	buf_init(&ext, STREAM_MAX);
	message(&msg, 0x0303, BYTES(SNI));
	message(&msg, 0x0303, BYTES(SNI_B));
	record(&b, 22, 0x0301, buf_slice(&msg).ptr, buf_len(&msg));
	expect(buf_slice(&b), HELLO_OK, "a.test", "T6 two in a record");
	for (size_t i = 0; i < ARRAY_SIZE(after); i++) {
		buf_consume(&b, buf_len(&b));
		simple(&b, BYTES(SNI));
		put(&b, after[i], strlen(after[i]));
		expect(buf_slice(&b), HELLO_OK, "a.test", "T6 bytes after");
	}
	put(&ext, share, sizeof(share));
	put(&ext, SNI V13, sizeof(SNI V13) - 1);
	buf_consume(&b, buf_len(&b));
	buf_consume(&msg, buf_len(&msg));
	message(&msg, 0x0303, buf_slice(&ext).ptr, buf_len(&ext));
	records(&b, 0x0303, buf_slice(&msg), 500);
	expect(buf_slice(&b), HELLO_OK, "a.test", "T4 a key of ML-KEM");
	buf_done(&msg);
	buf_done(&b);
	buf_done(&ext);
}

int main(void)
{
	test_splits();
	test_records();
	test_limits();
	test_extension_count();
	test_rest();
	return done_testing();
}
