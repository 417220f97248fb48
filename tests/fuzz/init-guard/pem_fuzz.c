/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pem_fuzz.c - certificates as text, and the trust store made of them
 *
 * Whatever the text: the reader comes to an end, gives one whole DER sequence
 * a time, and text that it counts makes a store whose outer length is right.
 */
#include <string.h>

#include "init-guard/start/pem.h"
#include "init-guard/start/pkcs12.h"

static size_t der_len(struct slice s)
{
	size_t n, i, len = 0;

	if (s.len < 2 || s.ptr[0] != 0x30)
		abort();
	if (s.ptr[1] < 0x80)
		return 2u + s.ptr[1];
	n = s.ptr[1] & 0x7fu;
	if (n > 4 || s.len < 2 + n)
		abort();
	for (i = 0; i < n; i++)
		len = len << 8 | s.ptr[2 + i];
	return 2 + n + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t der[PEM_DER_MAX];
	const struct slice text = slice_of(data, size);
	struct slice rest = text;
	size_t before = rest.len + 1;
	struct buf store;
	int rc, n = 0;

	while ((rc = pem_next(&rest, der)) > 0) {
		if (rest.len >= before || rest.ptr + rest.len != data + size ||
		    der_len(slice_of(der, (size_t)rc)) != (size_t)rc)
			abort();
		before = rest.len;
		n++;
	}
	buf_init(&store, 1u << 22);
	if (rc == 0 && n > 0 && size > 0 && !memchr(data, 0, size) &&
	    pem_count(text) != n)
		abort();
	if (pkcs12_put(text, &store) != rc && rc < 0)
		abort();
	if (rc == 0 && der_len(buf_slice(&store)) != buf_len(&store))
		abort();
	buf_done(&store);
	return 0;
}
