/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_http_fuzz.c - an answer reads the same in whatever pieces it comes, and
 * its body has the bytes of the answer and no others
 */
#include <stdlib.h>
#include <string.h>

#include "control/cli/wire/http_parse.h"
#include "lib/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What reading came to. */
struct outcome {
	int rc;
	size_t taken;
	struct buf text;
};

/* Asserts that a shorter head is no other head. */
static void check_head(struct slice all, const struct http_head *head)
{
	struct http_head again;

	if (head->size > all.len || head->size > HTTP_HEAD_MAX ||
	    head->status < 100 || head->status > 599 ||
	    (head->chunked && head->has_length))
		abort();
	if (http_head_parse(slice_of(all.ptr, head->size - 1), &again) !=
		    -EAGAIN ||
	    http_head_parse(slice_of(all.ptr, head->size), &again) != 0 ||
	    again.size != head->size || again.length != head->length)
		abort();
}

static void run(struct slice all, const struct http_head *head, size_t step,
		struct outcome *ret)
{
	struct http_body body;

	*ret = (struct outcome){ .rc = -EAGAIN, .taken = head->size };
	buf_init(&ret->text, all.len);
	http_body_init(&body, head);
	while (ret->rc == -EAGAIN && ret->taken < all.len) {
		size_t n = all.len - ret->taken;
		struct slice in, piece;

		n = n < step ? n : step;
		in = slice_of(all.ptr + ret->taken, n);
		while ((ret->rc = http_body_next(&body, &in, &piece)) == 0)
			if (piece.len == 0 || piece.ptr < all.ptr ||
			    piece.ptr + piece.len > all.ptr + all.len ||
			    buf_append(&ret->text, piece.ptr, piece.len) < 0)
				abort();
		ret->taken += n - in.len;
		if (ret->rc == -EAGAIN && in.len > 0)
			abort();
	}
	if (head->has_length && buf_len(&ret->text) > head->length)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t steps[] = { 1, 7 };
	struct slice all = slice_of(data, size);
	struct outcome whole, pieces;
	struct http_head head;
	size_t i;

	if (http_head_parse(all, &head) < 0)
		return 0;
	check_head(all, &head);
	run(all, &head, SIZE_MAX, &whole);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		run(all, &head, steps[i], &pieces);
		if (pieces.rc != whole.rc || pieces.taken != whole.taken ||
		    !slice_eq(buf_slice(&pieces.text), buf_slice(&whole.text)))
			abort();
		buf_done(&pieces.text);
	}
	buf_done(&whole.text);
	return 0;
}
