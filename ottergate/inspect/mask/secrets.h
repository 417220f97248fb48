/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets.h - the real values of one sandbox's credentials, in locked memory
 *
 * acd sends them over the admin socket (ADMIN_SECRETS) as JSON, next to the
 * policy and never in a file. The set is immutable, reference-counted and
 * replaced as a whole. Values live in sodium_malloc() memory, which is locked,
 * kept out of dumps and wiped when freed.
 *
 *	{"key":"<base64 of 32 bytes>","secrets":[{"id":"github",
 *	 "kind":"github","value":"<base64>","user":"x-access-token",
 *	 "expires":0,"hosts":["github.com","api.github.com"],
 *	 "access_key":"AKIA…","region":"eu-west-1","service":"s3"}]}
 *
 * user, access_key, region and service are there if the kind needs them. The
 * policy says which rule may use which credential (`auth: {use: ID}`). hosts is
 * a second check: a value is never sent to a host that is not listed; for one
 * as "llm.internal:11434", not to another port of it.
 */
#ifndef OTTERGATE_INSPECT_MASK_SECRETS_H
#define OTTERGATE_INSPECT_MASK_SECRETS_H

#include "lib/err.h"
#include "ottergate/policy/net/name.h"
#include "vault/surrogate.h"

#define SECRETS_MAX 64u /* of one sandbox */
#define SECRET_VALUE_MAX 8192u /* bytes */
#define SECRET_HOSTS_MAX 16u

struct mask; /* mask.h */

struct secret {
	enum secret_kind kind;
	char id[SURROGATE_ID_MAX + 1];
	char user[64], access_key[132], region[32], service[32];
	uint64_t expires; /* seconds since the epoch, 0: never */
	size_t value_len;
	char *value; /* sodium_malloc; NUL-terminated */
	struct mask *mask; /* a reference; its forms, for responses */
	_Atomic bool *revoked; /* owned; set by secret_revoke() in any thread */
	size_t n_hosts;
	struct name hosts[SECRET_HOSTS_MAX];
	uint16_t ports[SECRET_HOSTS_MAX]; /* of the same; 0: any */
};

struct secret_set { /* immutable except for the count */
	_Atomic unsigned refs;
	struct surrogate_key *key; /* sodium_malloc */
	size_t n;
	struct secret *v;
};
/* Reads a set from @json, which is borrowed and not wiped; the caller owns the
 * reference in *@ret. Returns 0. Fails with -EINVAL, -ENOMEM or -EIO (libsodium
 * does not start), with a message that never has a value in it. */
int secret_set_read(struct slice json, struct secret_set **ret,
		    struct err *err) ATTR_WUR;
/* Takes a reference and returns @s; NULL is fine. */
struct secret_set *secret_set_ref(struct secret_set *s);
void secret_set_unref(struct secret_set *s); /* NULL is fine */
/* Returns the credential with this id, borrowed from @s, or NULL. */
const struct secret *secret_set_find(const struct secret_set *s,
				     const char *id);
/* Stops the use of @s on every connection until the sandbox is unbound: a
 * server has sent it back in a form that could not be masked. */
void secret_revoke(const struct secret *s);
/* Returns true after secret_revoke(). */
bool secret_is_revoked(const struct secret *s);
/* Revokes in @to the credentials whose ids are revoked in @from. Either may be
 * NULL. */
void secret_set_inherit(const struct secret_set *from,
			const struct secret_set *to);
/* Returns true if the value may be sent to @host at @port: it is in hosts. */
bool secret_has_host(const struct secret *s, const struct name *host,
		     uint16_t port);

/* Surrogate checks of one request. A word with the shape of a surrogate costs
 * one for each credential of that kind; a check takes up to 30 us. */
#define SURROGATE_CHECKS_MAX 128u
/*
 * Returns true if @text has a surrogate of this sandbox in it, live or expired,
 * as it is or percent-encoded: a canary, where none may be. @now_s: seconds
 * since the epoch. *@checks goes down from SURROGATE_CHECKS_MAX over the texts
 * of a request; also returns true when it is used up, and without memory: what
 * cannot be searched must not pass. Returns false if @s is NULL.
 */
bool surrogate_seen_of(const struct secret_set *s, struct slice text,
		       uint64_t now_s, unsigned *checks);

#endif
