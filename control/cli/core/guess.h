/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guess.h - the word that a mistyped one may be a slip of; pure
 */
#ifndef CONTROL_CLI_CORE_GUESS_H
#define CONTROL_CLI_CORE_GUESS_H

#include <stddef.h>

struct guess {
	const char *word; /* as it was typed */
	const char *found; /* the nearest so far, NULL: none is near */
	size_t best; /* edits that are too many */
};

/* Begins to look for @word, which is borrowed. */
void guess_begin(struct guess *g, const char *word);
/* Looks at one more word that there is; it is borrowed. */
void guess_try(struct guess *g, const char *known);

#endif
