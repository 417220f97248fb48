/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes_fuzz.c - the archive of a workspace's changes: it means the same in
 * whatever pieces it comes, and what was read is written as it was
 */
#include <stdlib.h>

#include "control/shared/changes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OUT_MAX (64u << 20)

/* Writes again what is read. */
struct copy {
	struct buf out;
	uint64_t size;
};

static int on_entry(void *arg, const struct change *c)
{
	struct copy *copy = arg;

	if (!changes_path_is_good(c->path))
		abort();
	copy->size = c->size;
	/* A file of terabytes never comes to its end here. */
	if (changes_head(&copy->out, c) < 0)
		abort();
	return 0;
}

static int on_content(void *arg, struct slice piece)
{
	struct copy *copy = arg;

	return buf_append(&copy->out, piece.ptr, piece.len);
}

static int on_end(void *arg, bool torn)
{
	struct copy *copy = arg;
	int rc = changes_pad(&copy->out, copy->size);

	return rc == 0 && torn ? changes_torn(&copy->out) : rc;
}

static int run(const uint8_t *data, size_t size, size_t step, struct copy *copy)
{
	static const struct changes_ops ops = { on_entry, on_content, on_end };
	struct changes_reader *r = changes_reader_new(&ops, copy);
	int rc = r ? 0 : -ENOMEM;

	buf_init(&copy->out, OUT_MAX);
	while (rc == 0 && size > 0) {
		size_t n = size < step ? size : step;

		rc = changes_feed(r, slice_of(data, n));
		data += n;
		size -= n;
	}
	if (rc == 0)
		rc = changes_finish(r);
	if (rc == 0)
		rc = changes_end(&copy->out);
	changes_reader_free(r);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct copy whole, pieces, again;
	struct slice s;
	int rc = run(data, size, SIZE_MAX, &whole);

	if (run(data, size, 97, &pieces) != rc ||
	    !slice_eq(buf_slice(&whole.out), buf_slice(&pieces.out)))
		abort();
	s = buf_slice(&whole.out);
	if (rc == 0) {
		if (run(s.ptr, s.len, SIZE_MAX, &again) < 0 ||
		    !slice_eq(s, buf_slice(&again.out)))
			abort();
		buf_done(&again.out);
	}
	buf_done(&whole.out);
	buf_done(&pieces.out);
	return 0;
}
