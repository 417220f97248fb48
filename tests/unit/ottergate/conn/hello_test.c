/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello_test.c - rows N7 to N9, T3, T7 and T9 of the bypass catalogue:
 * what a hello says, as bytes
 */
#include "ottergate/conn/hello.h"

#include "tests/unit/ottergate/conn/hello_bytes.h"

struct ext_case {
	const char *id;
	const char *ext;
	size_t len;
	enum hello_why want;
	const char *sni;
};

static const struct ext_case ext_cases[] = {
	{ "N7 one name", BYTES(SNI), HELLO_OK, "a.test" },
	{ "N7 among others", BYTES(V13 SNI ALPN), HELLO_OK, "a.test" },
	{ "N7 extension twice", BYTES(SNI SNI_B), HELLO_DUPLICATE, NULL },
	{ "N7 the same twice", BYTES(SNI V13 SNI), HELLO_DUPLICATE, NULL },
	{ "N7 another twice", BYTES(SNI ECH ECH), HELLO_DUPLICATE, NULL },
	{ "N7 unknown twice", BYTES("\x5a\x5a\x00\x00" SNI "\x5a\x5a\x00\x00"),
	  HELLO_DUPLICATE, NULL },
	{ "N7 two names",
	  BYTES("\x00\x00\x00\x14\x00\x12\x00\x00\x06"
		"a.test"
		"\x00\x00\x06"
		"b.test"),
	  HELLO_DUPLICATE, NULL },
	{ "N7 type 1",
	  BYTES("\x00\x00\x00\x0b\x00\x09\x01\x00\x06"
		"a.test"),
	  HELLO_MALFORMED, NULL },
	{ "N7 type 1, then a name",
	  BYTES("\x00\x00\x00\x14\x00\x12\x01\x00\x06"
		"a.test"
		"\x00\x00\x06"
		"b.test"),
	  HELLO_MALFORMED, NULL },
	{ "N7 a name, then type 1",
	  BYTES("\x00\x00\x00\x14\x00\x12\x00\x00\x06"
		"a.test"
		"\x01\x00\x06"
		"b.test"),
	  HELLO_DUPLICATE, NULL },
	{ "N7 list too short",
	  BYTES("\x00\x00\x00\x0b\x00\x08\x00\x00\x06"
		"a.test"),
	  HELLO_MALFORMED, NULL },
	{ "N7 list too long",
	  BYTES("\x00\x00\x00\x0b\x00\x0a\x00\x00\x06"
		"a.test"),
	  HELLO_MALFORMED, NULL },
	{ "N7 name too long for its list",
	  BYTES("\x00\x00\x00\x0b\x00\x09\x00\x00\x07"
		"a.test"),
	  HELLO_MALFORMED, NULL },
	{ "N7 name shorter than its list",
	  BYTES("\x00\x00\x00\x0b\x00\x09\x00\x00\x05"
		"a.test"),
	  HELLO_DUPLICATE, NULL },
	{ "N7 empty list", BYTES("\x00\x00\x00\x02\x00\x00"), HELLO_MALFORMED,
	  NULL },
	{ "N7 no list", BYTES("\x00\x00\x00\x00"), HELLO_MALFORMED, NULL },
	{ "N7 extension past the end",
	  BYTES("\x00\x00\x00\x0c\x00\x09\x00\x00\x06"
		"a.test"),
	  HELLO_MALFORMED, NULL },
	{ "N7 half an extension header", BYTES(SNI "\x00\x10\x00"),
	  HELLO_MALFORMED, NULL },
	{ "N8 no server name", BYTES(V13 ALPN), HELLO_OK, NULL },
	{ "N8 no extension", BYTES(""), HELLO_OK, NULL },
	{ "N1 upper case",
	  BYTES("\x00\x00\x00\x0b\x00\x09\x00\x00\x06"
		"A.tEST"),
	  HELLO_OK, "a.test" },
	{ "N2 a dot at the end",
	  BYTES("\x00\x00\x00\x0b\x00\x09\x00\x00\x06"
		"atest."),
	  HELLO_OK, "atest" },
	{ "N2 two dots at the end",
	  BYTES("\x00\x00\x00\x0b\x00\x09\x00\x00\x06"
		"test.."),
	  HELLO_BAD_NAME, NULL },
	{ "N3 empty name", BYTES("\x00\x00\x00\x05\x00\x03\x00\x00\x00"),
	  HELLO_BAD_NAME, NULL },
	{ "N3 NUL in the name",
	  BYTES("\x00\x00\x00\x0b\x00\x09\x00\x00\x06"
		"a\0test"),
	  HELLO_BAD_NAME, NULL },
	{ "N3 NUL at the end",
	  BYTES("\x00\x00\x00\x0b\x00\x09\x00\x00\x06"
		"atest\0"),
	  HELLO_BAD_NAME, NULL },
	{ "N4 not ASCII",
	  BYTES("\x00\x00\x00\x0b\x00\x09\x00\x00\x06"
		"\xd1\x96test"),
	  HELLO_BAD_NAME, NULL },
	{ "N9 an address",
	  BYTES("\x00\x00\x00\x0c\x00\x0a\x00\x00\x07"
		"1.2.3.4"),
	  HELLO_IP_NAME, NULL },
	{ "N9 IPv6",
	  BYTES("\x00\x00\x00\x08\x00\x06\x00\x00\x03"
		"::1"),
	  HELLO_IP_NAME, NULL },
	{ "N10 a number",
	  BYTES("\x00\x00\x00\x0b\x00\x09\x00\x00\x06"
		"0x7f.1"),
	  HELLO_IP_NAME, NULL },
	{ "ALPN empty", BYTES(SNI "\x00\x10\x00\x02\x00\x00"), HELLO_MALFORMED,
	  NULL },
	{ "ALPN with an empty name", BYTES(SNI "\x00\x10\x00\x03\x00\x01\x00"),
	  HELLO_MALFORMED, NULL },
	{ "ALPN that lies", BYTES(SNI "\x00\x10\x00\x05\x00\x03\x03h2"),
	  HELLO_MALFORMED, NULL },
	{ "versions odd", BYTES(SNI "\x00\x2b\x00\x04\x03\x03\x04\x03"),
	  HELLO_MALFORMED, NULL },
	{ "versions empty", BYTES(SNI "\x00\x2b\x00\x01\x00"), HELLO_MALFORMED,
	  NULL },
};

