/* SPDX-License-Identifier: Apache-2.0 */
/*
 * denier.h - what changes a denial by rule, in words
 *
 * The gateway says it to the program that was denied, `ac policy log` to the
 * user, in the same words.
 */
#ifndef LIB_DENIER_H
#define LIB_DENIER_H

#include <stddef.h>

/* Texts are fit to be printed; none is NULL. */
struct denier {
	const char *source; /* who brought the rule, as in ottergate/audit.h */
	const char
		*host; /* the one that it names; "": it names none, or more */
	const char *asked; /* the name or address that was denied */
	const char
		*target; /* the same with its port, as `ac policy allow` has */
	const char *agent; /* id of the instance */
};

/* Writes a clause without an end of its line to @out, cut to @size - 1 bytes:
 * "" where nothing is known that would help. Returns its length in bytes. */
size_t denier_words(char *out, size_t size, const struct denier *d);

#endif
