/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kex.c - how the two ends of a connection agree on keys: curve25519-sha256
 */
#include "control/cli/ssh/kex.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "control/cli/ssh/numbers.h"

#define SECRET_MAX (KEX_POINT + 8u) /* of the shared secret as a number */

static_assert(KEX_HASH == crypto_hash_sha256_BYTES &&
		      KEX_POINT == crypto_scalarmult_curve25519_BYTES,
	      "the sizes are those of the protocol");
static_assert(CIPHER_KEY == 2 * KEX_HASH, "a key is two hashes");

/* The lists of a KEXINIT, in their order. The names of the first are both those
 * of one method. */
enum {
	KEX,
	HOST_KEY,
	CIPHER_UP,
	CIPHER_DOWN,
	MAC_UP,
	MAC_DOWN,
	ZIP_UP,
	ZIP_DOWN,
	LANG_UP,
	LANG_DOWN,
	LISTS
};

#define STRICT_SERVER "kex-strict-s-v00@openssh.com"
#define STRICT_CLIENT "kex-strict-c-v00@openssh.com"

static const char *const ours[LISTS] = {
	[KEX] = ("curve25519-sha256,curve25519-sha256@libssh."
		 "org," STRICT_SERVER),
	[HOST_KEY] = HOSTKEY_TYPE,
	[CIPHER_UP] = "chacha20-poly1305@openssh.com",
	[CIPHER_DOWN] = "chacha20-poly1305@openssh.com",
	/* The cipher has its own; the list must not be empty. */
	[MAC_UP] = "hmac-sha2-256-etm@openssh.com",
	[MAC_DOWN] = "hmac-sha2-256-etm@openssh.com",
	[ZIP_UP] = "none",
	[ZIP_DOWN] = "none",
	[LANG_UP] = "",
	[LANG_DOWN] = "",
};

int kex_put_init(struct buf *out)
{
	uint8_t cookie[KEX_COOKIE];
	int rc = buf_put_u8(out, SSH_KEXINIT);

	randombytes_buf(cookie, sizeof(cookie));
	if (rc == 0)
		rc = buf_append(out, cookie, sizeof(cookie));
	for (size_t i = 0; i < LISTS && rc == 0; i++)
		rc = buf_put_lstr(out, ours[i], strlen(ours[i]));
	if (rc == 0)
		rc = buf_put_u8(out, 0);
	return rc < 0 ? rc : buf_put_u32(out, 0);
}

/* Takes the next name of a list. Returns false at its end. */
static bool name_next(struct slice *list, struct slice *ret)
{
	const uint8_t *comma;

	if (list->len == 0)
		return false;
	comma = memchr(list->ptr, ',', list->len);
	*ret = slice_of(list->ptr,
			comma ? (size_t)(comma - list->ptr) : list->len);
	*list = slice_of(list->ptr + ret->len + (comma ? 1 : 0),
			 list->len - ret->len - (comma ? 1 : 0));
	return true;
}

static bool has(struct slice list, struct slice name)
{
	struct slice one;

	while (name_next(&list, &one))
		if (slice_eq(one, name))
			return true;
	return false;
}

/* Returns true if a client with @list and we have a name in common. */
static bool agrees(struct slice list, const char *mine)
{
	struct slice all = slice_str(mine), one;

	while (name_next(&all, &one))
		if (!slice_eq(one, slice_str(STRICT_SERVER)) && has(list, one))
			return true;
	return false;
}

static bool same_first(struct slice list, const char *mine)
{
	struct slice all = slice_str(mine), a, b;

	return name_next(&list, &a) && name_next(&all, &b) && slice_eq(a, b);
}

int kex_get_init(struct slice payload, struct kex_offer *ret)
{
	struct slice list[LISTS], cookie;
	uint8_t type, follows;
	uint32_t zero;
	bool good = true;

	if (slice_u8(&payload, &type) < 0 || type != SSH_KEXINIT ||
	    slice_take(&payload, KEX_COOKIE, &cookie) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < LISTS; i++)
		if (slice_lstr(&payload, KEX_INIT_MAX, &list[i]) < 0)
			return -EBADMSG;
	if (slice_u8(&payload, &follows) < 0 ||
	    slice_u32(&payload, &zero) < 0 || payload.len > 0)
		return -EBADMSG;
	for (size_t i = KEX; i < LANG_UP; i++)
		if (i != MAC_UP && i != MAC_DOWN)
			good &= agrees(list[i], ours[i]);
	if (!good)
		return -ENOTSUP;
	ret->strict = has(list[KEX], slice_str(STRICT_CLIENT));
	ret->skip = follows && !(same_first(list[KEX], ours[KEX]) &&
				 same_first(list[HOST_KEY], ours[HOST_KEY]));
	return 0;
}

/* Appends the secret as SSH has a number: without zeroes before it, but with one
 * if it would be negative. */
