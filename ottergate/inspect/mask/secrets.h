/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets.h - the real tokens of one sandbox, in locked memory
 *
 * acd sends them over the admin socket (ADMIN_SECRETS) as JSON, next to the
 * policy and never in a file; the set is immutable, counted and swapped whole.
 * Values live in sodium_malloc() memory, which is locked, kept out of dumps
 * and wiped when it is freed.
 *
 *	{"key":"<base64 of 32 bytes>","secrets":[{"id":"github",
 *	 "kind":"github","value":"<base64>","user":"x-access-token",
 *	 "expires":0,"hosts":["github.com","api.github.com"],
 *	 "access_key":"AKIA…","region":"eu-west-1","service":"s3"}]}
 *
 * user, access_key, region, service: where the kind needs them. Which rule may
 * use which secret is the policy's business (`auth: {use: ID}`); @hosts is a
 * second lock: a secret is never sent to a host that is not named here.
 */
#ifndef OTTERGATE_INSPECT_MASK_SECRETS_H
#define OTTERGATE_INSPECT_MASK_SECRETS_H

#include "lib/err.h"
#include "ottergate/policy/name.h"
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
	struct mask *mask; /* its forms, to take out of answers */
	_Atomic bool *revoked; /* secret_revoke(), by any thread */
	size_t n_hosts;
	struct name hosts[SECRET_HOSTS_MAX];
};

struct secret_set { /* immutable but for the count */
	_Atomic unsigned refs;
	struct surrogate_key *key; /* sodium_malloc */
	size_t n;
	struct secret *v;
};
/* @json is borrowed and not wiped. -EINVAL with a message that never has a
 * value in it. */
int secret_set_read(struct slice json, struct secret_set **ret,
		    struct err *err) ATTR_WUR;
struct secret_set *secret_set_ref(struct secret_set *s); /* NULL is fine */
void secret_set_unref(struct secret_set *s); /* NULL is fine */
const struct secret *secret_set_find(const struct secret_set *s,
				     const char *id); /* NULL: none */
/* A server has sent it back in a form that could not be masked: no request gets
 * it any more, on any connection, until the sandbox is unbound. */
void secret_revoke(const struct secret *s);
bool secret_is_revoked(const struct secret *s);
/* What was revoked in @from is in @to as well. */
void secret_set_inherit(const struct secret_set *from,
			const struct secret_set *to);
bool secret_has_host(const struct secret *s, const struct name *host);

/* Checks of one request: each word in the shape of a surrogate costs one for
 * each secret of that kind, of up to 30 us. */
#define SURROGATE_CHECKS_MAX 128u
/*
 * Is a surrogate of this sandbox, live or expired, anywhere in @text, as it is
 * or percent-encoded? For canaries: on plain HTTP and wherever else none may
 * be. @now_s: seconds since the epoch. @s NULL: none is.
 */
bool surrogate_seen(const struct secret_set *s, struct slice text,
		    uint64_t now_s);
/* The same for one text of several: *@checks goes down from
 * SURROGATE_CHECKS_MAX; true also when it is used up. */
bool surrogate_seen_of(const struct secret_set *s, struct slice text,
		       uint64_t now_s, unsigned *checks);

#endif
