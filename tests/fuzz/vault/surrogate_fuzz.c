/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surrogate_fuzz.c - surrogates, looked for and checked in any text
 *
 * The first byte says the kind. Nothing of a stranger's is ever good, what is
 * found has the shape, and the search comes to an end.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "vault/surrogate.h"

#define NOW UINT64_C(1700000123)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct surrogate_key key;
	static bool begun;
	enum secret_kind kind;
	struct slice text;
	size_t length, from = 0;
	ssize_t at;

	if (!begun) {
		if (sodium_init() < 0)
			abort();
		randombytes_buf(&key, sizeof(key)); /* nobody can have it */
		begun = true;
	}
	if (size == 0)
		return 0;
	kind = (enum secret_kind)(data[0] % SECRET_KINDS);
	length = surrogate_length(kind);
	text = slice_of(data + 1, size - 1);
	if (surrogate_check(&key, "id", kind, text, NOW) == 0)
		abort();
	while ((at = surrogate_find(kind, text, from)) >= 0) {
		struct slice word = slice_of(text.ptr + at, length);

		if ((size_t)at < from || (size_t)at + length > text.len ||
		    surrogate_check(&key, "id", kind, word, NOW) == 0)
			abort();
		from = (size_t)at + 1;
	}
	return 0;
}
