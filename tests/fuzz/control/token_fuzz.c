/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_fuzz.c - the Authorization header of the API over TCP
 */
#include <stdlib.h>

#include "control/acd/api/access/token_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char id[TOKEN_ID_LEN + 1];
	uint8_t hash[TOKEN_HASH_BYTES];
	struct slice in = slice_of(data, size), text;

	if (!token_text_bearer(in, &text))
		return 0;
	/* It is the end of the value, all of it. */
	if (text.len == 0 || text.ptr + text.len != data + size)
		abort();
	if (!token_text_read(text, id, hash))
		return 0;
	if (text.len != TOKEN_TEXT_LEN || strlen(id) != TOKEN_ID_LEN)
		abort();
	return 0;
}
