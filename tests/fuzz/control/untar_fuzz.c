/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untar_fuzz.c - the filter before tar: what passes once passes unchanged,
 * in whatever pieces it comes, and says nothing that must not pass
 */
#include <stdlib.h>
#include <string.h>

#include "control/cli/wire/untar.h"
#include "lib/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int collect(void *arg, const void *data, size_t len)
{
	return buf_append(arg, data, len);
}

static int run(const void *data, size_t size, size_t step, struct buf *out)
{
	const uint8_t *p = data;
	struct untar u;
	int rc = 0;

	buf_init(out, 8u << 20);
	untar_init(&u, "top", collect, out);
	while (rc == 0 && size > 0) {
		size_t n = size < step ? size : step;

		rc = untar_feed(&u, p, n);
		p += n;
		size -= n;
	}
	return rc < 0 ? rc : untar_finish(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole, pieces, again;
	struct slice s;
	int rc = run(data, size, SIZE_MAX, &whole);

	if (run(data, size, 97, &pieces) != rc ||
	    !slice_eq(buf_slice(&whole), buf_slice(&pieces)))
		abort();
	s = buf_slice(&whole);
	if (rc == 0) {
		if (run(s.ptr, s.len, SIZE_MAX, &again) < 0 ||
		    !slice_eq(s, buf_slice(&again)))
			abort();
		buf_done(&again);
	}
	buf_done(&whole);
	buf_done(&pieces);
	return 0;
}
