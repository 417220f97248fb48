/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.h - what a value that somebody wants to keep looks like. Pure.
 */
#ifndef VAULT_TOKEN_H
#define VAULT_TOKEN_H

#include "lib/err.h"
#include "lib/slice.h"
#include "vault/surrogate.h"

#define TOKEN_MIN 8u /* bytes */

/* The kind whose tokens have this shape. -ENOENT: none's. */
int token_guess(struct slice value, enum secret_kind *ret) ATTR_WUR;

/* Cuts one line end off. */
struct slice token_trim(struct slice value);

/*
 * May it be kept as a secret of @kind? -EINVAL: under TOKEN_MIN bytes, control
 * bytes, blanks at an end, a private key, the shape of another kind; -EACCES: a
 * classic GitHub token, which may do whatever its user may, whatever its @kind,
 * and @allow_classic was not said.
 * The message has no byte of it. *ret_classic: it is such a token.
 */
int token_check(enum secret_kind kind, struct slice value, bool allow_classic,
		bool *ret_classic, struct err *err);

#endif
