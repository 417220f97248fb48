/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - one line of JSON for each request to vaultd
 */
#ifndef VAULT_RECORD_H
#define VAULT_RECORD_H

#include "vault/attest.h"
#include "vault/wire.h"

#define RECORD_LINE_MAX 3840u /* bytes, the newline included */

/* What a line says; all pointers are borrowed. */
struct record {
	const struct vault_request *request; /* NULL: not readable */
	const struct attest *caller;
	enum vault_status status;
	const char *why; /* reason in words, NULL: none */
	const char *secret; /* id of the credential, NULL: none */
	uint64_t expiry; /* of the surrogate, or 0 */
	uint64_t skipped; /* lines omitted before this one */
};
/* Appends the line with its newline; long fields are cut so that it always fits
 * into RECORD_LINE_MAX. Returns 0, -ENOMEM, or -ENOBUFS if @out has less
 * room. */
int record_put(struct buf *out, const struct record *a) ATTR_WUR;

#endif
