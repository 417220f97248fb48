/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linediff_far.c - which lines two long texts share
 *
 * The greedy algorithm of E. Myers, "An O(ND) Difference Algorithm and Its
 * Variations" (1986): for each number d of differences, the furthest point that
 * each diagonal k = x - y reaches with d. These points are kept for each d, and
 * lead back from the end.
 */
#include "control/cli/core/linediff_far.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct far {
	uint32_t *a, *b; /* the lines as numbers: equal ones have the same */
	long n, m;
	int32_t *points; /* of d at d * d; diagonal k of it at + k + d */
	long cap; /* differences for which there is room */
};

/* ---- numbers ---- */

/* One side is the agent's: without a key it could choose lines that collide. */
static size_t hash(const char *s,
		   const unsigned char key[crypto_shorthash_KEYBYTES])
{
	unsigned char sum[crypto_shorthash_BYTES];
	size_t h;

	crypto_shorthash(sum, (const unsigned char *)s, strlen(s), key);
	memcpy(&h, sum, sizeof(h));
	return h;
}

static const char *line_of(const char *const *old, size_t n,
			   const char *const *new, size_t i)
{
	return i < n ? old[i] : new[i - n];
}

/* Gives equal lines the number of the first. */
static int number(const char *const *old, size_t n, const char *const *new,
		  size_t m, uint32_t *ids)
{
	unsigned char key[crypto_shorthash_KEYBYTES];
	size_t size = 16;
	uint32_t *table;

	while (size < 2 * (n + m))
		size *= 2;
	table = calloc(size, sizeof(*table));
	if (!table)
		return -ENOMEM;
	randombytes_buf(key, sizeof(key));
	for (size_t i = 0; i < n + m; i++) {
		const char *line = line_of(old, n, new, i);
		size_t at = hash(line, key) & (size - 1);

		while (table[at] &&
		       strcmp(line_of(old, n, new, table[at] - 1), line) != 0)
			at = (at + 1) & (size - 1);
		if (!table[at])
			table[at] = (uint32_t)i + 1;
		ids[i] = table[at];
	}
	free(table);
	return 0;
}

/* ---- forward ---- */

static int32_t *point(const struct far *f, long d, long k)
{
	return &f->points[d * d + k + d];
}

static int room_for(struct far *f, long d)
{
	long cap = f->cap ? 2 * f->cap : 64;
	int32_t *points;

	if (d < f->cap)
		return 0;
	points = realloc(f->points, (size_t)(cap * cap) * sizeof(*points));
	if (!points)
		return -ENOMEM;
	f->points = points;
	f->cap = cap;
	return 0;
}

/* Returns true if the way to diagonal @k with @d differences comes from the one
 * above: it ends with a line of the new text. */
static bool from_above(const struct far *f, long d, long k)
{
	return k == -d ||
	       (k != d && *point(f, d - 1, k - 1) < *point(f, d - 1, k + 1));
}

static long start_of(const struct far *f, long d, long k)
{
	if (d == 0)
		return 0;
	return from_above(f, d, k) ? *point(f, d - 1, k + 1) :
				     *point(f, d - 1, k - 1) + 1;
}

/* Returns how many differences there are, -1 for too many, or -ENOMEM. */
static long forward(struct far *f)
{
	for (long d = 0; d <= (long)LINEDIFF_FAR_MAX; d++) {
		if (room_for(f, d) < 0)
			return -ENOMEM;
		for (long k = -d; k <= d; k += 2) {
			long x = start_of(f, d, k), y = x - k;

			while (x < f->n && y < f->m && f->a[x] == f->b[y]) {
				x++;
				y++;
			}
			*point(f, d, k) = (int32_t)x;
			if (k == f->n - f->m && x >= f->n)
				return d;
		}
	}
	return -1;
}

/* ---- back ---- */

/* Writes the operations from the end to the beginning. Returns their number. */
static size_t back(const struct far *f, long d, char *ops)
{
	long x = f->n, y = f->m;
	size_t n = 0;

	for (; d > 0; d--) {
		long k = x - y;
		bool above = from_above(f, d, k);
		long px = *point(f, d - 1, above ? k + 1 : k - 1);
		long py = px - (above ? k + 1 : k - 1);

		for (; x > px + !above && y > py + above; x--, y--)
			ops[n++] = ' ';
		ops[n++] = above ? '+' : '-';
		x = px;
		y = py;
	}
	for (; x > 0; x--)
		ops[n++] = ' ';
	return n;
}

static void reverse(char *ops, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		char c = ops[i];

		ops[i] = ops[n - 1 - i];
		ops[n - 1 - i] = c;
	}
}

/* Puts the old lines of each change before the new ones. */
static void order(char *ops, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t from = i, old = 0;

		for (; i < n && ops[i] != ' '; i++)
			old += ops[i] == '-';
		memset(ops + from, '-', old);
		memset(ops + from + old, '+', i - from - old);
		i += i < n;
	}
}

int linediff_far(const char *const *old, size_t n, const char *const *new,
		 size_t m, char *ops, size_t *ret_n)
{
	struct far f = { .n = (long)n, .m = (long)m };
	uint32_t *ids = calloc(n + m + 1, sizeof(*ids));
	long d = -ENOMEM;

	if (ids && number(old, n, new, m, ids) == 0) {
		f.a = ids;
		f.b = ids + n;
		d = forward(&f);
	}
	if (d >= 0) {
		*ret_n = back(&f, d, ops);
		reverse(ops, *ret_n);
		order(ops, *ret_n);
	}
	free(ids);
	free(f.points);
	return d >= 0 ? 0 : d == -1 ? 1 : -ENOMEM;
}
