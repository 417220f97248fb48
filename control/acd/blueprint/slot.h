/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.h - {credential:NAME} and {credential:NAME:N} in a text
 *
 * The first stands for the surrogate of a credential in this run, the second
 * for its last N characters. {credential:NAME:account} and
 * {credential:NAME:id_token} are what else a file has of a login. Other braces
 * are text. No side effects.
 */
#ifndef CONTROL_ACD_BLUEPRINT_SLOT_H
#define CONTROL_ACD_BLUEPRINT_SLOT_H

#include "lib/buf.h"
#include "lib/err.h"

#define SLOT_NAME_MAX 63u /* bytes, as of a credential */
#define SLOT_LAST_MAX 120u /* characters, as of a surrogate */

#define SLOT_KEY_MAX (SLOT_NAME_MAX + 16u) /* bytes of NAME:PART */

struct slot {
	char name[SLOT_NAME_MAX + 1];
	size_t last; /* characters; 0: all */
	const char *part; /* of a login: "account", "id_token"; NULL: none */
};

/* Finds the first slot of @text. Returns its offset and sets *@ret_end
 * to that of what follows it; strlen(@text) for both if there is none. Fails
 * with -EINVAL and the reason in @err for a faulty one. */
ssize_t slot_next(const char *text, struct slot *ret, size_t *ret_end,
		  struct err *err);

/* Returns the surrogate of @name, or the part NAME:PART of a login, borrowed; NULL
 * if this run has none. */
typedef const char *(*slot_fn)(void *arg, const char *name);
/* Appends @text to @out, filled in. A credential without a surrogate gives
 * nothing. Returns 0, -EINVAL for a faulty slot, or a failure of
 * buf_append(). */
int slot_fill(const char *text, slot_fn fn, void *arg, struct buf *out);

#endif
