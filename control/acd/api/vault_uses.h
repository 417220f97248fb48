/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_uses.h - which instances use a credential, and the vault's state
 */
#ifndef CONTROL_ACD_API_VAULT_USES_H
#define CONTROL_ACD_API_VAULT_USES_H

#include "control/acd/storage/store.h"
#include "control/acd/credential/vault.h"

/*
 * Returns {"github": ["one", "two"], …}: the instances that name a credential,
 * themselves or by their blueprint, running or not. Options and blueprints that
 * cannot be read name none. If @store is NULL: {}. A new reference, or NULL
 * with @err.
 */
json_t *vault_uses(struct store *store, struct err *err);

/* Returns an array of warnings about scopes of @e that fit no blueprint. A new
 * reference, NULL without memory. */
json_t *vault_scope_warnings(const struct vstore_entry *e);

/*
 * Returns {"state": "open" | "locked" | "empty" | "unusable", "key": "file" |
 * "passphrase" | null, "entries": N, "expired": N, "reason": "…"}; "reason" is
 * "" unless locked or unusable. @v NULL: "unusable". A new reference, NULL
 * without memory.
 */
json_t *vault_state_json(struct vault *v);

#endif
