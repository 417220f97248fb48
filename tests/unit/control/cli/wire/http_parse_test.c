/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_parse_test.c - answers of HTTP, good and hostile, in any pieces
 */
#include "control/cli/wire/http_parse.h"

#include <errno.h>
#include <string.h>

#include "lib/buf.h"
#include "tests/unit/tap.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

static const struct {
	const char *text;
	int want, status;
	bool link, close;
} heads[] = {
	{ "HTTP/1.1 101 X\r\nUpgrade: ac-link/1\r\n\r\nframes", 0, 101, true,
	  false },
	{ "HTTP/1.1 101 X\r\nupgrade:\tAC-LINK/1 \r\n\r\n", 0, 101, true,
	  false },
	{ "HTTP/1.1 101\r\nUpgrade: websocket\r\n\r\n", 0, 101, false, false },
	{ "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello", 0, 404,
	  false, false },
	{ OK "Connection: close\r\n\r\n", 0, 200, false, true },
	{ OK "connection: x , CLOSE\r\n\r\n", 0, 200, false, true },
	{ OK "Connection: keep-alive, disclose\r\n\r\n", 0, 200, false, false },
	{ "", -EAGAIN, 0, false, false },
	{ OK, -EAGAIN, 0, false, false },
	{ OK "A: b\r\n", -EAGAIN, 0, false, false },
	{ "HTTP/1.1 200 OK\n\n", -EBADMSG, 0, false, false },
	{ "HTTP/1.0 200 OK\r\n\r\n", -EBADMSG, 0, false, false },
	{ "HTTP/1.1 20 OK\r\n\r\n", -EBADMSG, 0, false, false },
	{ "HTTP/1.1 2000 OK\r\n\r\n", -EBADMSG, 0, false, false },
	{ "HTTP/1.1 999 OK\r\n\r\n", -EBADMSG, 0, false, false },
	{ "HTTP/1.1 +99 OK\r\n\r\n", -EBADMSG, 0, false, false },
	{ "HTTP/1.1 099 OK\r\n\r\n", -EBADMSG, 0, false, false },
	{ "HTTP/1.1 200 O\001K\r\n\r\n", -EBADMSG, 0, false, false },
	{ OK "no colon\r\n\r\n", -EBADMSG, 0, false, false },
	{ OK ": x\r\n\r\n", -EBADMSG, 0, false, false },
	{ OK "A : x\r\n\r\n", -EBADMSG, 0, false, false },
	{ OK "A: x\r\n folded: y\r\n\r\n", -EBADMSG, 0, false, false },
	{ OK "A: x\ry\r\n\r\n", -EBADMSG, 0, false, false },
	{ OK "Content-Length: -1\r\n\r\n", -EBADMSG, 0, false, false },
	{ OK "Content-Length: 0x1\r\n\r\n", -EBADMSG, 0, false, false },
	{ OK "Content-Length:\r\n\r\n", -EBADMSG, 0, false, false },
	{ OK "Content-Length: 9999999999999999\r\n\r\n", -EBADMSG, 0, false,
	  false },
	{ OK "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", -EBADMSG, 0,
	  false, false },
	{ OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
	  -EBADMSG, 0, false, false },
	{ OK "Transfer-Encoding: gzip, chunked\r\n\r\n", -EBADMSG, 0, false,
	  false },
	{ OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
	  -EBADMSG, 0, false, false },
	{ "garbage\r\n\r\n", -EBADMSG, 0, false, false },
};

static void test_heads(void)
{
	static uint8_t long_head[HTTP_HEAD_MAX + 100];
	struct http_head head;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(heads); i++) {
		struct slice s = slice_str(heads[i].text);
		const char *end = strstr(heads[i].text, "\r\n\r\n");

		is_int(http_head_parse(s, &head), heads[i].want, "head %zu", i);
		if (heads[i].want < 0)
			continue;
		ok(head.status == heads[i].status &&
			   head.link == heads[i].link &&
			   head.close == heads[i].close &&
			   heads[i].text + head.size == end + 4,
		   "head %zu: what it says", i);
	}
	memset(long_head, 'a', sizeof(long_head));
	memcpy(long_head, OK, sizeof(OK) - 1);
	is_int(http_head_parse(slice_of(long_head, sizeof(long_head)), &head),
	       -EBADMSG, "a head without end");
	is_int(http_head_parse(slice_of(long_head, HTTP_HEAD_MAX - 1), &head),
	       -EAGAIN, "one byte less may still end");
}

