/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guess_test.c - the word that was mistyped
 */
#include "lib/guess.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"

/* The nearest of @known to @word. Both are on the heap, with nothing behind
 * them, so that a sanitizer sees a read too far. */
static const char *nearest(const char *word, const char *const *known)
{
	char *w = strdup(word);
	const char *found = NULL;
	struct guess g;

	guess_begin(&g, w);
	for (; *known; known++) {
		char *k = strdup(*known);
		const char *before = g.found;

		guess_try(&g, k);
		if (g.found != before) {
			found = *known;
			g.found = *known;
		}
		free(k);
	}
	free(w);
	return found;
}

int main(void)
{
	static const char *const known[] = { "env", "image", "limits", "shell",
					     NULL };
	static const char *const rows[][2] = {
		{ "image", "image" },
		{ "imgae", "image" },
		{ "limit", "limits" },
		{ "sell", "shell" },
		{ "evn", "env" },
		{ "enviroment", NULL },
		{ "e", NULL },
		{ "", NULL },
		{ "x", NULL },
		{ "environments-of-all-the-shells-and-images", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *got = nearest(rows[i][0], known);

		ok(got == rows[i][1] ||
			   (got && rows[i][1] && strcmp(got, rows[i][1]) == 0),
		   "'%s': %s", rows[i][0], got ? got : "none");
	}
	return done_testing();
}
