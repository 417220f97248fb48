/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin_fuzz.c - the admin socket's messages, as either side sees them
 *
 * What is read is within the input and its limits, and writing it again
 * gives the very bytes that were read.
 */
#include <stdlib.h>

#include "ottergate/admin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool cond)
{
	if (!cond)
		abort();
}

static void check_within(struct slice part, struct slice whole)
{
	check(part.len <= whole.len);
	check(part.len == 0 || (part.ptr >= whole.ptr &&
				part.ptr + part.len <= whole.ptr + whole.len));
}

static void check_same(struct buf *out, struct slice was, struct slice rest)
{
	check(slice_eq(buf_slice(out), slice_of(was.ptr, was.len - rest.len)));
	buf_done(out);
}

static void fuzz_requests(struct slice in)
{
	for (;;) {
		struct slice was = in;
		struct admin_request rq;
		struct buf out;
		int rc = admin_request_read(&in, &rq);

		check(rc == 0 || rc == -EAGAIN || rc == -EBADMSG);
		if (rc < 0) {
			check(in.ptr == was.ptr && in.len == was.len);
			return;
		}
		check_within(rq.a, was);
		check_within(rq.b, was);
		buf_init(&out, ADMIN_REQUEST_MAX + 4);
		check(admin_request_put(&out, rq.verb, rq.a, rq.b) == 0);
		check_same(&out, was, in);
	}
}

static void fuzz_frames(struct slice in)
{
	for (;;) {
		struct slice was = in;
		struct admin_frame frame;
		struct buf out;
		int rc = admin_frame_read(&in, &frame);

		check(rc == 0 || rc == -EAGAIN || rc == -EBADMSG);
		if (rc < 0) {
			check(in.ptr == was.ptr && in.len == was.len);
			return;
		}
		check_within(frame.payload, was);
		buf_init(&out, ADMIN_FRAME_MAX + 5);
		check(admin_frame_put(&out, frame.kind, frame.payload) == 0);
		check_same(&out, was, in);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_requests(slice_of(data, size));
	fuzz_frames(slice_of(data, size));
	return 0;
}
