/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_uses.h - what the vault is for: who uses an entry, and how it is
 */
#ifndef CONTROL_ACD_API_VAULT_USES_H
#define CONTROL_ACD_API_VAULT_USES_H

#include "control/acd/storage/store.h"
#include "control/acd/credential/vault.h"

/*
 * {"github": ["one", "two"], …}: the instances that name a credential, by
 * themselves or by their blueprint, whether they run or not. What cannot be
 * read names nothing. @store NULL: {}. A new reference; NULL: @err.
 */
json_t *vault_uses(struct store *store, struct err *err);

/* Scopes of @e that fit no blueprint there is, in words for the user: an array,
 * of nothing when all is well. A new reference, NULL without memory. */
json_t *vault_scope_warnings(const struct vstore_entry *e);

/*
 * {"state": "open" | "locked" | "empty" | "unusable", "key": "file" |
 * "passphrase" | null, "entries": N, "expired": N, "reason": "…"}; @reason is
 * "" unless it is locked or unusable. @v NULL: there is none, "unusable". A new
 * reference, NULL without memory.
 */
json_t *vault_state_json(struct vault *v);

#endif
