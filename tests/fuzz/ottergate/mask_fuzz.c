/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask_fuzz.c - answers, in pieces
 *
 * However the bytes are cut, the same comes out, as long as what went in, and
 * without the value. With a rest behind each piece, only bytes at the beginning
 * of a form may come out that were masked, fewer than MASK_BEGIN of each. Input: one byte that says how to cut, a value up to a line
 * feed, and the answer.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "ottergate/inspect/mask/mask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* False: an alarm (reveal_fuzz.c). */
static bool feed(const struct mask *m, struct slice in, size_t step, bool rest,
		 struct buf *out)
{
	struct mask_stream s;
	struct slice piece;
	int rc = 0;

	buf_init(out, 1 << 20);
	must(mask_begin(&s, m) == 0);
	while (in.len && rc == 0) {
		must(slice_take(&in, in.len < step ? in.len : step, &piece) ==
		     0);
		rc = mask_feed(&s, piece, false, out);
		must(rc == 0 || rc == MASK_ALARM);
		must(rc < 0 || !rest ||
		     (mask_rest(&s, out) == 0 && !mask_waits(&s)));
	}
	if (rc == 0)
		rc = mask_feed(&s, slice_of(NULL, 0), true, out);
	must(rc == 0 || rc == MASK_ALARM);
	mask_end(&s);
	return rc == 0;
}

/* @got is @whole, but for bytes of @in at the beginning of what is masked. */
static void check_rests(struct slice whole, struct slice got, struct slice in)
{
	size_t shown = 0;

	must(got.len == whole.len);
	for (size_t i = 0; i < got.len; i++) {
		bool masked = whole.ptr[i] == '*' && in.ptr[i] != '*';

		must(got.ptr[i] == whole.ptr[i] ||
		     (masked && got.ptr[i] == in.ptr[i]));
		shown = got.ptr[i] == whole.ptr[i] ? 0 : shown + 1;
		must(shown < MASK_BEGIN);
	}
}

static void check_same(struct slice value, struct slice in,
		       const struct buf *whole, const struct buf *pieces,
		       const struct buf *rests)
{
	check_rests(buf_slice(whole), buf_slice(rests), in);
	must(buf_len(whole) == in.len);
	must(slice_eq(buf_slice(whole), buf_slice(pieces)));
	must(in.len == 0 || memchr(value.ptr, '*', value.len) ||
	     !memmem(buf_slice(whole).ptr, in.len, value.ptr, value.len));
}

static void check(const struct mask *m, struct slice value, struct slice in,
		  size_t step)
{
	struct buf whole, pieces, rests;

	bool good = feed(m, in, in.len + 1, false, &whole);

	must(feed(m, in, step, false, &pieces) == good);
	must(feed(m, in, step, true, &rests) == good);
	if (good)
		check_same(value, in, &whole, &pieces, &rests);
	buf_done(&whole);
	buf_done(&pieces);
	buf_done(&rests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = size > 1 ? memchr(data + 1, '\n', size - 1) :
					 NULL;
	struct secret s = { .value_len = line ? line - data - 1 : 0 };
	struct mask *m;

	if (s.value_len > 64 || s.value_len < MASK_VALUE_MIN ||
	    sodium_init() < 0)
		return 0;
	s.value = malloc(s.value_len);
	must(s.value);
	memcpy(s.value, data + 1, s.value_len);
	must(mask_new(&s, &m) == 0);
	check(m, slice_of(s.value, s.value_len),
	      slice_of(line + 1, size - s.value_len - 2), data[0] % 32u + 1);
	mask_unref(m);
	free(s.value);
	return 0;
}
