/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - who asked vaultd for what, and what it said: one line of JSON
 */
#ifndef VAULT_RECORD_H
#define VAULT_RECORD_H

#include "vault/attest.h"
#include "vault/wire.h"

#define RECORD_LINE_MAX 3840u /* bytes, the newline included */

struct record {
	const struct vault_request *request; /* NULL: none could be read */
	const struct attest *caller;
	enum vault_status status;
	const char *why; /* a word for people, NULL: none */
	const char *secret; /* its id, NULL: none */
	uint64_t expiry; /* of what was given, or 0 */
	uint64_t skipped; /* lines that were not written before this one */
};
/* Ends with a newline; long fields are cut so that it always fits. -ENOMEM,
 * -ENOBUFS when @out has less room than RECORD_LINE_MAX. */
int record_put(struct buf *out, const struct record *a) ATTR_WUR;

#endif
