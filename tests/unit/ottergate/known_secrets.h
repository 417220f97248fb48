/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_secrets.h - sets of secrets, and surrogates of them, for tests
 */
#ifndef TESTS_UNIT_OTTERGATE_KNOWN_SECRETS_H
#define TESTS_UNIT_OTTERGATE_KNOWN_SECRETS_H

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "ottergate/inspect/mask/secrets.h"

#define SECRETS_NOW UINT64_C(1700000000)

/* One secret; @more: members behind these, ", …" or "". */
static inline void secret_json(char *out, size_t size, const char *id,
			       const char *kind, const char *value,
			       const char *hosts, const char *more)
{
	char b64[128];

	sodium_bin2base64(b64, sizeof(b64), (const uint8_t *)value,
			  strlen(value), sodium_base64_VARIANT_ORIGINAL);
	snprintf(out, size,
		 "{\"id\":\"%s\",\"kind\":\"%s\",\"value\":\"%s\","
		 "\"hosts\":[%s]%s}",
		 id, kind, b64, hosts, more);
}

/* A set of the @list (JSON objects, joined by ','), with a key of zeros. */
static inline int secrets_of(const char *list, struct secret_set **ret,
			     struct err *err)
{
	static char json[16384];

	snprintf(json, sizeof(json),
		 "{\"key\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\","
		 "\"secrets\":[%s]}",
		 list);
	return secret_set_read(slice_str(json), ret, err);
}

/* A surrogate of the secret @id, minted @ago seconds before SECRETS_NOW. */
static inline const char *surrogate_of(const struct secret_set *s,
				       const char *id, enum surrogate_life life,
				       uint64_t ago, char out[SURROGATE_MAX])
{
	static const uint8_t nonce[SURROGATE_NONCE] = { 1, 2, 3, 4, 5 };
	const struct secret *of = secret_set_find(s, id);

	out[0] = '\0';
	if (of && surrogate_mint(s->key, id, of->kind, life, SECRETS_NOW - ago,
				 nonce, out) < 0)
		out[0] = '\0';
	return out;
}

#endif
