/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guess.c - finds the word that was mistyped
 */
#include "lib/guess.h"

#include <stdbool.h>
#include <string.h>

#define GUESS_MAX 32u /* letters of a word */

/* Returns the edits (a letter more, less, or another) from @a to @b; both are
 * short. */
static size_t distance(const char *a, const char *b)
{
	size_t row[GUESS_MAX + 1], n = strlen(b), i, j;

	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (j = 1; j <= n; j++) {
			size_t best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n];
}

/* Returns true if two neighbours are swapped: the likeliest mistake. */
static bool is_swap(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a && *b && a[1] && a[0] == b[1] && a[1] == b[0] &&
	       strcmp(a + 2, b + 2) == 0;
}

void guess_begin(struct guess *g, const char *word)
{
	*g = (struct guess){ .word = word, .best = strlen(word) > 3 ? 3 : 2 };
}

void guess_try(struct guess *g, const char *known)
{
	size_t d;

	if (strlen(g->word) > GUESS_MAX || strlen(known) > GUESS_MAX)
		return;
	d = is_swap(g->word, known) ? 0 : distance(g->word, known);
	if (d >= g->best)
		return;
	g->best = d;
	g->found = known;
}
