/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synthetic.c - the addresses that stand for names
 */
#include "ottergate/policy/net/synthetic.h"

#include <sodium.h>

#define BASE UINT32_C(0xc6120000) /* 198.18.0.0/15 */
#define SIZE UINT32_C(0x20000)

uint32_t synthetic_home(const struct name *name)
{
	uint8_t hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const uint8_t *)name->s, name->len);
	return (uint32_t)hash[0] << 16 | (uint32_t)hash[1] << 8 | hash[2];
}

struct addr synthetic_at(uint32_t home, uint32_t n)
{
	return addr_v4(BASE + 1 + (home + n) % (SIZE - 2));
}

bool synthetic_has(const struct addr *a)
{
	return a->family == 4 && a->b[0] == 198 && (a->b[1] & 0xfe) == 18;
}
