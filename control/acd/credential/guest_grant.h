/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_grant.h - what the gateway and a sandbox get of its credentials
 *
 * The gateway gets the real values and the sandbox's key. The sandbox gets the
 * key (vault/grant.h) and, in its environment, surrogates that last as long as
 * it runs; of a credential that is handed over it gets the value. All of this
 * is in memory that is wiped.
 */
#ifndef CONTROL_ACD_CREDENTIAL_GUEST_GRANT_H
#define CONTROL_ACD_CREDENTIAL_GUEST_GRANT_H

#include "control/acd/credential/credentials.h"
#include "vault/store.h"

/* A grant: a credential of the vault, and how it is used. Both are borrowed. */
struct granted {
	const struct vstore_entry *e;
	const struct credential *c;
};

/* Memory that is wiped when it is released. */
struct secret_bytes {
	char *p; /* heap, with a NUL after @len bytes; NULL: none */
	size_t len;
};
/* Wipes and frees the bytes. Accepts zeroed. */
void secret_bytes_done(struct secret_bytes *b);
/* Wipes and frees each string, and the vector. */
void secret_strv_done(struct strv *sv);

/* Makes the text of ADMIN_SECRETS (ottergate/inspect/mask/secrets.h), without
 * the credentials that are handed over. Returns 0, and the caller releases
 * @ret; or -ENOMEM, with @ret unchanged. */
int guest_secrets_json(const struct surrogate_key *key, const struct granted *v,
		       size_t n, struct secret_bytes *ret) ATTR_WUR;
/* Makes what vaultd gets (vault/grant.h); none (len 0) if no client in the
 * sandbox needs any. Returns 0, and the caller releases @ret; or -EMSGSIZE for
 * a credential with too many or too long hosts, -ENOMEM, or a failure of
 * grant_put(), with @ret empty. */
int guest_grant_bytes(const struct surrogate_key *key, const struct granted *v,
		      size_t n, struct secret_bytes *ret) ATTR_WUR;
/* Appends "NAME=value" for the variables that clients read, and to
 * @ret_surrogates "credential=surrogate" for each that is not handed over, the
 * same surrogate, and of a login "credential:account=…" and
 * "credential:id_token=…". The caller releases both with secret_strv_done(), also on
 * failure. Returns 0, or -EINVAL (a name too long for a surrogate) or -ENOMEM
 * with @err. */
int guest_grant_env(const struct surrogate_key *key, const struct granted *v,
		    size_t n, struct strv *ret, struct strv *ret_surrogates,
		    struct err *err) ATTR_WUR;
/* Returns 0 if the credentials can be used together. Returns -EINVAL, with both
 * names and what to do in @err, if two are for the same host, whose requests
 * can have only one, or set the same variable. Also fails with -ENOMEM. */
int guest_grant_clash(const struct granted *v, size_t n,
		      struct err *err) ATTR_WUR;

#endif