/* @want: 1 the body ended, -EAGAIN it has not, -EBADMSG. */
static const struct {
	const char *text;
	int want;
	const char *body, *rest;
} bodies[] = {
	{ OK "Content-Length: 5\r\n\r\nhello", 1, "hello", "" },
	{ OK "Content-Length: 5\r\n\r\nhelloHTTP", 1, "hello", "HTTP" },
	{ OK "Content-Length: 5\r\n\r\nhell", -EAGAIN, "hell", "" },
	{ OK "Content-Length: 0\r\n\r\nx", 1, "", "x" },
	{ OK "\r\nto the end", -EAGAIN, "to the end", "" },
	{ "HTTP/1.1 204 No\r\n\r\nx", 1, "", "x" },
	{ "HTTP/1.1 204 No\r\nContent-Length: 9\r\n\r\nx", 1, "", "x" },
	{ "HTTP/1.1 304 Not\r\n\r\nx", 1, "", "x" },
	{ CHUNKED "5\r\nhello\r\n0\r\n\r\nx", 1, "hello", "x" },
	{ CHUNKED "3\r\nhel\r\n02\r\nlo\r\n000\r\n\r\n", 1, "hello", "" },
	{ CHUNKED "A;x=\"y\"\r\n0123456789\r\n0 \r\nT: v\r\nU: w\r\n\r\n", 1,
	  "0123456789", "" },
	{ CHUNKED "000000000000001\r\nx\r\n0\r\n\r\n", 1, "x", "" },
	{ CHUNKED "0000000000000001\r\nx\r\n0\r\n\r\n", -EBADMSG, "", NULL },
	{ CHUNKED "5\r\nhello\r\n0\r\n", -EAGAIN, "hello", "" },
	{ CHUNKED "5\r\nhel", -EAGAIN, "hel", "" },
	{ CHUNKED "ffffffffffffffff\r\n", -EBADMSG, "", NULL },
	{ CHUNKED "fffffffffffffff\r\nx", -EAGAIN, "x", "" },
	{ CHUNKED "\r\nhello", -EBADMSG, "", NULL },
	{ CHUNKED "-5\r\nhello", -EBADMSG, "", NULL },
	{ CHUNKED "0x5\r\nhello", -EBADMSG, "", NULL },
	{ CHUNKED " 5\r\nhello", -EBADMSG, "", NULL },
	{ CHUNKED "5\nhello", -EBADMSG, "", NULL },
	{ CHUNKED "5\rhello", -EBADMSG, "", NULL },
	{ CHUNKED "5;\nhello", -EBADMSG, "", NULL },
	{ CHUNKED "2\r\nhello\r\n", -EBADMSG, "he", NULL },
	{ CHUNKED "2\r\nhe\n0\r\n\r\n", -EBADMSG, "he", NULL },
	{ CHUNKED "2\r\nhe\r0\r\n\r\n", -EBADMSG, "he", NULL },
	{ CHUNKED "0\r\n\n", -EBADMSG, "", NULL },
	{ CHUNKED "0\r\nT: v\n\r\n", -EBADMSG, "", NULL },
	{ CHUNKED "0\r\nT: v\r\r\n", -EBADMSG, "", NULL },
	{ CHUNKED "0\r\n\rx", -EBADMSG, "", NULL },
};

/* Feeds @text whose first piece has @first bytes, the others @step. */
static int parse_pieces(const char *text, size_t first, size_t step,
			struct buf *out, size_t *ret_rest)
{
	struct slice all = slice_str(text), piece;
	struct http_head head;
	struct http_body body;
	int rc = http_head_parse(all, &head);
	size_t at = head.size;

	if (rc < 0)
		return rc;
	http_body_init(&body, &head);
	for (rc = -EAGAIN; rc == -EAGAIN && at < all.len; first = step) {
		size_t n = first < all.len - at ? first : all.len - at;
		struct slice in = slice_of(all.ptr + at, n);

		while ((rc = http_body_next(&body, &in, &piece)) == 0)
			if (buf_append(out, piece.ptr, piece.len) < 0)
				return -ENOMEM;
		at += n - in.len;
	}
	*ret_rest = at;
	return rc;
}

/* Whether row @i reads the same with its first piece cut at @first. */
static bool reads_as_row(size_t i, size_t first, size_t step)
{
	struct slice want = slice_str(bodies[i].body);
	struct buf out;
	size_t at = 0;
	bool good;
	int rc;

	buf_init(&out, 65536);
	rc = parse_pieces(bodies[i].text, first, step, &out, &at);
	good = rc == bodies[i].want && slice_eq(buf_slice(&out), want) &&
	       (!bodies[i].rest ||
		strcmp(bodies[i].text + at, bodies[i].rest) == 0);
	buf_done(&out);
	return good;
}

static void test_bodies(void)
{
	size_t i, cut;

	for (i = 0; i < ARRAY_SIZE(bodies); i++) {
		size_t len = strlen(bodies[i].text);
		bool good = true;

		ok(reads_as_row(i, len, len), "body %zu", i);
		for (cut = 1; cut < len; cut++)
			good &= reads_as_row(i, cut, len);
		ok(good, "body %zu cut at any byte", i);
		ok(reads_as_row(i, 1, 1), "body %zu byte by byte", i);
	}
}

/* Neither extensions nor trailers may go on for ever. */
static void test_framing_limit(const char *begin, const char *what)
{
	struct http_head head = { .status = 200, .chunked = true };
	struct http_body body;
	struct slice in = slice_str(begin), piece;
	size_t taken = 0;
	int rc;

	http_body_init(&body, &head);
	rc = http_body_next(&body, &in, &piece);
	while (rc == -EAGAIN && taken < 10u * HTTP_HEAD_MAX) {
		in = slice_str("xxxxxxxx");
		rc = http_body_next(&body, &in, &piece);
		taken += 8;
	}
	is_int(rc, -EBADMSG, "%s without end", what);
}

int main(void)
{
	test_heads();
	test_bodies();
	test_framing_limit("0\r\nT", "trailers");
	test_framing_limit("5;", "an extension");
	return done_testing();
}
