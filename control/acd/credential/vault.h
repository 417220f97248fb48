/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.h - the real tokens, as acd keeps them and hands them on
 *
 * The store (vault/store.h) is opened by the first call that needs it, and read
 * again when its file has changed. Values go out to the gateway and to the host
 * of a test alone: no answer of the API has one.
 */
#ifndef CONTROL_ACD_CREDENTIAL_VAULT_H
#define CONTROL_ACD_CREDENTIAL_VAULT_H

#include <jansson.h>

#include "vault/store.h"

struct vault;

/*
 * @dir: AC_STATE_VAULT; @machine: the policy file with the preset of the
 * machine's package registries, which need not be there. Both are kept by
 * reference. From then on acd writes no core file, and what jansson frees is
 * wiped: bodies with values in them go through it. NULL with @err.
 */
struct vault *vault_new(const char *dir, uid_t owner, const char *machine,
			struct err *err);
void vault_free(struct vault *v); /* wipes; NULL is fine */

/* For what store.h does by itself; its rules hold. */
struct vstore *vault_store(struct vault *v);

/* Has @e expired? -EKEYEXPIRED, with what to do. */
int vault_entry_expired(const struct vstore_entry *e, struct err *err);

/*
 * The entries of @names (NULL-terminated) for a run of @instance, an instance
 * of @blueprint, in that order, borrowed until the next call about the vault.
 * Returns how many. Each has to be there, in its scope, and not expired:
 * -ENOENT, -EACCES, -EKEYEXPIRED, -E2BIG (more than @max); else as
 * vstore_load(). The message says what to do.
 */
int vault_for_instance(struct vault *v, const char *const *names,
		       const char *blueprint, const char *instance,
		       const struct vstore_entry **ret, size_t max,
		       struct err *err) ATTR_WUR;

/* All that is known of an entry but its value. A new reference, NULL without
 * memory. */
json_t *vault_entry_json(const struct vstore_entry *e);

/* A new entry from the body of POST /v1/vault, to be put into the store. */
int vault_entry_parse(struct vault *v, json_t *body, struct vstore_entry **ret,
		      struct err *err) ATTR_WUR;
/* A copy of @old with what the body of …/rotate says. */
int vault_entry_rotate(const struct vstore_entry *old, json_t *body,
		       struct vstore_entry **ret, struct err *err) ATTR_WUR;

/* A member that is base64, at most @max bytes of it decoded, in a
 * sodium_malloc() area with a NUL behind it (sodium_free()). -EINVAL. */
int vault_secret_member(json_t *body, const char *key, size_t max, char **ret,
			size_t *ret_len, struct err *err) ATTR_WUR;

#endif
