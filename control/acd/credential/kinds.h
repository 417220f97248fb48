/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.h - what each kind of credential allows, according to its file
 *
 * Reads blueprints/credentials/KIND.yaml strictly; ac-blueprint(5) has the
 * schema. credential/rules.h makes rules of it for one credential.
 */
#ifndef CONTROL_ACD_CREDENTIAL_KINDS_H
#define CONTROL_ACD_CREDENTIAL_KINDS_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/str.h"
#include "vault/surrogate.h"

#define KIND_ENTRIES_MAX 128u /* of each list of a file */
#define KIND_PATHS_MAX 128u /* of an entry, with places expanded */
#define KIND_NAMES_MAX 256u /* of GraphQL, of each sort */

/* The API has another path on hosts that only serve the API. */
enum kind_host {
	KIND_HOST_SHARED, /* serves repositories too */
	KIND_HOST_API, /* api.…, uploads.… */
	KIND_HOSTS,
};

struct kind_entry {
	bool push; /* only with `git push: allow` */
	bool any_forms; /* as if no path were under `judge_forms` */
	struct strv methods;
	struct strv paths[KIND_HOSTS]; /* of ac-policy(5) */
};

struct kind_entries {
	struct kind_entry *v;
	size_t n;
};

struct credential_kind {
	char *api; /* path of the API on shared hosts; NULL: one sort */
	bool websocket;
	bool judge_forms; /* refuse forms that name another method */
	struct kind_entries allow, deny;
	/* Without paths there is no GraphQL. */
	struct strv graphql_paths, mutations, push_mutations, without;
};

struct credential_kinds;

/* Reads the files of all kinds in @dir; the caller frees *ret. Returns 0,
 * -EINVAL with file:line:column for a wrong file, or another negative errno. */
int credential_kinds_load(const char *dir, struct credential_kinds **ret,
			  struct err *err);
void credential_kinds_free(struct credential_kinds *k); /* accepts NULL */
/* Returns a kind, borrowed from @k, or NULL if there is no file for it. */
const struct credential_kind *
credential_kinds_of(const struct credential_kinds *k, enum secret_kind kind);
/* Returns true if any entry of the kind needs `git push: allow`. */
bool credential_kind_pushes(const struct credential_kind *k);

#endif
