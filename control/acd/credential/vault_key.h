/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_key.h - from a passphrase to a key, without acd waiting for it
 *
 * Argon2id takes half a second and 64 MiB on purpose. All sandboxes' links wait
 * while acd's loop does, so a child does it.
 */
#ifndef CONTROL_ACD_CREDENTIAL_VAULT_KEY_H
#define CONTROL_ACD_CREDENTIAL_VAULT_KEY_H

#include "control/acd/daemon/children.h"
#include "vault/store.h"

#define VAULT_KEYS_MAX 2u /* at once; an import may ask for 256 MiB */

/* @pass: NULL, then @err says why; else wiped when this has returned. */
typedef void (*vault_key_fn)(void *arg, const struct vstore_pass *pass,
			     const struct err *err);

/* The key of @passphrase for @head, both of which are done with on return.
 * Calls @fn once, later. -EBUSY: there are enough of them; -EINVAL, as
 * vstore_key_derive(). */
int vault_key_derive(struct children *children, const struct vstore_head *head,
		     struct slice passphrase, vault_key_fn fn, void *arg,
		     struct err *err) ATTR_WUR;
/* Before the children are freed; nobody is called. */
void vault_key_end_all(void);

#endif
