/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.h - checks a token that is to be stored; no side effects
 */
#ifndef VAULT_TOKEN_H
#define VAULT_TOKEN_H

#include "lib/err.h"
#include "lib/slice.h"
#include "vault/surrogate.h"

#define TOKEN_MIN 8u /* bytes */

/* Guesses the kind from the shape of @value. Returns 0, or -ENOENT if the shape
 * is of no kind. */
int token_guess(struct slice value, enum secret_kind *ret) ATTR_WUR;

/* Returns @value without one trailing line end. */
struct slice token_trim(struct slice value);

/*
 * Checks whether @value can be stored as a token of @kind. Returns 0, or a code
 * and a message that contains no byte of it. -EINVAL: it is shorter than
 * TOKEN_MIN or too long, contains control bytes, begins or ends with a blank,
 * is a private key, or has the shape of another kind. -EACCES: it is a classic
 * GitHub token, which may do whatever its user may, and @allow_classic is
 * false; the @kind does not matter. *@ret_classic says whether the value is
 * such a token; it may be left unset on -EINVAL.
 */
int token_check(enum secret_kind kind, struct slice value, bool allow_classic,
		bool *ret_classic, struct err *err);

#endif
