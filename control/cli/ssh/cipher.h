/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cipher.h - chacha20-poly1305@openssh.com, one direction of a connection
 *
 * OpenSSH's PROTOCOL.chacha20poly1305: the length of a packet is encrypted with
 * a key of its own, so that it can be read before the tag is checked. The nonce
 * is the number of the packet, which the caller counts. Without a key, nothing
 * is encrypted and there is no tag: as a connection begins.
 */
#ifndef CONTROL_CLI_SSH_CIPHER_H
#define CONTROL_CLI_SSH_CIPHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/attr.h"

#define CIPHER_KEY 64u
#define CIPHER_TAG 16u
#define CIPHER_LENGTH 4u /* bytes of the length that begins a packet */

struct cipher {
	bool on; /* false: no key yet */
	uint8_t key[CIPHER_KEY];
};

/* Takes a copy of @key, which encrypts from the next packet on. */
void cipher_set(struct cipher *c, const uint8_t key[CIPHER_KEY]);
/* Wipes the key. */
void cipher_done(struct cipher *c);

/* Returns the bytes of a tag: 0 without a key. */
static inline size_t cipher_tag(const struct cipher *c)
{
	return c->on ? CIPHER_TAG : 0;
}

/* Returns the length that @head says, of the bytes after it without the tag. */
uint32_t cipher_length(const struct cipher *c, uint32_t seq,
		       const uint8_t head[CIPHER_LENGTH]);

/* Encrypts in place a length and the @len bytes after it, and writes the tag
 * behind them, for which there is room. */
void cipher_seal(const struct cipher *c, uint32_t seq, uint8_t *packet,
		 size_t len);

/* Checks the tag behind a length and @len bytes, and decrypts the bytes, not the
 * length, in place. Returns 0, or -EBADMSG, with @packet unchanged. */
int cipher_open(const struct cipher *c, uint32_t seq, uint8_t *packet,
		size_t len) ATTR_WUR;

#endif
