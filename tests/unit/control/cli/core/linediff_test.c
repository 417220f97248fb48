/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linediff_test.c - which lines two texts share
 */
#include "control/cli/core/linediff.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/cli/core/linediff_far.h"
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
		const char *old[LINES_MAX] = { NULL },
			   *new[LINES_MAX] = { NULL };
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

/* Both ways must find as many common lines in short texts. */
static void test_far(void)
{
	char ops[2 * LINES_MAX];
	size_t bad = 0;

	for (unsigned t = 0; t < 5000; t++) {
		char a[LINES_MAX][2], b[LINES_MAX][2];
		const char *old[LINES_MAX], *new[LINES_MAX];
		char x[LINES_MAX] = "", y[LINES_MAX] = "";
		unsigned seed = t * 2654435761u;
		size_t n, m, len = 0, far = 0, i = 0, j = 0, common = 0;
		struct linediff_line *d;

		for (size_t k = 0; k < t % 11; k++, seed = seed * 69069 + 1)
			x[k] = (char)('a' + (seed >> 20) % 4);
		for (size_t k = 0; k < t % 13; k++, seed = seed * 69069 + 1)
			y[k] = (char)('a' + (seed >> 20) % 4);
		n = split(x, a, old);
		m = split(y, b, new);
		d = linediff(old, n, new, m, &len);
		if (linediff_far(old, n, new, m, ops, &far) != 0)
			bad++;
		for (size_t k = 0; k < far; k++) {
			common += ops[k] == ' ';
			if (ops[k] == ' ' && strcmp(old[i], new[j]) != 0)
				bad++;
			i += ops[k] != '+';
			j += ops[k] != '-';
		}
		for (size_t k = 0; d && k < len; k++)
			common -= d[k].op == ' ';
		bad += i != n || j != m || common != 0;
		free(d);
	}
	is_int(bad, 0, "both ways find the same");
}

/* Few differences in long texts. */
static void test_far_large(void)
{
	enum { N = 5000 };
	static char store[N][8];
	static const char *old[N], *new[N];
	struct linediff_line *d;
	size_t len = 0, own = 0;

	for (size_t i = 0; i < N; i++) {
		snprintf(store[i], sizeof(store[i]), "%zu", i);
		old[i] = new[i] = store[i];
	}
	new[1] = "x";
	new[2500] = "y";
	new[N - 2] = "z";
	d = linediff(old, N, new, N, &len);
	for (size_t i = 0; d && i < len; i++)
		own += d[i].op != ' ';
	is_int(own, 6, "three lines of each");
	ok(d && d[1].op == '-' && d[2].op == '+', "the old one comes first");
	free(d);
}

/* ---- lines that collide ---- */

#define PAIRS 15
#define COLLIDE (1u << PAIRS) /* lines */
#define BLOCK 3

static uint32_t fnv(uint32_t h, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 0x1b3u;
	return h & 0xfffff;
}

/* Writes two blocks that lead from the state @h of FNV-1a's last 20 bits to the
 * same one. Returns that. */
static uint32_t pair(uint32_t h, char ret[2][BLOCK])
{
	static uint32_t seen[1u << 20]; /* number of a block, from 1 */

	memset(seen, 0, sizeof(seen));
	for (uint32_t i = 0; i < 1u << 18; i++) {
		const char b[BLOCK] = { (char)('0' + (i & 63)),
					(char)('0' + (i >> 6 & 63)),
					(char)('0' + (i >> 12)) };
		uint32_t at = fnv(h, b, BLOCK);

		if (seen[at]) {
			uint32_t k = seen[at] - 1;

			memcpy(ret[0], b, BLOCK);
			ret[1][0] = (char)('0' + (k & 63));
			ret[1][1] = (char)('0' + (k >> 6 & 63));
			ret[1][2] = (char)('0' + (k >> 12));
			return at;
		}
		seen[at] = i + 1;
	}
	return h;
}

/* An agent's file whose lines have one hash without a key: it took minutes. */
static void test_collide(void)
{
	static char lines[COLLIDE][PAIRS * BLOCK + 1];
	static const char *old[COLLIDE], *new[COLLIDE];
	static char ops[2 * COLLIDE];
	char pairs[PAIRS][2][BLOCK];
	uint32_t h = 0x84222325u & 0xfffff;
	size_t n = 0;

	for (size_t i = 0; i < PAIRS; i++)
		h = pair(h, pairs[i]);
	for (size_t i = 0; i < COLLIDE; i++) {
		for (size_t k = 0; k < PAIRS; k++)
			memcpy(lines[i] + k * BLOCK, pairs[k][i >> k & 1],
			       BLOCK);
		old[i] = lines[i];
		new[i] = lines[i];
	}
	ok(fnv(0x84222325u & 0xfffff, lines[0], PAIRS * BLOCK) == h &&
		   fnv(0x84222325u & 0xfffff, lines[COLLIDE - 1],
		       PAIRS * BLOCK) == h &&
		   strcmp(lines[0], lines[COLLIDE - 1]) != 0,
	   "lines that collide");
	new[COLLIDE / 2] = "another";
	is_int(linediff_far(old, COLLIDE, new, COLLIDE, ops, &n), 0,
	       "are compared");
	is_int(n, COLLIDE + 1, "and one differs");
	ok(ops[COLLIDE / 2] == '-' && ops[COLLIDE / 2 + 1] == '+', "that one");
}

int main(void)
{
	test_rows();
	test_large();
	test_far();
	test_far_large();
	test_collide();
	return done_testing();
}
