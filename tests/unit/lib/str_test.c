/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str_test.c - escapes, quantities, vectors
 */
#include "lib/str.h"

#include "tests/unit/tap.h"

struct quantity {
	const char *text;
	int want;
	uint64_t value;
};

typedef int (*quantity_fn)(const char *s, uint64_t *ret);

static void check(const char *name, quantity_fn parse,
		  const struct quantity *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = 12345;
		int rc = parse(cases[i].text, &v);

		ok(rc == cases[i].want &&
			   v == (rc < 0 ? 12345 : cases[i].value),
		   "%s '%s': %d, %llu", name, cases[i].text, rc,
		   (unsigned long long)v);
	}
}

static const struct quantity sizes[] = {
	{ "0", 0, 0 },
	{ "1073741824", 0, 1073741824 },
	{ "512m", 0, 512u << 20 },
	{ "512M", 0, 512u << 20 },
	{ "1.5g", 0, 3u << 29 },
	{ "1.5GiB", 0, 3u << 29 },
	{ "1gb", 0, 1u << 30 },
	{ "64k", 0, 65536 },
	{ "64kB", 0, 65536 },
	{ "7b", 0, 7 },
	{ ".5k", 0, 512 },
	{ "0.000001t", 0, 1099511 },
	{ "16777215t", 0, UINT64_C(16777215) << 40 },
	{ "16777215.999999t", 0, UINT64_C(18446744073708452104) },
	{ "18446744073709551615", 0, UINT64_MAX },
	{ "18446744073709551616", -ERANGE, 0 },
	{ "99999999999999999999999", -ERANGE, 0 },
	{ "16777216t", -ERANGE, 0 },
	{ "18014398509481984k", -ERANGE, 0 },
	{ "", -EINVAL, 0 },
	{ ".", -EINVAL, 0 },
	{ "1.", -EINVAL, 0 },
	{ "1.5", -EINVAL, 0 },
	{ "1.0000001g", -EINVAL, 0 },
	{ "g", -EINVAL, 0 },
	{ "-1", -EINVAL, 0 },
	{ "+1", -EINVAL, 0 },
	{ " 1", -EINVAL, 0 },
	{ "1 g", -EINVAL, 0 },
	{ "1g ", -EINVAL, 0 },
	{ "1x", -EINVAL, 0 },
	{ "1ki", -EINVAL, 0 },
	{ "1bb", -EINVAL, 0 },
	{ "1ib", -EINVAL, 0 },
	{ "1kk", -EINVAL, 0 },
	{ "1gibx", -EINVAL, 0 },
	{ "0x10", -EINVAL, 0 },
	{ "1e3", -EINVAL, 0 },
	{ "1,5g", -EINVAL, 0 },
	{ "1.5.5g", -EINVAL, 0 },
};

static const struct quantity durations[] = {
	{ "90", 0, 90000 },
	{ "90s", 0, 90000 },
	{ "1.5h", 0, 5400000 },
	{ "2m", 0, 120000 },
	{ "1d", 0, 86400000 },
	{ "250ms", 0, 250 },
	{ "0", 0, 0 },
	{ "1.5", 0, 1500 },
	{ "0.0001s", 0, 0 },
	{ "18446744073709551615ms", 0, UINT64_MAX },
	{ "18446744073709551615", -ERANGE, 0 },
	{ "213503982335d", -ERANGE, 0 },
	{ "1.5ms", -EINVAL, 0 },
	{ "1H", -EINVAL, 0 },
	{ "1min", -EINVAL, 0 },
	{ "1h30m", -EINVAL, 0 },
	{ "", -EINVAL, 0 },
	{ "s", -EINVAL, 0 },
	{ "-1s", -EINVAL, 0 },
	{ "1 s", -EINVAL, 0 },
};

static const struct quantity millis[] = {
	{ "1.5", 0, 1500 },       { "2", 0, 2000 },
	{ ".25", 0, 250 },        { "0.001", 0, 1 },
	{ "1.2345", 0, 1234 },    { "0", -ERANGE, 0 },
	{ "0.0009", -ERANGE, 0 }, { "18446744073709551615", -ERANGE, 0 },
	{ "", -EINVAL, 0 },       { "1.5x", -EINVAL, 0 },
	{ "-1", -EINVAL, 0 },     { "nan", -EINVAL, 0 },
};

