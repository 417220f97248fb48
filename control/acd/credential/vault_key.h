/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_key.h - derives a key from a passphrase without blocking acd
 *
 * Argon2id takes half a second and 64 MiB on purpose. acd's loop, and with it
 * the links of all sandboxes, would wait, so a child does it.
 */
#ifndef CONTROL_ACD_CREDENTIAL_VAULT_KEY_H
#define CONTROL_ACD_CREDENTIAL_VAULT_KEY_H

#include "control/acd/daemon/children.h"
#include "vault/store.h"

#define VAULT_KEYS_MAX 2u /* at once; an import may ask for 256 MiB */

/* @pass: wiped when this has returned; NULL on failure, with @err. */
typedef void (*vault_key_fn)(void *arg, const struct vstore_pass *pass,
			     const struct err *err);

/* Derives the key of @passphrase for @head; both are copied. Calls @fn once,
 * later, also for a failure of vstore_key_derive(). Returns 0; -EBUSY if too
 * many are running; another negative errno. */
int vault_key_derive(struct children *children, const struct vstore_head *head,
		     struct slice passphrase, vault_key_fn fn, void *arg,
		     struct err *err) ATTR_WUR;
/* Ends all, without callbacks. To be called before the children are freed. */
void vault_key_end_all(void);

#endif