static void test_extensions(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(ext_cases); i++) {
		const struct ext_case *c = &ext_cases[i];
		struct buf b;

		buf_init(&b, STREAM_MAX);
		simple(&b, c->ext, c->len);
		expect(buf_slice(&b), c->want, c->sni, c->id);
		buf_done(&b);
	}
}

/* What a hello says beside the name. */
static const struct flag_case {
	const char *id, *ext;
	size_t len;
	struct hello want;
	uint16_t legacy;
} flag_cases[] = {
	{ "TLS 1.3, ALPN",
	  BYTES(V13 ALPN),
	  { .version = 0x0304, .alpn_h2 = true, .alpn_h1 = true },
	  0x0303 },
	{ "another ALPN",
	  BYTES("\x00\x10\x00\x06\x00\x04\x03ssh"),
	  { .version = 0x0303, .alpn_other = true },
	  0x0303 },
	{ "a long ALPN",
	  BYTES("\x00\x10\x00\x0d\x00\x0b\x0ahttp/1.1.1"),
	  { .version = 0x0303, .alpn_other = true },
	  0x0303 },
	{ "T3 ECH", BYTES(ECH), { .version = 0x0303, .ech = true }, 0x0303 },
	{ "T3 ESNI",
	  BYTES("\xff\xce\x00\x00"),
	  { .version = 0x0303, .ech = true },
	  0x0303 },
	{ "T6 early data",
	  BYTES("\x00\x2a\x00\x00"),
	  { .version = 0x0303, .early_data = true },
	  0x0303 },
	{ "T7 TLS 1.0", NULL, 0, { .version = 0x0301 }, 0x0301 },
	{ "T7 TLS 1.1", NULL, 0, { .version = 0x0302 }, 0x0302 },
	{ "T7 1.3 needs its extension",
	  NULL,
	  0,
	  { .version = 0x0303 },
	  0x0304 },
	{ "T7 versions decide",
	  BYTES("\x00\x2b\x00\x03\x02\x03\x01"),
	  { .version = 0x0301 },
	  0x0303 },
	{ "T7 versions of nobody",
	  BYTES("\x00\x2b\x00\x07\x06\x0a\x0a\x03\x00\x7f\x1c"),
	  { .version = 0 },
	  0x0303 },
};

static void test_flags(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(flag_cases); i++) {
		const struct flag_case *c = &flag_cases[i];
		const struct hello *w = &c->want;
		struct hello h = { 0 };
		struct buf msg, b;
		enum hello_why why;

		buf_init(&msg, STREAM_MAX);
		buf_init(&b, STREAM_MAX);
		message(&msg, c->legacy, c->ext, c->len);
		records(&b, 0x0301, buf_slice(&msg), 7);
		ok(read_once(buf_slice(&b), &h, &why) == 0 &&
			   h.version == w->version && h.ech == w->ech &&
			   h.early_data == w->early_data &&
			   h.alpn_h1 == w->alpn_h1 && h.alpn_h2 == w->alpn_h2 &&
			   h.alpn_other == w->alpn_other && !h.has_sni,
		   "%s: %04x", c->id, h.version);
		buf_done(&msg);
		buf_done(&b);
	}
}

