/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_test.c - bytes of a sandbox as text of JSON
 */
#include "control/cli/mcp/text.h"

#include "control/shared/json.h"
#include "tests/unit/tap.h"

#define BAD "\xef\xbf\xbd"

int main(void)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ "", "" },
		{ "plain\n", "plain\n" },
		{ "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80",
		  "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\xff", BAD },
		{ "a\x80z", "a" BAD "z" },
		{ "\xc3", BAD }, /* cut */
		{ "\xe2\x82", BAD BAD },
		{ "\xf0\x9f\x98", BAD BAD BAD },
		{ "\xc0\xaf", BAD BAD }, /* longer than it need be */
		{ "\xe0\x80\xaf", BAD BAD BAD },
		{ "\xed\xa0\x80", BAD BAD BAD }, /* a half of a pair */
		{ "\xf4\x90\x80\x80", BAD BAD BAD BAD }, /* beyond the last */
		{ "\xf5\x80\x80\x80", BAD BAD BAD BAD },
	};
	static const struct {
		const char *in, *want;
	} codes[] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "\xff\xfe", "//4=" },
	};
	SCOPED_JSON nul = text_json(slice_of("a\0b", 3));

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON got = text_json(slice_str(rows[i].in));

		is_str(json_string_value(got), rows[i].want, "row %zu", i);
		is_int(text_is_utf8(slice_str(rows[i].in)),
		       strcmp(rows[i].in, rows[i].want) == 0, "its kind");
	}
	is_int(json_string_length(nul), 3, "a NUL stays");
	ok(!text_is_utf8(slice_of("a\0b", 3)), "and makes no text");
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		SCOPED_JSON got = text_base64(slice_str(codes[i].in));

		is_str(json_string_value(got), codes[i].want, "Base64");
	}
	return done_testing();
}
