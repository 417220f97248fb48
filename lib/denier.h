/* SPDX-License-Identifier: Apache-2.0 */
/*
 * denier.h - the advice that follows a denial by rule
 *
 * The gateway gives it to the denied program and `ac policy log` to the user,
 * in the same words.
 */
#ifndef LIB_DENIER_H
#define LIB_DENIER_H

#include <stddef.h>

/* A denial. The texts are printable; none is NULL. */
struct denier {
	const char
		*source; /* origin of the rule, as in ottergate/audit/audit.h */
	/* the host that the rule names; "" if it names none, several, or a
	 * whole public suffix, which no rule may allow */
	const char *host;
	const char *asked; /* name or address that was denied */
	/* @asked as `ac policy allow` takes it: with its port, and its scheme
	 * where one is needed */
	const char *target;
	const char *agent; /* id of the instance */
};

/*
 * Writes to @out, cut to @size - 1 bytes, the argument of `ac policy allow`
 * that reverses a denial by a rule of the instance itself. Returns its length
 * in bytes, or 0 with "" in @out if the rule is from elsewhere or names no host
 * that may be allowed.
 */
size_t denier_allowance(char *out, size_t size, const struct denier *d);

/* Writes one clause of advice without a newline to @out, cut to @size - 1
 * bytes; "" if nothing would help. Returns its length in bytes. */
size_t denier_words(char *out, size_t size, const struct denier *d);

#endif