static int parse_7_to_70(const char *s, uint64_t *ret)
{
	return str_parse_u64(s, 7, 70, ret);
}

static int parse_any(const char *s, uint64_t *ret)
{
	return str_parse_u64(s, 0, UINT64_MAX, ret);
}

static const struct quantity bounded[] = {
	{ "7", 0, 7 },         { "70", 0, 70 },       { "007", 0, 7 },
	{ "6", -ERANGE, 0 },   { "71", -ERANGE, 0 },  { "", -EINVAL, 0 },
	{ "-8", -EINVAL, 0 },  { "8 ", -EINVAL, 0 },  { " 8", -EINVAL, 0 },
	{ "8.0", -EINVAL, 0 }, { "8\n", -EINVAL, 0 },
};

static const struct quantity unbounded[] = {
	{ "0", 0, 0 },
	{ "18446744073709551615", 0, UINT64_MAX },
	{ "18446744073709551616", -ERANGE, 0 },
	{ "184467440737095516150", -ERANGE, 0 },
	{ "184467440737095516150x", -EINVAL, 0 },
};

static void test_escape(void)
{
	static const struct {
		const char *in;
		size_t len, room;
		const char *want;
	} cases[] = {
		{ "plain ~", 7, 64, "plain ~" },
		{ "a\nb\033[0m", 7, 64, "a\\x0ab\\x1b[0m" },
		{ "\\x41", 4, 64, "\\x5cx41" },
		{ "\0\x7f\x80\xff", 4, 64, "\\x00\\x7f\\x80\\xff" },
		{ "", 0, 64, "" },
		{ "abc", 3, 4, "abc" },
		{ "abc", 3, 3, "ab" },
		{ "abc", 3, 1, "" },
		{ "a\nb", 3, 6, "a\\x0a" },
		{ "a\nb", 3, 5, "a" },
	};
	char out[64];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		str_escape(out, cases[i].room, cases[i].in, cases[i].len);
		is_str(out, cases[i].want, "escape to '%s'", cases[i].want);
	}
	strcpy(out, "kept");
	str_escape(out, 0, "abc", 3);
	is_str(out, "kept", "no room, nothing written");
	is_str(str_escape(out, sizeof(out), NULL, 0), "", "no input");
}

static void test_format(void)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} size[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1288490189, "1.2 GiB" },
		{ 1048575, "1.0 MiB" },
		{ 1047552, "1023.0 KiB" },
		{ UINT64_MAX, "16.0 EiB" },
	}, age[] = {
		{ 0, "0 s" },
		{ 59, "59 s" },
		{ 60, "1 min" },
		{ 239, "3 min" },
		{ 7200, "2 h" },
		{ 432000, "5 d" },
		{ 63071999, "729 d" },
		{ 63072000, "2 y" },
		{ UINT64_MAX, "584942417355 y" },
	};
	char out[16];

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		is_str(str_format_size(out, sizeof(out), size[i].bytes),
		       size[i].want, "size %s", size[i].want);
	for (size_t i = 0; i < ARRAY_SIZE(age); i++)
		is_str(str_format_age(out, sizeof(out), age[i].bytes),
		       age[i].want, "age %s", age[i].want);
}

static void test_strings(void)
{
	SCOPED_STR s = str_printf("%s-%d", "a", 1);
	char out[4] = "xxx";

	is_str(s, "a-1", "str_printf");
	ok(str_starts("abc", "ab") && str_starts("abc", ""), "starts");
	ok(!str_starts("ab", "abc") && !str_starts("", "a"), "does not");
	ok(str_ends("abc", "bc") && str_ends("abc", ""), "ends");
	ok(!str_ends("bc", "abc") && !str_ends("abc", "ab"), "does not");
	ok(str_has_control("a\nb") && str_has_control("a\177"), "control");
	ok(!str_has_control("") && !str_has_control("a ~\xc3\xa4"), "none");
	str_copy(out, sizeof(out), "abc");
	is_str(out, "abc", "all of it fits");
	str_copy(out, sizeof(out), "defg");
	is_str(out, "def", "what fits");
	str_copy(out, sizeof(out), NULL);
	is_str(out, "", "NULL is none");
}

