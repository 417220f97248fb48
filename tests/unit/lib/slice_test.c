/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_test.c - readers stop at the end, whatever a length claims
 */
#include "lib/slice.h"

#include "tests/unit/tap.h"

static const uint8_t nine[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };

static void test_integers(void)
{
	struct slice s = slice_of(nine, sizeof(nine));
	uint8_t a = 0;
	uint16_t b = 0;
	uint32_t c = 0;
	uint64_t d = 0;

	ok(slice_u8(&s, &a) == 0 && a == 1, "u8");
	ok(slice_u16(&s, &b) == 0 && b == 0x0203, "u16, big-endian");
	ok(slice_u32(&s, &c) == 0 && c == 0x04050607, "u32");
	is_int(slice_u64(&s, &d), -EBADMSG, "u64 needs 8 bytes");
	ok(s.len == 2 && s.ptr == nine + 7 && d == 0, "nothing was touched");
	s = slice_of(nine, sizeof(nine));
	ok(slice_u64(&s, &d) == 0 && d == UINT64_C(0x0102030405060708), "u64");
}

static void test_trim(void)
{
	static const char *const all[][2] = {
		{ " a b\t", "a b" }, { "\t \t", "" },   { "", "" },
		{ "a", "a" },        { "\na ", "\na" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		ok(slice_eq(slice_trim(slice_str(all[i][0])),
			    slice_str(all[i][1])),
		   "%zu: without blanks at its ends", i);
}

/* Each reader on each length too short for it. */
static void test_short(void)
{
	for (size_t len = 0; len < 8; len++) {
		struct slice s = slice_of(len ? nine : NULL, len);
		uint8_t a = 0;
		uint16_t b = 0;
		uint32_t c = 0;
		uint64_t d = 0;
		struct slice v = { 0 };
		int bad = 0;

		if (len < 1)
			bad += slice_u8(&s, &a) != -EBADMSG || a;
		if (len < 2)
			bad += slice_u16(&s, &b) != -EBADMSG || b;
		if (len < 4)
			bad += slice_u32(&s, &c) != -EBADMSG || c;
		bad += slice_u64(&s, &d) != -EBADMSG || d;
		bad += slice_take(&s, len + 1, &v) != -EBADMSG;
		bad += slice_take(&s, SIZE_MAX, &v) != -EBADMSG;
		bad += v.ptr || v.len || s.len != len;
		is_int(bad, 0, "readers on %zu bytes", len);
	}
}

static void test_take(void)
{
	struct slice s = slice_of(nine, sizeof(nine)), v;

	ok(slice_take(&s, 4, &v) == 0 && v.ptr == nine && v.len == 4, "take 4");
	ok(slice_take(&s, 0, &v) == 0 && v.len == 0 && s.len == 5, "take 0");
	ok(slice_take(&s, 5, &v) == 0 && v.ptr == nine + 4 && s.len == 0,
	   "take the rest");
	ok(slice_take(&s, 0, &v) == 0, "take 0 of nothing");
	is_int(slice_take(&s, 1, &v), -EBADMSG, "take 1 of nothing");
	s = slice_of(NULL, 0);
	ok(slice_take(&s, 0, &v) == 0 && v.len == 0, "take 0 of a null slice");
}

static void test_lstr(void)
{
	static const struct {
		const char *name, *bytes;
		size_t len, max;
		int want;
		size_t want_len;
	} cases[] = {
		{ "a string", "\0\0\0\3abcd", 8, 10, 0, 3 },
		{ "an empty one", "\0\0\0\0", 4, 0, 0, 0 },
		{ "the maximum", "\0\0\0\3abc", 7, 3, 0, 3 },
		{ "over the maximum", "\0\0\0\3abc", 7, 2, -EBADMSG, 0 },
		{ "short of one byte", "\0\0\0\4abc", 7, 10, -EBADMSG, 0 },
		{ "no length", "\0\0\0", 3, 10, -EBADMSG, 0 },
		{ "nothing", "", 0, 10, -EBADMSG, 0 },
		{ "4 GiB",
		  "\xff\xff\xff\xff"
		  "a",
		  5, SIZE_MAX, -EBADMSG, 0 },
		{ "2 GiB", "\x80\0\0\0a", 5, SIZE_MAX, -EBADMSG, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct slice s = slice_of(cases[i].bytes, cases[i].len);
		struct slice v = { 0 };
		size_t left = cases[i].len;
		int rc = slice_lstr(&s, cases[i].max, &v);

		if (rc == 0)
			left -= 4 + cases[i].want_len;
		ok(rc == cases[i].want && v.len == cases[i].want_len &&
			   s.len == left && (rc == 0 || !v.ptr),
		   "lstr: %s", cases[i].name);
	}
}

static void test_lstr_copy(void)
{
	struct slice s = slice_of("\0\0\0\3abc\0\0\0\2a\0", 13);
	struct slice long_one = slice_of("\0\0\0\4abcd", 8);
	char text[4] = "xxx";

	ok(slice_lstr_copy(&s, 3, text) == 0 && strcmp(text, "abc") == 0,
	   "copied, to the last byte that there is room for");
	is_int(slice_lstr_copy(&s, 3, text), -EBADMSG, "not with a NUL in it");
	is_int(slice_lstr_copy(&long_one, 3, text), -EBADMSG, "nor too long");
	s = slice_of("\0\0\0\0", 4);
	ok(slice_lstr_copy(&s, 3, text) == 0 && !text[0], "an empty one");
}

static void test_strings(void)
{
	SCOPED_STR a = NULL;
	SCOPED_STR b = NULL;
	char *c = NULL;

	ok(slice_dup_str(slice_str("abc"), &a) == 0, "dup");
	is_str(a, "abc", "the copy");
	ok(slice_dup_str(slice_of(NULL, 0), &b) == 0, "dup of a null slice");
	is_str(b, "", "is an empty string");
	ok(slice_dup_str(slice_of("a\0b", 3), &c) == -EBADMSG && !c,
	   "a NUL inside is refused");
	ok(slice_dup_str(slice_of("a", 2), &c) == -EBADMSG && !c,
	   "and at the end");
	ok(slice_eq(slice_str("ab"), slice_str("ab")), "equal");
	ok(!slice_eq(slice_str("ab"), slice_str("ac")), "not equal");
	ok(!slice_eq(slice_str("ab"), slice_str("abc")), "not as long");
	ok(slice_eq(slice_of(NULL, 0), slice_str("")), "null and empty");
	ok(slice_str(NULL).len == 0, "a null string is an empty slice");
}

static void test_lines(void)
{
	struct slice s = slice_str("one\n\ntwo\r\nrest");
	struct slice line = slice_line(&s);

	ok(slice_eq(line, slice_str("one")), "a line, without its newline");
	ok(slice_line(&s).len == 0 && s.len == 9, "an empty one");
	line = slice_line(&s);
	ok(slice_eq(line, slice_str("two\r")), "CR is a byte as any other");
	line = slice_line(&s);
	ok(slice_eq(line, slice_str("rest")) && s.len == 0,
	   "the last needs no newline");
	ok(slice_line(&s).len == 0 && s.len == 0, "nothing is left");

	s = slice_str("a==1");
	ok(!slice_skip(&s, "b") && !slice_skip(&s, "a==12") && s.len == 4,
	   "what is not there is not skipped");
	ok(slice_skip(&s, "a==") && slice_eq(s, slice_str("1")),
	   "what is there, is");
}

int main(void)
{
	test_integers();
	test_trim();
	test_short();
	test_take();
	test_lstr();
	test_lstr_copy();
	test_strings();
	test_lines();
	return done_testing();
}
