/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial_proxy_fuzz.c - a proxy's answer is read alike in any portions
 *
 * A head that is accepted ends in an empty line, and each shorter beginning
 * of it asks for more; what is refused stays refused however much follows.
 */
#include <string.h>

#include "ottergate/conn/dial_proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned status = 0, early;
	size_t len = 0, cut, step = size / 64 + 1;
	int rc = dial_proxy_answer(slice_of(data, size), &status, &len);

	if (rc == 0 &&
	    (len > size || len > DIAL_PROXY_HEAD_MAX || len < 16 ||
	     status > 999 || memcmp(data + len - 4, "\r\n\r\n", 4) != 0))
		abort();
	for (size_t i = 0; i < size; i += step) {
		int k = dial_proxy_answer(slice_of(data, i), &early, &cut);

		if (k == 0 && (rc != 0 || cut != len || early != status))
			abort();
		if (k == -EBADMSG && rc != -EBADMSG)
			abort();
		if (rc == 0 && k != (i < len ? -EAGAIN : 0))
			abort();
	}
	return 0;
}
