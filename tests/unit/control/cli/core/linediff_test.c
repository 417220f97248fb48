/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linediff_test.c - which lines two texts share
 */
#include "control/cli/core/linediff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"

#define LINES_MAX 16

static const struct {
	const char *old, *new, *want; /* a letter is a line */
} rows[] = {
	{ "", "", "" },
	{ "abc", "abc", " a b c" },
	{ "", "ab", "+a+b" },
	{ "ab", "", "-a-b" },
	{ "abc", "axc", " a-b+x c" },
	{ "abc", "xabc", "+x a b c" },
	{ "abc", "abcx", " a b c+x" },
	{ "abcd", "ad", " a-b-c d" },
	{ "aaa", "aa", " a a-a" },
	{ "abab", "baba", "-a b a b+a" },
	{ "abcdef", "xbydzf", "-a+x b-c+y d-e+z f" },
};

static size_t split(const char *text, char store[LINES_MAX][2],
		    const char *ret[LINES_MAX])
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++) {
		store[i][0] = text[i];
		store[i][1] = '\0';
		ret[i] = store[i];
	}
	return n;
}

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char a[LINES_MAX][2], b[LINES_MAX][2], got[64] = "";
		const char *old[LINES_MAX], *new[LINES_MAX];
		size_t n = split(rows[i].old, a, old), len = 0;
		size_t m = split(rows[i].new, b, new);
		struct linediff_line *d = linediff(old, n, new, m, &len);

		for (size_t k = 0; d && k < len; k++)
			snprintf(got + 2 * k, sizeof(got) - 2 * k, "%c%s",
				 d[k].op,
				 d[k].op == '+' ? new[d[k].new] :
						  old[d[k].old]);
		is_str(got, rows[i].want, "%s, %s", rows[i].old, rows[i].new);
		free(d);
	}
}

/* More than fits into the table. */
static void test_large(void)
{
	const size_t n = 4000;
	const char **old = calloc(n, sizeof(*old));
	const char **new = calloc(n, sizeof(*new));
	struct linediff_line *d;
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		old[i] = i == 0 ? "first" : "old";
		new[i] = i == 0 ? "first" : "new";
	}
	d = linediff(old, n, new, n, &len);
	is_int(len, 2 * n - 1, "all of both");
	ok(d && d[0].op == ' ' && d[1].op == '-' && d[len - 1].op == '+',
	   "the first is common");
	free(d);
	free(old);
	free(new);
}

int main(void)
{
	test_rows();
	test_large();
	return done_testing();
}
