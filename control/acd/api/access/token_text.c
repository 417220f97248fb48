/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_text.c - what a token looks like: ac_ID_SECRET
 */
#include "control/acd/api/access/token_text.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

#define PREFIX "ac_"
#define PREFIX_LEN (sizeof(PREFIX) - 1)
#define BEARER "bearer"
#define BEARER_LEN (sizeof(BEARER) - 1)

static void hash_of(const uint8_t secret[TOKEN_SECRET_BYTES],
		    uint8_t ret[TOKEN_HASH_BYTES])
{
	crypto_generichash(ret, TOKEN_HASH_BYTES, secret, TOKEN_SECRET_BYTES,
			   NULL, 0);
}

int token_text_make(struct token *t, char ret[TOKEN_TEXT_LEN + 1])
{
	uint8_t id[TOKEN_ID_LEN / 2], secret[TOKEN_SECRET_BYTES];
	char *at = ret;

	if (sodium_init() < 0)
		return -EIO;
	randombytes_buf(id, sizeof(id));
	randombytes_buf(secret, sizeof(secret));
	sodium_bin2hex(t->id, sizeof(t->id), id, sizeof(id));
	hash_of(secret, t->hash);
	memcpy(at, PREFIX, PREFIX_LEN);
	at += PREFIX_LEN;
	memcpy(at, t->id, TOKEN_ID_LEN);
	at += TOKEN_ID_LEN;
	*at++ = '_';
	sodium_bin2hex(at, 2 * sizeof(secret) + 1, secret, sizeof(secret));
	sodium_memzero(secret, sizeof(secret));
	return 0;
}

static bool all_hex(const uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!(at[i] >= '0' && at[i] <= '9') &&
		    !(at[i] >= 'a' && at[i] <= 'f'))
			return false;
	return true;
}

bool token_text_read(struct slice text, char id[TOKEN_ID_LEN + 1],
		     uint8_t hash[TOKEN_HASH_BYTES])
{
	const uint8_t *at = text.ptr;
	uint8_t secret[TOKEN_SECRET_BYTES];
	size_t len = 0;

	if (text.len != TOKEN_TEXT_LEN || memcmp(at, PREFIX, PREFIX_LEN) != 0)
		return false;
	at += PREFIX_LEN;
	if (!all_hex(at, TOKEN_ID_LEN) || at[TOKEN_ID_LEN] != '_' ||
	    !all_hex(at + TOKEN_ID_LEN + 1, 2 * sizeof(secret)))
		return false;
	memcpy(id, at, TOKEN_ID_LEN);
	id[TOKEN_ID_LEN] = '\0';
	if (sodium_init() < 0 ||
	    sodium_hex2bin(secret, sizeof(secret),
			   (const char *)at + TOKEN_ID_LEN + 1,
			   2 * sizeof(secret), NULL, &len, NULL) < 0 ||
	    len != sizeof(secret))
		return false;
	hash_of(secret, hash);
	sodium_memzero(secret, sizeof(secret));
	return true;
}

bool token_text_bearer(struct slice value, struct slice *ret)
{
	size_t at = BEARER_LEN;

	if (value.len <= BEARER_LEN ||
	    strncasecmp((const char *)value.ptr, BEARER, BEARER_LEN) != 0 ||
	    value.ptr[at] != ' ')
		return false;
	while (at < value.len && value.ptr[at] == ' ')
		at++;
	*ret = slice_of(value.ptr + at, value.len - at);
	return ret->len > 0;
}
