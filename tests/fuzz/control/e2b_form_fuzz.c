/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_form_fuzz.c - a form with files
 *
 * The first two bytes say in which pieces it comes and goes. However it comes, it
 * has the same content.
 */
#include <stdlib.h>

#include "control/acd/api/e2b/box/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns a hash of all that the form has. */
static uint64_t run(struct slice text, size_t piece, size_t max)
{
	static struct multipart m;
	struct slice in = { 0 }, got;
	uint64_t hash = 1;
	int rc = 0;

	if (multipart_init(&m, "multipart/form-data; boundary=b") < 0)
		abort();
	while (rc >= 0 && (text.len > 0 || in.len > 0 || m.held > 0)) {
		if (in.len == 0) {
			in = slice_of(text.ptr,
				      text.len < piece ? text.len : piece);
			text.ptr += in.len;
			text.len -= in.len;
		}
		rc = multipart_next(&m, &in, max, &got);
		if (got.len > max || (got.len > 0 && rc != MULTIPART_DATA))
			abort();
		for (size_t i = 0; i < got.len; i++)
			hash = hash * 31 + got.ptr[i] + 7;
		if (rc < 0 || rc == MULTIPART_PART ||
		    rc == MULTIPART_PART_END || rc == MULTIPART_END)
			hash = hash * 31 + (uint64_t)rc;
		for (const char *c = m.name; rc == MULTIPART_PART && *c; c++)
			hash = hash * 31 + (uint8_t)*c;
	}
	return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text;

	if (size < 2)
		return 0;
	text = slice_of(data + 2, size - 2);
	if (run(text, 1u + data[0], 1u + data[1]) != run(text, 65536, 65536))
		abort();
	return 0;
}
