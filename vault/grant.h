/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant.h - the credentials that a sandbox may use, without their tokens
 *
 * acd writes a grant into ASSIGN; init-guard passes it to vaultd unread.
 * vault/PROTOCOL defines the bytes: u8 version 1, key, u16 n, then for each
 * credential u8 kind, u32 uses, lstr id, lstr user, u16 hosts, lstr each. lstr
 * is as on the guest link: u32 length, bytes without NUL. This codec has no
 * side effects.
 */
#ifndef VAULT_GRANT_H
#define VAULT_GRANT_H

#include "lib/buf.h"
#include "vault/surrogate.h"

#define GRANT_MAX 32768u /* bytes of a whole grant */
#define GRANT_SECRETS_MAX 64u
#define GRANT_HOSTS_MAX 16u
#define GRANT_HOST_MAX 253u
#define GRANT_USER_MAX 63u

enum grant_use { /* which clients may get a surrogate of it */
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
	struct grant_secret *v; /* n elements, on the heap */
};
/* Appends the bytes of @g. Returns 0, -ENOBUFS, -EMSGSIZE beyond GRANT_MAX, or
 * -EINVAL for a field that is too long or a missing id; a failure may leave a
 * part in @out. The bytes contain the key, so @out must wipe them. */
int grant_put(struct buf *out, const struct grant *g) ATTR_WUR;
/* Parses a whole grant. Returns 0, -EBADMSG (also if bytes follow) or -ENOMEM.
 * Release with grant_done(). */
int grant_get(struct slice in, struct grant *ret) ATTR_WUR;
/* Wipes the key and frees the list. Accepts zeroed grants. */
void grant_done(struct grant *g);
/* Returns true for a canonical host name: lower-case letters, digits, '-', '_'
 * and '.', no port. Every host without a port that vstore_host_ok() accepts is
 * one. */
bool grant_host_valid(const char *host);

#endif
