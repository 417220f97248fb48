/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin_test.c - the admin socket's messages, byte by byte
 */
#include "ottergate/admin.h"

#include "tests/unit/tap.h"

static void test_requests(void)
{
	static const struct {
		const char *what, *bytes;
		size_t len;
		int want;
	} rows[] = {
#define ROW(what, bytes, want) { what, bytes, sizeof(bytes) - 1, want }
		ROW("nothing", "", -EAGAIN),
		ROW("half a length", "\0\0", -EAGAIN),
		ROW("a length alone", "\0\0\0\x09", -EAGAIN),
		ROW("a ping", "\0\0\0\x09\x01\0\0\0\0\0\0\0\0", 0),
		ROW("one byte less", "\0\0\0\x09\x01\0\0\0\0\0\0\0", -EAGAIN),
		ROW("verb 0", "\0\0\0\x09\x00\0\0\0\0\0\0\0\0", -EBADMSG),
		ROW("a CA", "\0\0\0\x09\x0c\0\0\0\0\0\0\0\0", 0),
		ROW("verb past the last", "\0\0\0\x09\x0d\0\0\0\0\0\0\0\0",
		    -EBADMSG),
		ROW("empty", "\0\0\0\0", -EBADMSG),
		ROW("a string too few", "\0\0\0\x05\x01\0\0\0\0", -EBADMSG),
		ROW("a string that lies", "\0\0\0\x09\x01\0\0\0\x05\0\0\0\0",
		    -EBADMSG),
		ROW("bytes behind", "\0\0\0\x0a\x01\0\0\0\0\0\0\0\0x",
		    -EBADMSG),
		ROW("too long, at once", "\0\x20\0\x01", -EBADMSG),
		ROW("2 GiB", "\x7f\xff\xff\xff", -EBADMSG),
#undef ROW
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice in = slice_of(rows[i].bytes, rows[i].len);
		struct admin_request rq;

		is_int(admin_request_read(&in, &rq), rows[i].want,
		       "request: %s", rows[i].what);
		is_int(in.len, rows[i].want == 0 ? 0 : rows[i].len,
		       "request: %s: what is taken", rows[i].what);
	}
}

static void test_frames(void)
{
	static const struct {
		const char *what, *bytes;
		size_t len;
		int want;
	} rows[] = {
#define ROW(what, bytes, want) { what, bytes, sizeof(bytes) - 1, want }
		ROW("an end", "\0\0\0\x01\x02", 0),
		ROW("data", "\0\0\0\x03\x01xy", 0),
		ROW("data, cut", "\0\0\0\x03\x01x", -EAGAIN),
		ROW("no kind", "\0\0\0\0", -EBADMSG),
		ROW("kind 0", "\0\0\0\x01\x00", -EBADMSG),
		ROW("kind 4", "\0\0\0\x01\x04", -EBADMSG),
		ROW("too long", "\0\x04\0\x02\x01", -EBADMSG),
#undef ROW
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice in = slice_of(rows[i].bytes, rows[i].len);
		struct admin_frame f;

		is_int(admin_frame_read(&in, &f), rows[i].want, "frame: %s",
		       rows[i].what);
	}
}

static void test_round(void)
{
	struct admin_request rq;
	struct admin_frame f;
	struct slice in;
	struct buf b;

	buf_init(&b, ADMIN_REQUEST_MAX + 4);
	is_int(admin_request_put(&b, ADMIN_CHECK, slice_str("coder"),
				 slice_str("https://a.example/")),
	       0, "a request is written");
	is_int(admin_frame_put(&b, ADMIN_ERROR, slice_str("no")), 0,
	       "a frame is written");
	in = buf_slice(&b);
	is_int(admin_request_read(&in, &rq), 0, "the request is read");
	is_int(rq.verb, ADMIN_CHECK, "its verb");
	ok(slice_eq(rq.a, slice_str("coder")) &&
		   slice_eq(rq.b, slice_str("https://a.example/")),
	   "its words");
	is_int(admin_frame_read(&in, &f), 0, "the frame is read");
	ok(f.kind == ADMIN_ERROR && slice_eq(f.payload, slice_str("no")),
	   "as it was");
	is_int(in.len, 0, "nothing is left");
	buf_done(&b);
}

static void test_bounds(void)
{
	const size_t most = ADMIN_REQUEST_MAX - 9;
	SCOPED_MEM mem = calloc(1, ADMIN_REQUEST_MAX);
	struct admin_request rq;
	struct slice in;
	struct buf b;

	buf_init(&b, ADMIN_REQUEST_MAX + 4);
	is_int(admin_request_put(&b, ADMIN_BIND, slice_of(mem, most + 1),
				 slice_str("")),
	       -EMSGSIZE, "a request too long");
	is_int(admin_request_put(&b, ADMIN_BIND, slice_of(mem, most / 2 + 1),
				 slice_of(mem, most / 2 + 1)),
	       -EMSGSIZE, "two halves too long");
	is_int(admin_frame_put(&b, ADMIN_DATA,
			       slice_of(mem, ADMIN_FRAME_MAX + 1)),
	       -EMSGSIZE, "a frame too long");
	is_int(buf_len(&b), 0, "nothing of them is written");
	is_int(admin_request_put(&b, ADMIN_BIND, slice_of(mem, most),
				 slice_str("")),
	       0, "the longest request");
	is_int(admin_request_put(&b, ADMIN_PING, slice_str(""), slice_str("")),
	       -ENOBUFS, "a buffer without room");
	in = buf_slice(&b);
	is_int(admin_request_read(&in, &rq), 0, "is read");
	is_int(rq.a.len, most, "whole");
	buf_done(&b);
}

int main(void)
{
	test_requests();
	test_frames();
	test_round();
	test_bounds();
	return done_testing();
}
