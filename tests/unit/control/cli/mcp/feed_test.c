/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed_test.c - a stream as lines, in pieces of every size
 */
#include "control/cli/mcp/feed.h"

#include "tests/unit/tap.h"

static char got[256];

static void on_line(void *arg, struct slice line)
{
	size_t len = strlen(got);

	(void)arg;
	snprintf(got + len, sizeof(got) - len, "<%.*s>",
		 line.ptr ? (int)line.len : 4,
		 line.ptr ? (const char *)line.ptr : "LONG");
}

static void test_lines(const char *text, const char *want)
{
	for (size_t step = 1; step <= strlen(text); step++) {
		struct feed f;
		int rc = 0;

		got[0] = '\0';
		feed_init(&f, 8);
		for (size_t i = 0; i < strlen(text) && rc == 0; i += step) {
			size_t n = strlen(text) - i;

			rc = feed_take(&f, text + i, n < step ? n : step,
				       on_line, NULL);
		}
		feed_done(&f);
		if (rc < 0 || strcmp(got, want) != 0) {
			is_str(got, want, "in pieces of %zu", step);
			return;
		}
	}
	ok(true, "as %s", want);
}

int main(void)
{
	test_lines("a\nbc\n", "<a><bc>");
	test_lines("a\r\n\n \t\r\n b \n", "<a><b>");
	test_lines("no end", "");
	test_lines("12345678\n123456789\nx\n", "<12345678><LONG><x>");
	test_lines("12345678901234567890\n1\n12345678901\n", "<LONG><1><LONG>");
	test_lines("12345678901234567890", "");
	return done_testing();
}
