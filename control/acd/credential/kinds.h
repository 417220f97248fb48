/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.h - what each kind of credential opens, as its file says
 *
 * blueprints/credentials/KIND.yaml, read strictly; ac-blueprint(5) has the
 * schema. What becomes of it for one entry of the vault: credential/rules.h.
 */
#ifndef CONTROL_ACD_CREDENTIAL_KINDS_H
#define CONTROL_ACD_CREDENTIAL_KINDS_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/str.h"
#include "vault/surrogate.h"

#define KIND_ENTRIES_MAX 128u /* of each list of a file */
#define KIND_PATHS_MAX 128u /* of an entry, with all that places stand for */
#define KIND_NAMES_MAX 256u /* of GraphQL, of each sort */

/* The API is at another place where a host is for it alone. */
enum kind_host {
	KIND_HOST_SHARED, /* has repositories, too */
	KIND_HOST_API, /* api.…, uploads.… */
	KIND_HOSTS,
};

struct kind_entry {
	bool push; /* only with `git push: allow` */
	bool any_forms; /* as `judge_forms` is for none of it */
	struct strv methods;
	struct strv paths[KIND_HOSTS]; /* of ac-policy(5) */
};

struct kind_entries {
	struct kind_entry *v;
	size_t n;
};

struct credential_kind {
	char *api; /* the API's path on shared hosts; NULL: hosts are all one */
	bool websocket;
	bool judge_forms; /* no form may name another method */
	struct kind_entries allow, deny;
	/* No paths: there is no GraphQL. */
	struct strv graphql_paths, mutations, push_mutations, without;
};

struct credential_kinds;

/* Reads the files of all kinds in @dir. Fails with -EINVAL, and with
 * file:line:column where a file is wrong. */
int credential_kinds_load(const char *dir, struct credential_kinds **ret,
			  struct err *err);
void credential_kinds_free(struct credential_kinds *k); /* accepts NULL */
const struct credential_kind *
credential_kinds_of(const struct credential_kinds *k, enum secret_kind kind);
/* Returns true if any entry of the kind is for `git push: allow` alone. */
bool credential_kind_pushes(const struct credential_kind *k);

#endif
