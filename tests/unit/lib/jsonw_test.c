/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonw_test.c - JSON that any parser reads the same way
 */
#include "lib/jsonw.h"

#include "tests/unit/tap.h"

#define MAX 65536u

/* What jsonw_strn() makes of @len bytes, NUL-ended. */
static void escaped(char out[MAX], const void *p, size_t len)
{
	struct buf b;
	struct jsonw w;
	struct slice s;

	buf_init(&b, MAX - 1);
	jsonw_init(&w, &b);
	jsonw_strn(&w, NULL, p, len);
	s = buf_slice(&b);
	memcpy(out, s.ptr, s.len);
	out[s.len] = '\0';
	buf_done(&b);
}

static void test_strings(void)
{
	static const struct {
		const char *what, *in;
		size_t len;
		const char *want;
	} rows[] = {
#define ROW(what, in, want) { what, in, sizeof(in) - 1, want }
		ROW("empty", "", "\"\""),
		ROW("plain", "abc XYZ 09 /~!", "\"abc XYZ 09 /~!\""),
		ROW("quote and backslash", "a\"b\\c", "\"a\\\"b\\\\c\""),
		ROW("newline, tab", "\n\t", "\"\\n\\t\""),
		ROW("control bytes", "\x01\x1f\r", "\"\\u0001\\u001f\\u000d\""),
		ROW("NUL", "a\0b", "\"a\\u0000b\""),
		ROW("delete", "\x7f", "\"\\u007f\""),
		ROW("two bytes", "\xc3\xa9", "\"\\u00e9\""),
		ROW("three bytes", "\xe2\x82\xac", "\"\\u20ac\""),
		ROW("four bytes", "\xf0\x9f\x98\x80", "\"\\ud83d\\ude00\""),
		ROW("the last code point", "\xf4\x8f\xbf\xbf",
		    "\"\\udbff\\udfff\""),
		ROW("past the last", "\xf4\x90\x80\x80",
		    "\"\\u00f4\\u0090\\u0080\\u0080\""),
		ROW("overlong slash", "\xc0\xaf", "\"\\u00c0\\u00af\""),
		ROW("overlong of three", "\xe0\x80\xaf",
		    "\"\\u00e0\\u0080\\u00af\""),
		ROW("a surrogate", "\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\""),
		ROW("cut short", "\xe2\x82", "\"\\u00e2\\u0082\""),
		ROW("cut by another", "\xe2\x82x", "\"\\u00e2\\u0082x\""),
		ROW("a lone tail", "\x80z", "\"\\u0080z\""),
		ROW("no lead byte", "\xff\xfe", "\"\\u00ff\\u00fe\""),
#undef ROW
	};
	char out[MAX], by_hand[MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *end;

		escaped(out, rows[i].in, rows[i].len);
		is_str(out, rows[i].want, "%s", rows[i].what);
		by_hand[0] = '"';
		end = jsonw_put_escaped(by_hand + 1, rows[i].in, rows[i].len);
		memcpy(end, "\"", 2);
		is_str(by_hand, out, "%s: both ways alike", rows[i].what);
		ok((size_t)(end - by_hand - 1) <=
			   rows[i].len * JSONW_ESCAPE_MAX,
		   "%s: within the bound", rows[i].what);
	}
}

static void test_all_bytes(void)
{
	bool ascii = true;
	char out[MAX];

	for (unsigned c = 0; c < 256; c++) {
		uint8_t byte = (uint8_t)c;

		escaped(out, &byte, 1);
		for (const char *p = out; *p; p++)
			ascii = ascii && *p >= 0x20 && *p < 0x7f;
	}
	ok(ascii, "every byte comes out as printable ASCII");
}

static void test_structure(void)
{
	struct buf b;
	struct jsonw w;
	struct slice s;

	buf_init(&b, MAX);
	jsonw_init(&w, &b);
	jsonw_open(&w, NULL, '{');
	jsonw_str(&w, "a", "x");
	jsonw_str(&w, "none", NULL);
	jsonw_u64(&w, "big", UINT64_MAX);
	jsonw_u64(&w, "zero", 0);
	jsonw_open(&w, "list", '[');
	jsonw_close(&w, ']');
	jsonw_open(&w, "two", '[');
	jsonw_u64(&w, NULL, 1);
	jsonw_bool(&w, NULL, true);
	jsonw_open(&w, NULL, '{');
	jsonw_bool(&w, "k\"", false);
	jsonw_close(&w, '}');
	jsonw_close(&w, ']');
	jsonw_strn(&w, "n", NULL, 0);
	jsonw_close(&w, '}');
	is_int(w.rc, 0, "written");
	is_int(buf_append(&b, "", 1), 0, "and ended");
	s = buf_slice(&b);
	is_str((const char *)s.ptr,
	       "{\"a\":\"x\",\"none\":null,\"big\":18446744073709551615,"
	       "\"zero\":0,\"list\":[],\"two\":[1,true,{\"k\\\"\":false}],"
	       "\"n\":\"\"}",
	       "commas and brackets");
	buf_done(&b);
}

static void test_full(void)
{
	struct buf b;
	struct jsonw w;

	buf_init(&b, 8);
	jsonw_init(&w, &b);
	jsonw_str(&w, NULL, "0123456789");
	is_int(w.rc, -ENOBUFS, "a full buffer is an error");
	buf_consume(&b, buf_len(&b));
	jsonw_str(&w, NULL, "x");
	is_int(w.rc, -ENOBUFS, "which stays");
	is_int(buf_len(&b), 0, "and nothing more is written");
	buf_done(&b);
}

int main(void)
{
	test_strings();
	test_all_bytes();
	test_structure();
	test_full();
	return done_testing();
}
