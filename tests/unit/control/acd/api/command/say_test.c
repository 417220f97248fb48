/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say_test.c - bytes as JSON, and the ids of events
 */
#include "control/acd/api/command/say.h"

#include "tests/unit/tap.h"

static void test_unfinished(void)
{
	static const struct {
		const char *text;
		size_t n;
	} rows[] = {
		{ "", 0 },
		{ "abc", 0 },
		{ "\xc3\xa4", 0 },
		{ "a\xc3", 1 },
		{ "\xe2\x82\xac", 0 },
		{ "\xe2\x82", 2 },
		{ "x\xe2", 1 },
		{ "\xf0\x9f\x98\x80", 0 },
		{ "\xf0\x9f\x98", 3 },
		{ "\xf0\x9f", 2 },
		{ "\xff", 0 },
		{ "\xc0", 0 },
		{ "\x80\x80\x80\x80", 0 },
		{ "\xc3\x28", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_int((long)say_unfinished(slice_str(rows[i].text)),
		       (long)rows[i].n, "row %zu", i);
}

static void test_bytes(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *json;
	} rows[] = {
		{ "", 0, "{\"d\":\"\",\"e\":\"utf-8\"}" },
		{ "a\nb", 3, "{\"d\":\"a\\nb\",\"e\":\"utf-8\"}" },
		{ "\xc3\xa4", 2, "{\"d\":\"\xc3\xa4\",\"e\":\"utf-8\"}" },
		{ "a\0b", 3, "{\"d\":\"a\\u0000b\",\"e\":\"utf-8\"}" },
		{ "\xff\xfe", 2, "{\"d\":\"//4=\",\"e\":\"base64\"}" },
		{ "\xed\xa0\x80", 3, "{\"d\":\"7aCA\",\"e\":\"base64\"}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *j = json_object();
		char *text;

		is_int(say_bytes(j, "d", "e",
				 slice_of(rows[i].bytes, rows[i].len)),
		       0, "bytes %zu", i);
		text = json_dumps(j, JSON_COMPACT);
		is_str(text, rows[i].json, "as JSON");
		free(text);
		json_decref(j);
	}
}

static void test_ids(void)
{
	static const char *const bad[] = {
		"",       "x",         "-1",  "1 ",
		" 1",     "01",        "1.",  "1.en",
		"1.end ", ".end",      "1e3", "18446744073709551616",
		"+1",     "1.end.end", "0x1", "111111111111111111111",
	};
	char text[SAY_EVENT_ID_MAX];
	uint64_t pos = 7;
	bool end = true;

	say_event_id(text, UINT64_MAX, true);
	is_str(text, "18446744073709551615.end", "the longest id");
	is_int(say_event_id_parse(text, &pos, &end), 0, "is read");
	ok(pos == UINT64_MAX && end, "as it was");
	is_int(say_event_id_parse("0", &pos, &end), 0, "the first one");
	ok(pos == 0 && !end, "too");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		is_int(say_event_id_parse(bad[i], &pos, &end), -EINVAL,
		       "no id: '%s'", bad[i]);
	ok(pos == 0 && !end, "which changes nothing");
}

int main(void)
{
	test_unfinished();
	test_bytes();
	test_ids();
	return done_testing();
}
