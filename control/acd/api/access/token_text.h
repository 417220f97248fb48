/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_text.h - what a token looks like: ac_ID_SECRET
 *
 * ID is 12 hex digits, SECRET 64: 32 random bytes. A secret of 256 random bits
 * needs no slow hash; BLAKE2b keeps a reader of the store from using it.
 */
#ifndef CONTROL_ACD_API_ACCESS_TOKEN_TEXT_H
#define CONTROL_ACD_API_ACCESS_TOKEN_TEXT_H

#include <stdbool.h>

#include "control/acd/storage/tokens.h"
#include "lib/slice.h"

#define TOKEN_SECRET_BYTES 32u
#define TOKEN_TEXT_LEN (3u + TOKEN_ID_LEN + 1u + 2u * TOKEN_SECRET_BYTES)

/* Makes a new token: sets the id and the hash of @t and writes its text to @ret,
 * which the caller wipes. Returns 0, or -EIO if libsodium does not start. */
int token_text_make(struct token *t, char ret[TOKEN_TEXT_LEN + 1]);

/* Reads the text of a token. Returns true and sets the id and the hash of what it
 * holds, or returns false if it is none. */
bool token_text_read(struct slice text, char id[TOKEN_ID_LEN + 1],
		     uint8_t hash[TOKEN_HASH_BYTES]);

/* Reads the value of an Authorization header (RFC 6750, section 2.1): "Bearer",
 * in any case, spaces, and a token, nothing else. Returns true and sets *@ret to
 * the token's part of @value. */
bool token_text_bearer(struct slice value, struct slice *ret);

#endif