static int put_number(struct buf *out, const uint8_t n[KEX_POINT])
{
	uint8_t mem[KEX_POINT + 1] = { 0 };
	size_t skip = 0;

	while (skip < KEX_POINT && n[skip] == 0)
		skip++;
	memcpy(mem + 1, n, KEX_POINT);
	if (skip < KEX_POINT && n[skip] < 0x80)
		skip++;
	return buf_put_lstr(out, mem + skip, sizeof(mem) - skip);
}

static int put_slice(struct buf *out, struct slice s)
{
	return buf_put_lstr(out, s.ptr, s.len);
}

/* The hash of all that both ends have said, which the host key signs. */
static int exchange_hash(const struct kex_said *said, const struct hostkey *key,
			 struct slice theirs, const uint8_t mine[KEX_POINT],
			 struct slice secret, uint8_t ret[KEX_HASH])
{
	struct buf b;
	struct slice s;
	int rc;

	buf_init(&b, 4 * KEX_INIT_MAX);
	buf_secret(&b);
	rc = put_slice(&b, said->client_version);
	if (rc == 0)
		rc = put_slice(&b, said->server_version);
	if (rc == 0)
		rc = put_slice(&b, said->client_init);
	if (rc == 0)
		rc = put_slice(&b, said->server_init);
	if (rc == 0)
		rc = hostkey_put_public(key, &b);
	if (rc == 0)
		rc = put_slice(&b, theirs);
	if (rc == 0)
		rc = buf_put_lstr(&b, mine, KEX_POINT);
	if (rc == 0)
		rc = buf_append(&b, secret.ptr, secret.len);
	s = buf_slice(&b);
	if (rc == 0)
		(void)crypto_hash_sha256(ret, s.ptr, s.len);
	buf_done(&b);
	return rc;
}

/* One key: RFC 4253, section 7.2. */
static void derive(struct slice secret, const uint8_t hash[KEX_HASH],
		   char letter, const uint8_t session[KEX_HASH],
		   uint8_t ret[CIPHER_KEY])
{
	crypto_hash_sha256_state st;

	crypto_hash_sha256_init(&st);
	crypto_hash_sha256_update(&st, secret.ptr, secret.len);
	crypto_hash_sha256_update(&st, hash, KEX_HASH);
	crypto_hash_sha256_update(&st, (const uint8_t *)&letter, 1);
	crypto_hash_sha256_update(&st, session, KEX_HASH);
	crypto_hash_sha256_final(&st, ret);
	crypto_hash_sha256_init(&st);
	crypto_hash_sha256_update(&st, secret.ptr, secret.len);
	crypto_hash_sha256_update(&st, hash, KEX_HASH);
	crypto_hash_sha256_update(&st, ret, KEX_HASH);
	crypto_hash_sha256_final(&st, ret + KEX_HASH);
	sodium_memzero(&st, sizeof(st));
}

static int put_reply(const struct hostkey *key, const uint8_t mine[KEX_POINT],
		     const uint8_t hash[KEX_HASH], struct buf *out)
{
	int rc = buf_put_u8(out, SSH_KEX_ECDH_REPLY);

	if (rc == 0)
		rc = hostkey_put_public(key, out);
	if (rc == 0)
		rc = buf_put_lstr(out, mine, KEX_POINT);
	return rc < 0 ? rc : hostkey_put_signature(key, hash, KEX_HASH, out);
}

/* Makes our half and the secret of both, appended as a number. */
static int agree(struct slice theirs, uint8_t mine[KEX_POINT],
		 struct buf *secret)
{
	uint8_t scalar[crypto_scalarmult_curve25519_SCALARBYTES];
	uint8_t shared[KEX_POINT];
	int rc = -EBADMSG;

	randombytes_buf(scalar, sizeof(scalar));
	(void)crypto_scalarmult_curve25519_base(mine, scalar);
	/* It refuses points that make the secret zero. */
	if (crypto_scalarmult_curve25519(shared, scalar, theirs.ptr) == 0)
		rc = put_number(secret, shared);
	sodium_memzero(scalar, sizeof(scalar));
	sodium_memzero(shared, sizeof(shared));
	return rc;
}

int kex_answer(const struct kex_said *said, const struct hostkey *key,
	       struct slice payload, const uint8_t *session, struct buf *out,
	       struct kex_result *ret)
{
	uint8_t mine[KEX_POINT], type;
	struct slice theirs, s;
	struct buf secret;
	int rc;

	if (slice_u8(&payload, &type) < 0 || type != SSH_KEX_ECDH_INIT ||
	    slice_lstr(&payload, KEX_POINT, &theirs) < 0 ||
	    theirs.len != KEX_POINT || payload.len > 0)
		return -EBADMSG;
	buf_init(&secret, SECRET_MAX);
	buf_secret(&secret);
	rc = agree(theirs, mine, &secret);
	s = buf_slice(&secret);
	if (rc == 0)
		rc = exchange_hash(said, key, theirs, mine, s, ret->hash);
	if (rc == 0) {
		if (!session)
			session = ret->hash;
		derive(s, ret->hash, 'C', session, ret->to_server);
		derive(s, ret->hash, 'D', session, ret->to_client);
		rc = put_reply(key, mine, ret->hash, out);
	}
	buf_done(&secret);
	return rc;
}
