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
	const char *
		source; /* who brought the rule, as in ottergate/audit/audit.h */
	const char *host; /* the one that it names; "": it names none, more, or
			   * all below a public suffix, which no rule allows */
	const char *asked; /* the name or address that was denied */
	const char
		*target; /* the same as `ac policy allow` has it: with its port,
			     * and with its scheme where one is needed */
	const char *agent; /* id of the instance */
};

/*
 * Writes to @out, cut to @size - 1 bytes, what `ac policy allow` has to name so
 * that a denial of the instance's own is taken back. Returns its length in
 * bytes; 0, with "" in @out, if the rule is not its own, or names no host that
 * may be allowed.
 */
size_t denier_allowance(char *out, size_t size, const struct denier *d);

/* Writes a clause without an end of its line to @out, cut to @size - 1 bytes:
 * "" where nothing is known that would help. Returns its length in bytes. */
size_t denier_words(char *out, size_t size, const struct denier *d);

#endif