/* One byte of a good hello changed. */
static void test_fields(void)
{
	static const struct {
		const char *id;
		size_t at;
		uint8_t value;
		enum hello_why want;
	} cases[] = {
		{ "T9 no record", 0, 23, HELLO_NOT_TLS },
		{ "T5 alert first", 0, 21, HELLO_NOT_HELLO },
		{ "T5 CCS first", 0, 20, HELLO_NOT_HELLO },
		{ "T7 record of SSL 3", 2, 0, HELLO_VERSION },
		{ "T7 record of 3.5", 2, 5, HELLO_VERSION },
		{ "T7 record of 2.1", 1, 2, HELLO_VERSION },
		{ "T7 record of DTLS", 1, 0xfe, HELLO_VERSION },
		{ "T5 record of 17 KiB", 3, 0x44, HELLO_MALFORMED },
		{ "server hello", 5, 2, HELLO_NOT_HELLO },
		{ "hello request", 5, 0, HELLO_NOT_HELLO },
		{ "T8 hello of 64 KiB", 6, 1, HELLO_TOO_LONG },
		{ "T8 hello of 16 KiB", 7, 0x40, HELLO_TOO_LONG },
		{ "message a byte short", 8, 57, HELLO_MALFORMED },
		{ "T7 hello of SSL 3", 10, 0, HELLO_VERSION },
		{ "T7 hello of 3.5", 10, 5, HELLO_VERSION },
		{ "T7 hello of 2.3", 9, 2, HELLO_VERSION },
		{ "session of 33", 43, 33, HELLO_MALFORMED },
		{ "suites odd", 45, 1, HELLO_MALFORMED },
		{ "suites empty", 45, 0, HELLO_MALFORMED },
		{ "suites past the end", 44, 0xff, HELLO_MALFORMED },
		{ "no compression", 48, 0, HELLO_MALFORMED },
		{ "extensions a byte short", 51, 14, HELLO_MALFORMED },
		{ "extensions a byte long", 51, 16, HELLO_MALFORMED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b;

		buf_init(&b, STREAM_MAX);
		simple(&b, BYTES(SNI));
		b.mem[b.start + cases[i].at] = cases[i].value;
		expect(buf_slice(&b), cases[i].want, NULL, cases[i].id);
		buf_done(&b);
	}
}

/* T7, T9: one byte is enough to know. */
static void test_first_byte(void)
{
	static const struct {
		const char *id, *in;
		size_t len;
		enum hello_why want;
	} cases[] = {
		{ "T9 SSH", BYTES("SSH-2.0-x\r\n"), HELLO_NOT_TLS },
		{ "T9 HTTP", BYTES("GET / HTTP/1.1\r\n"), HELLO_NOT_TLS },
		{ "T9 zeros", BYTES("\0\0\0\0\0\0"), HELLO_NOT_TLS },
		{ "T9 WireGuard", BYTES("\x01\0\0\0"), HELLO_NOT_TLS },
		{ "T9 application data", BYTES("\x17\x03\x03\x00\x10"),
		  HELLO_NOT_TLS },
		{ "T7 SSLv2", BYTES("\x80\x2e\x01\x00\x02\x00\x15"),
		  HELLO_SSL2 },
		{ "T7 SSLv2 saying 3.1", BYTES("\x80\x2e\x01\x03\x01\x00"),
		  HELLO_SSL2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hello_reader r = { 0 };
		struct hello h;

		expect(slice_of(cases[i].in, cases[i].len), cases[i].want, NULL,
		       cases[i].id);
		ok(hello_read(&r, slice_of(cases[i].in, 1), &h) == -EBADMSG &&
			   r.why == cases[i].want,
		   "%s: at its first byte", cases[i].id);
		is_int(hello_read(&r, slice_str("\x16"), &h), -EBADMSG,
		       "no second thoughts");
	}
}

static void test_alert(void)
{
	uint8_t alert[HELLO_ALERT_LEN];

	hello_alert(49, alert);
	ok(memcmp(alert, "\x15\x03\x03\x00\x02\x02\x31", sizeof(alert)) == 0,
	   "access_denied");
}

int main(void)
{
	test_extensions();
	test_flags();
	test_fields();
	test_first_byte();
	test_alert();
	return done_testing();
}
