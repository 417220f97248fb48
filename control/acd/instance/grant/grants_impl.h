/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grants_impl.h - inside of grants*.c; nothing else includes it
 */
#ifndef CONTROL_ACD_INSTANCE_GRANTS_IMPL_H
#define CONTROL_ACD_INSTANCE_GRANTS_IMPL_H

#include <sys/queue.h>

#include "control/acd/instance/grant/grants.h"

struct run_grant {
	LIST_ENTRY(run_grant) link;
	char *name, *blueprint;
	struct strv revoked; /* names of credentials */
	struct surrogate_key *key; /* sodium_malloc */
	struct credentials creds;
	struct secret_bytes bundle, vault; /* CA and key; for vaultd */
	struct strv env, surrogates;
	char *ca, *warnings;
	struct instance_grant told; /* views of the above */
	bool ca_owed; /* the gateway has not been given @bundle */
};

struct grants {
	struct vault *vault;
	struct logins *logins; /* may be NULL */
	struct credential_kinds *kinds;
	uint8_t *master; /* sodium_malloc */
	uint64_t number; /* of the last run */
	LIST_HEAD(run_grants, run_grant) all;
};

/* Returns the grant of the run @name, borrowed, or NULL. */
struct run_grant *run_grant_find(const struct grants *g, const char *name);
/* Adds one, with a new key. Returns NULL without memory. */
struct run_grant *run_grant_new(struct grants *g, const char *name,
				const char *blueprint);
void run_grant_free(struct run_grant *x);
/* Adds a warning for each credential that is handed over. Returns 0 or
 * -ENOMEM. */
int run_grant_warn(struct run_grant *x);
/* Sets x->told. */
void run_grant_tell(struct run_grant *x);

#endif
