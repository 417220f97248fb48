/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_grant.h - what the gateway and a sandbox are told of its credentials
 *
 * The gateway gets the real values and the sandbox's key, the sandbox the key
 * alone (vault/grant.h) and, in its environment, surrogates that last as long
 * as it runs; of a credential that is handed over it gets the value. All of
 * this is in memory that is wiped.
 */
#ifndef CONTROL_ACD_CREDENTIAL_GUEST_GRANT_H
#define CONTROL_ACD_CREDENTIAL_GUEST_GRANT_H

#include "control/acd/credential/credentials.h"
#include "vault/store.h"

/* Which entry of the vault is used, and how. */
struct granted {
	const struct vstore_entry *e;
	const struct credential *c;
};

/* A piece of memory that is wiped when it is released. */
struct secret_bytes {
	char *p; /* heap, a NUL behind @len bytes; NULL: none */
	size_t len;
};
void secret_bytes_done(struct secret_bytes *b); /* accepts zeroed */
/* Wipes each string. */
void secret_strv_done(struct strv *sv);

/* ADMIN_SECRETS, as ottergate/inspect/mask/secrets.h has it. -ENOMEM. */
int guest_secrets_json(const struct surrogate_key *key, const struct granted *v,
		       size_t n, struct secret_bytes *ret) ATTR_WUR;
/* For vaultd; none (len 0) when no client in the sandbox asks for any.
 * -ENOMEM, -EMSGSIZE and others of grant_put(). */
int guest_grant_bytes(const struct surrogate_key *key, const struct granted *v,
		      size_t n, struct secret_bytes *ret) ATTR_WUR;
/* "NAME=value" of the variables that clients look for. -ENOMEM, -EINVAL. */
int guest_grant_env(const struct surrogate_key *key, const struct granted *v,
		    size_t n, struct strv *ret, struct err *err) ATTR_WUR;
/* Are two of them for one host, where a request can bear one alone, or for one
 * variable? -EINVAL names both, and says what to do. -ENOMEM. */
int guest_grant_clash(const struct granted *v, size_t n,
		      struct err *err) ATTR_WUR;

#endif
