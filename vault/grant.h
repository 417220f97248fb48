/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant.h - what a sandbox is told of the secrets it may use: never a value
 *
 * acd writes it into ASSIGN, init-guard hands it to vaultd unread. Pure codec;
 * vault/PROTOCOL has the bytes: u8 version 1, key, u16 n, then for each u8
 * kind, u32 uses, lstr id, lstr user, u16 hosts, lstr each. lstr as on the
 * guest link: u32 length, bytes without NUL.
 */
#ifndef VAULT_GRANT_H
#define VAULT_GRANT_H

#include "lib/buf.h"
#include "vault/surrogate.h"

#define GRANT_MAX 32768u /* bytes of the whole */
#define GRANT_SECRETS_MAX 64u
#define GRANT_HOSTS_MAX 16u
#define GRANT_HOST_MAX 253u
#define GRANT_USER_MAX 63u

enum grant_use { /* which client may be given a surrogate of it */
		 GRANT_GIT = 1, /* git-credential-ac, by host */
		 GRANT_GH = 2, /* the wrapper of gh */
		 GRANT_GLAB = 4, /* the wrapper of glab */
};

struct grant_secret {
	enum secret_kind kind;
	uint32_t uses; /* enum grant_use */
	char id[SURROGATE_ID_MAX + 1];
	char user[GRANT_USER_MAX + 1]; /* for Basic: "x-access-token" */
	uint16_t n_hosts;
	char hosts[GRANT_HOSTS_MAX][GRANT_HOST_MAX + 1]; /* canonical */
};

struct grant {
	struct surrogate_key key;
	size_t n;
	struct grant_secret *v; /* n, heap */
};
/* -ENOBUFS, -EMSGSIZE, -EINVAL; what was written is then of no use. The bytes
 * hold the key: wipe them. */
int grant_put(struct buf *out, const struct grant *g) ATTR_WUR;
/* -EBADMSG (nothing may follow), -ENOMEM. Release with grant_done(). */
int grant_get(struct slice in, struct grant *ret) ATTR_WUR;
void grant_done(struct grant *g); /* wipes; accepts zeroed */
/* A name as it stands in a grant: lower case letters, digits, '-', '_' and
 * '.', no port. All that the store takes (vstore_host_ok()) are. */
bool grant_host_valid(const char *host);

#endif
