/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procs_test.c - what a sandbox's ps may say
 */
#include "control/acd/guest/procs.h"

#include "control/cli/core/cli.h"

#include "control/shared/json.h"
#include "lib/buf.h"
#include "tests/unit/tap.h"

static void test_good(void)
{
	static const char text[] =
		"    1     0 root     Ss    0.0  1024   62 init-guard\n"
		"   12     1 node     R+   12.5 90000    3 python -c x  "
		"y\033[m\n"
		"   13    12 node     Z      99     0    0 \n"
		"    0    12 node     X    20.0     0    0 [sleep]\n";
	SCOPED_JSON rows = procs_parse(slice_str(text));
	const json_t *two = json_array_get(rows, 1);

	is_int(json_array_size(rows), 3, "processes, but for one that ended");
	is_int(json_count(two, "pid"), 12, "pid");
	is_int(json_count(two, "ppid"), 1, "parent");
	is_str(json_text(two, "user"), "node", "user");
	is_str(json_text(two, "state"), "R+", "state");
	ok(json_number_value(json_object_get(two, "cpu_percent")) == 12.5,
	   "cpu");
	is_int(json_count(two, "rss"), 90000 * 1024, "bytes");
	is_int(json_count(two, "elapsed_s"), 3, "age");
	is_str(json_text(two, "command"), "python -c x  y\033[m",
	       "the command to its end, as it is");
	is_str(json_text(json_array_get(rows, 2), "command"), "",
	       "a command may be empty");
}

static void test_text(void)
{
	static const struct {
		const char *text, *want;
		size_t len;
	} cases[] = {
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", 6 },
		{ "a\xff", "a\\xff", 2 },
		{ "a\0b",
		  "a\\x00"
		  "b",
		  3 },
		{ "\\x1b", "\\x1b", 4 },
	};
	char text[32 + PROCS_COMMAND_MAX];
	json_t *rows;
	int n;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		n = snprintf(text, sizeof(text), "1 0 u S 0 0 0 ");
		memcpy(text + n, cases[i].text, cases[i].len);
		text[(size_t)n + cases[i].len] = '\n';
		rows = procs_parse(
			slice_of(text, (size_t)n + cases[i].len + 1));
		is_str(json_text(json_array_get(rows, 0), "command"),
		       cases[i].want, "text %zu", i);
		json_decref(rows);
	}
	/* The last character that begins within the limit ends behind it. */
	n = snprintf(text, sizeof(text), "1 0 u S 0 0 0 %*s\xc3\xbc\n",
		     (int)PROCS_COMMAND_MAX - 2, "x");
	rows = procs_parse(slice_of(text, (size_t)n));
	is_int(strlen(json_text(json_array_get(rows, 0), "command")),
	       PROCS_COMMAND_MAX - 2, "cut between two characters");
	json_decref(rows);
}

/* More than any word there is. */
#define LONG_WORD                          \
	"01234567890123456789012345678901" \
	"23456789012345678901234567890123"

static void test_bad(void)
{
	static const char *const lines[] = {
		"",
		"short line\n",
		"\n\n   \n",
		"1 0 root S 0.0 1 1 without an end",
		"x 0 root S 0.0 1 1 pid\n",
		"-1 0 root S 0.0 1 1 pid\n",
		"99999999 0 root S 0.0 1 1 pid\n",
		"1 0 root S 1.2.3 1 1 cpu\n",
		"1 0 root S 1. 1 1 cpu\n",
		"1 0 root S .5 1 1 cpu\n",
		"1 0 root S nan 1 1 cpu\n",
		"1 0 root S 0.0 99999999999999999999 1 rss\n",
		"1 0 root S 0.0 9223372036854775807 1 rss\n",
		"1 0 " LONG_WORD " S 0.0 1 1 user\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		SCOPED_JSON rows = procs_parse(slice_str(lines[i]));

		is_int(json_array_size(rows), 0, "no process %zu", i);
	}
}

static void test_many(void)
{
	struct buf b;
	json_t *rows;

	buf_init(&b, 1u << 20);
	for (unsigned i = 0; i < PROCS_MAX + 10; i++)
		if (buf_printf(&b, "%u 1 n S 0 0 0 x\n", i % 1000) < 0)
			abort();
	rows = procs_parse(buf_slice(&b));
	is_int(json_array_size(rows), PROCS_MAX, "so many, and no more");
	json_decref(rows);
	buf_done(&b);
}

int main(void)
{
	test_good();
	test_text();
	test_bad();
	test_many();
	return done_testing();
}