static void test_escape_utf8(void)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "a\n\\\x7f", "a\\x0a\\x5c\\x7f" },
		{ "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80",
		  "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "\xc3", "\\xc3" }, /* cut */
		{ "\xc3z", "\\xc3z" },
		{ "\xc0\xaf", "\\xc0\\xaf" }, /* overlong */
		{ "\xe0\x80\xaf", "\\xe0\\x80\\xaf" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
		{ "\xc2\x9b", "\\xc2\\x9b" }, /* CSI */
		/* An override of the direction.
		 * NOLINTNEXTLINE(misc-misleading-bidirectional) */
		{ "\xe2\x80\xae", "\\xe2\\x80\\xae" },
		{ "\xef\xbb\xbf", "\\xef\\xbb\\xbf" },
	};
	char out[64];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_str(str_escape_utf8(out, sizeof(out), rows[i].in,
				       strlen(rows[i].in)),
		       rows[i].out, "UTF-8 %zu", i);
	is_str(str_escape_utf8(out, 3, "a\xc3\xbc", 3), "a",
	       "no half character");
	is_str(str_escape_utf8(out, 4, "a\xc3\xbc", 3), "a\xc3\xbc",
	       "but a whole one");
}

static void test_hex(void)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	size_t i;

	for (i = 0; i < sizeof(digits) - 1; i++)
		is_int(str_hex_digit((unsigned char)digits[i]),
		       i < 16 ? i : i - 6, "hex %c", digits[i]);
	for (i = 0; i < 256; i++)
		if (!i || !strchr(digits, (int)i))
			ok(str_hex_digit((unsigned char)i) == -1, "no hex %zu",
			   i);
}

static void test_strv_env(void)
{
	struct strv sv = { 0 };

	is_int(strv_put_env(&sv, "A=1") | strv_put_env(&sv, "AB=2"), 0, "put");
	is_int(strv_find_env(&sv, "AB=x"), 1, "is found by its name");
	is_int(strv_find_env(&sv, "B=2"), -ENOENT, "another is not");
	is_int(strv_put_env(&sv, "A=3="), 0, "put again");
	ok(sv.n == 2 && strcmp(sv.v[0], "A=3=") == 0, "takes its place");
	strv_done(&sv);
}

static void test_strv(void)
{
	struct strv sv = { 0 };
	int rc = 0;

	is_int(strv_push(&sv, "one"), 0, "push");
	is_int(strv_push(&sv, ""), 0, "push nothing");
	is_int(strv_pushf(&sv, "%d", 4), 0, "push formatted");
	ok(strv_has(&sv, "one") && strv_has(&sv, "") && !strv_has(&sv, "on"),
	   "what is in it");
	if (ok(sv.n == 3 && !sv.v[3], "three and a NULL")) {
		is_str(sv.v[0], "one", "first");
		is_str(sv.v[1], "", "second");
		is_str(sv.v[2], "4", "third");
	}
	while (rc == 0 && sv.n < STRV_MAX)
		rc = strv_push(&sv, "x");
	is_int(rc, 0, "up to the limit");
	is_int(strv_push(&sv, "x"), -ENOBUFS, "not past it");
	ok(sv.n == STRV_MAX && !sv.v[sv.n], "and it is as it was");
	strv_done(&sv);
	ok(!sv.v && sv.n == 0, "done");
	strv_done(&sv);
	strv_done(NULL);
}

static void test_base64(void)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	int bad = 0, none = 0;

	for (int i = 0; i < 64; i++)
		bad += str_base64_value((unsigned char)digits[i]) != i;
	for (int c = 0; c < 256; c++)
		none += str_base64_value((unsigned char)c) < 0;
	is_int(bad, 0, "each digit has its value");
	is_int(none, 256 - 64, "and no other byte has one");
}

int main(void)
{
	check("size", str_parse_size, sizes, ARRAY_SIZE(sizes));
	check("duration", str_parse_duration, durations, ARRAY_SIZE(durations));
	check("milli", str_parse_milli, millis, ARRAY_SIZE(millis));
	check("7..70", parse_7_to_70, bounded, ARRAY_SIZE(bounded));
	check("u64", parse_any, unbounded, ARRAY_SIZE(unbounded));
	test_escape();
	test_format();
	test_strings();
	test_escape_utf8();
	test_hex();
	test_strv();
	test_strv_env();
	test_base64();
	return done_testing();
}
