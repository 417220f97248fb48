/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.h - acd's side of the vault
 *
 * The store (vault/store.h) is opened by the first call that needs it, and read
 * again when its file has changed. Values go only to the gateway and, for a
 * test, to the credential's host; no answer of the API contains one.
 */
#ifndef CONTROL_ACD_CREDENTIAL_VAULT_H
#define CONTROL_ACD_CREDENTIAL_VAULT_H

#include <jansson.h>

#include "lib/schema.h"
#include "vault/store.h"

struct vault;

/*
 * @dir: AC_STATE_VAULT; @machine: the policy file with the preset of the
 * machine's package registries, which may be missing. Both are kept by
 * reference. @owner may own the files, besides root. Afterwards acd writes no
 * core file, and jansson wipes what it frees, since requests contain values.
 * Returns NULL with @err on failure.
 */
struct vault *vault_new(const char *dir, uid_t owner, const char *machine,
			struct err *err);
/* Wipes all values and frees @v. NULL is fine. */
void vault_free(struct vault *v);

/* Returns the store, borrowed and never NULL; the rules of vault/store.h
 * hold. */
struct vstore *vault_store(struct vault *v);

/* Returns 0, or -EKEYEXPIRED with what to do if @e has expired, or is a login
 * that is over. */
int vault_entry_expired(const struct vstore_entry *e, struct err *err);

/*
 * Puts the credentials @names (NULL-terminated) for a run of @instance, an
 * instance of @blueprint, into @ret, in that order; they are borrowed until the
 * next call about the vault. Returns how many, 0 if @names is empty. Fails with
 * -ENOENT if one does not exist, -EACCES if it is not for this blueprint or
 * instance, -EKEYEXPIRED if it has expired, -E2BIG for more than @max, or like
 * vstore_load(). The message says what to do.
 */
int vault_for_instance(struct vault *v, const char *const *names,
		       const char *blueprint, const char *instance,
		       const struct vstore_entry **ret, size_t max,
		       struct err *err) ATTR_WUR;

/* Returns all about @e except its value, as a new reference, or NULL without
 * memory. */
json_t *vault_entry_json(const struct vstore_entry *e);

/* The bodies of POST /v1/vault and of …/rotate. */
extern const struct schema vault_entry_is, vault_rotation_is;
/* Makes a credential from the body of POST /v1/vault. It is not in the store
 * yet; the caller owns *ret. Returns 0, -EINVAL or -ENOMEM. */
int vault_entry_parse(struct vault *v, json_t *body, struct vstore_entry **ret,
		      struct err *err) ATTR_WUR;
/* Makes a copy of @old with the changes of the body of …/rotate. Ownership and
 * results are those of vault_entry_parse(). */
int vault_entry_rotate(const struct vstore_entry *old, json_t *body,
		       struct vstore_entry **ret, struct err *err) ATTR_WUR;

/* Decodes the base64 text of the member @key, at most @max bytes, to *ret,
 * which is NUL-terminated and which the caller frees by sodium_free(). *ret_len
 * is without the NUL. Returns 0, -EINVAL, also if there is no such member, or
 * -ENOMEM. */
int vault_secret_member(json_t *body, const char *key, size_t max, char **ret,
			size_t *ret_len, struct err *err) ATTR_WUR;

#endif
