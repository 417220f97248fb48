/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cipher.c - chacha20-poly1305@openssh.com, one direction of a connection
 */
#include "control/cli/ssh/cipher.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#define HALF \
	32u /* the first key is for what a packet has, the second for its
		  * length */
#define NONCE crypto_stream_chacha20_NONCEBYTES

static_assert(CIPHER_KEY == 2 * crypto_stream_chacha20_KEYBYTES &&
		      HALF == crypto_stream_chacha20_KEYBYTES && NONCE == 8 &&
		      CIPHER_TAG == crypto_onetimeauth_poly1305_BYTES,
	      "the sizes are those of the protocol");

void cipher_set(struct cipher *c, const uint8_t key[CIPHER_KEY])
{
	memcpy(c->key, key, CIPHER_KEY);
	c->on = true;
}

void cipher_done(struct cipher *c)
{
	sodium_memzero(c, sizeof(*c));
}

static void nonce_of(uint32_t seq, uint8_t nonce[NONCE])
{
	memset(nonce, 0, NONCE);
	for (size_t i = 0; i < sizeof(seq); i++)
		nonce[NONCE - 1 - i] = (uint8_t)(seq >> (8 * i));
}

/* Encrypts or decrypts: the cipher is a stream. */
static void stream(const uint8_t key[HALF], uint32_t seq, uint64_t block,
		   uint8_t *data, size_t len)
{
	uint8_t nonce[NONCE];

	nonce_of(seq, nonce);
	(void)crypto_stream_chacha20_xor_ic(data, data, len, nonce, block, key);
}

/* The tag's key is the first block of the stream; the bytes begin with the
 * second. */
static void tag_key(const struct cipher *c, uint32_t seq, uint8_t key[HALF])
{
	memset(key, 0, HALF);
	stream(c->key, seq, 0, key, HALF);
}

uint32_t cipher_length(const struct cipher *c, uint32_t seq,
		       const uint8_t head[CIPHER_LENGTH])
{
	uint8_t plain[CIPHER_LENGTH];

	memcpy(plain, head, sizeof(plain));
	if (c->on)
		stream(c->key + HALF, seq, 0, plain, sizeof(plain));
	return (uint32_t)plain[0] << 24 | (uint32_t)plain[1] << 16 |
	       (uint32_t)plain[2] << 8 | plain[3];
}

void cipher_seal(const struct cipher *c, uint32_t seq, uint8_t *packet,
		 size_t len)
{
	uint8_t key[HALF];

	if (!c->on)
		return;
	tag_key(c, seq, key);
	stream(c->key + HALF, seq, 0, packet, CIPHER_LENGTH);
	stream(c->key, seq, 1, packet + CIPHER_LENGTH, len);
	(void)crypto_onetimeauth_poly1305(packet + CIPHER_LENGTH + len, packet,
					  CIPHER_LENGTH + len, key);
	sodium_memzero(key, sizeof(key));
}

int cipher_open(const struct cipher *c, uint32_t seq, uint8_t *packet,
		size_t len)
{
	uint8_t key[HALF];
	int bad;

	if (!c->on)
		return 0;
	tag_key(c, seq, key);
	bad = crypto_onetimeauth_poly1305_verify(
		packet + CIPHER_LENGTH + len, packet, CIPHER_LENGTH + len, key);
	sodium_memzero(key, sizeof(key));
	if (bad)
		return -EBADMSG;
	stream(c->key, seq, 1, packet + CIPHER_LENGTH, len);
	return 0;
}
