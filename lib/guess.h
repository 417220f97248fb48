/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guess.h - finds the word that was mistyped; no side effects
 */
#ifndef LIB_GUESS_H
#define LIB_GUESS_H

#include <stddef.h>

struct guess {
	const char *word; /* as typed */
	const char *found; /* the nearest so far, NULL: none is near */
	size_t best; /* a candidate needs fewer edits than these */
};

/* Begins to search for @word, which is borrowed as long as @g is used. */
void guess_begin(struct guess *g, const char *word);
/* Sets g->found to @known, a word that is valid, if that is nearer to the typed
 * one than all before it, and near at all. Keeps @known by reference. */
void guess_try(struct guess *g, const char *known);

#endif
