/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_body_test.c - where bodies end, and what responses say of it
 */
#include "ottergate/inspect/http1.h"

#include <string.h>

#include "tests/unit/tap.h"

#define B(text) text, sizeof(text) - 1

struct chunks {
	const char *id;
	const char *raw;
	size_t len;
	int request, response; /* bytes of the body, or refused with */
};

static const struct chunks rows[] = {
	{ "one chunk", B("3\r\nabc\r\n0\r\n\r\n"), 13, 13 },
	{ "and the next request", B("0\r\n\r\nGET"), 5, 5 },
	{ "capital digits", B("A\r\n0123456789\r\n0\r\n\r\n"), 20, 20 },
	{ "leading zeros", B("003\r\nabc\r\n000\r\n\r\n"), 17, 17 },
	{ "H1 chunk size with 0x", B("0x3\r\nabc\r\n0\r\n\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H1 chunk size with a sign", B("+3\r\nabc\r\n0\r\n\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H1 chunk size negative", B("-1\r\n"), -EBADMSG, -EBADMSG },
	{ "H1 no chunk size", B("\r\nabc"), -EBADMSG, -EBADMSG },
	{ "H1 chunk size after a blank", B(" 3\r\nabc\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H1 chunk size before a blank", B("3 \r\nabc\r\n0\r\n\r\n"), -EBADMSG,
	  14 },
	{ "H1 chunk size with an underscore", B("1_0\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H1 chunk size of 17 digits", B("00000000000000001\r\na\r\n"),
	  -EBADMSG, -EBADMSG },
	{ "H1 chunk size that overflows", B("ffffffffffffffffff\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H1 bare LF after the size", B("3\nabc\r\n0\r\n\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H1 bare CR after the size", B("3\rabc\r\n0\r\n\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H1 longer than its size", B("3\r\nabcd\r\n0\r\n\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H1 bare LF after the data", B("3\r\nabc\n0\r\n\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H1 bare LF at the end", B("0\r\n\n"), -EBADMSG, -EBADMSG },
	{ "H1 chunk extension", B("3;a=b\r\nabc\r\n0\r\n\r\n"), -EBADMSG, 17 },
	{ "H1 bare LF in an extension", B("3;a\nabc\r\n0\r\n\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H1 bare CR in an extension", B("3;a\rb\r\nabc\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H1 NUL in an extension", B("3;\0\r\nabc\r\n"), -EBADMSG, -EBADMSG },
	{ "H1 quoted CRLF in an extension",
	  B("3;a=\"\r\nabc\r\n0\r\n\r\n\"\r\n"), -EBADMSG, 17 },
	{ "H16 trailer", B("0\r\nA: b\r\n\r\n"), -EBADMSG, 11 },
	{ "H16 trailer with a blank before the colon", B("0\r\nA : b\r\n\r\n"),
	  -EBADMSG, -EBADMSG },
	{ "H16 folded trailer", B("0\r\nA: b\r\n c\r\n\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H16 trailer with a bare LF", B("0\r\nA: b\n\r\n"), -EBADMSG,
	  -EBADMSG },
	{ "H16 trailer without a colon", B("0\r\nGET\r\n\r\n"), -EBADMSG,
	  -EBADMSG },
};

/* Fed by @step bytes: the bytes taken, or the failure. */
static int feed(bool request, struct slice raw, size_t step)
{
	struct http1_request rq = { .m.chunked = true };
	struct http1_response rs = { .m.chunked = true };
	struct http1_body b;
	size_t sum = 0;

	if (request)
		http1_body_of_request(&b, &rq);
	else
		http1_body_of_response(&b, &rs);
	while (sum < raw.len && !b.done) {
		size_t n = raw.len - sum < step ? raw.len - sum : step;
		ssize_t rc = http1_body_feed(&b, slice_of(raw.ptr + sum, n));

		if (rc < 0)
			return (int)rc;
		sum += (size_t)rc;
	}
	return b.done ? (int)sum : -EAGAIN;
}

static void test_chunks(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct chunks *row = &rows[i];
		struct slice raw = slice_of(row->raw, row->len);

		is_int(feed(true, raw, raw.len), row->request,
		       "%s, in a request", row->id);
		is_int(feed(true, raw, 1), row->request, "%s, by bytes",
		       row->id);
		is_int(feed(false, raw, raw.len), row->response,
		       "%s, in a response", row->id);
		is_int(feed(false, raw, 1), row->response, "%s, by bytes",
		       row->id);
	}
}

static void put(char *at, const char *s)
{
	while (*s)
		*at++ = *s++;
}

/* H16: what has no end is cut off. */
static void test_endless(void)
{
	static char text[2 * HTTP1_TRAILERS_MAX];

	memset(text, 'a', sizeof(text));
	put(text, "3;");
	is_int(feed(false, slice_of(text, sizeof(text)), 100), -EBADMSG,
	       "H16 endless extension");
	put(text, "0\r\na:");
	is_int(feed(false, slice_of(text, sizeof(text)), 100), -EBADMSG,
	       "H16 endless trailer");
}

static void test_length(void)
{
	struct http1_request rq = { .m.has_length = true, .m.length = 5 };
	struct http1_response rs = { .until_close = true };
	struct http1_body b;

	http1_body_of_request(&b, &rq);
	is_int(http1_body_feed(&b, slice_str("abc")), 3, "a part of it");
	ok(!b.done, "not its end");
	is_int(http1_body_feed(&b, slice_str("deGET")), 2, "the rest of it");
	ok(b.done, "its end");
	rq.m.length = 0;
	http1_body_of_request(&b, &rq);
	ok(b.done, "no bytes");
	http1_body_of_response(&b, &rs);
	is_int(http1_body_feed(&b, slice_str("abc")), 3, "all until the end");
	ok(!b.done, "which is not here");
}

#define OK "HTTP/1.1 200 OK\r\n"
struct answer {
	const char *id;
	const char *raw;
	bool head; /* it answers a HEAD */
	int want;
	const char *out;
};

static const struct answer answers[] = {
	{ "with a length", OK "Content-Length: 3\r\nA: b\r\n\r\n", false, 0,
	  OK "A: b\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n" },
	{ "with chunks", OK "Transfer-Encoding: chunked\r\n\r\n", false, 0,
	  OK "Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n" },
	{ "until the end", OK "\r\n", false, 0,
	  OK "Connection: close\r\n\r\n" },
	{ "of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false,
	  0, OK "Content-Length: 0\r\nConnection: close\r\n\r\n" },
	{ "without a reason", "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n",
	  false, 0,
	  "HTTP/1.1 404 \r\nContent-Length: 0\r\n"
	  "Connection: keep-alive\r\n\r\n" },
	{ "to HEAD", OK "Content-Length: 3\r\n\r\n", true, 0,
	  OK "Content-Length: 3\r\nConnection: keep-alive\r\n\r\n" },
	{ "H16 204 with a length",
	  "HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\n", false, 0,
	  "HTTP/1.1 204 No\r\nConnection: keep-alive\r\n\r\n" },
	{ "hop by hop",
	  OK "Content-Length: 0\r\nConnection: x, close\r\nX: 1\r\n"
	     "Keep-Alive: 5\r\nUpgrade: h2c\r\nProxy-Authenticate: a\r\n\r\n",
	  false, 0, OK "Content-Length: 0\r\nConnection: close\r\n\r\n" },
	{ "H16 CL and TE",
	  OK "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", false,
	  -EBADMSG, NULL },
	{ "H16 CL twice", OK "Content-Length: 3\r\nContent-Length: 3\r\n\r\n",
	  false, -EBADMSG, NULL },
	{ "H16 TE unknown", OK "Transfer-Encoding: gzip\r\n\r\n", false,
	  -EBADMSG, NULL },
	{ "H16 TE of HTTP/1.0",
	  "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false,
	  -EBADMSG, NULL },
	{ "H16 bare LF", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", false,
	  -EBADMSG, NULL },
	{ "H16 folded", OK "A: b\r\n c\r\n\r\n", false, -EBADMSG, NULL },
	{ "H16 status of two digits", "HTTP/1.1 20 OK\r\n\r\n", false, -EBADMSG,
	  NULL },
	{ "H16 status 600", "HTTP/1.1 600 OK\r\n\r\n", false, -EBADMSG, NULL },
	{ "H16 no version", "200 OK\r\n\r\n", false, -EBADMSG, NULL },
	{ "H16 HTTP/2", "HTTP/2 200 OK\r\n\r\n", false, -EBADMSG, NULL },
};

static void test_answers(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		const struct answer *a = &answers[i];
		struct http1_response rs;
		struct buf out;
		int rc = http1_response_read(slice_str(a->raw), a->head, &rs);

		is_int(rc < 0, a->want < 0, "%s: result", a->id);
		if (rc < 0 || !a->out)
			continue;
		buf_init(&out, 4096);
		rc = http1_response_write(
			&rs, rs.m.keep_alive ? "keep-alive" : "close", &out);
		if (rc >= 0 && buf_append(&out, "", 1) == 0)
			is_str((const char *)buf_slice(&out).ptr, a->out,
			       "%s: head", a->id);
		buf_done(&out);
	}
}

static void test_bodiless(void)
{
	static const struct {
		const char *raw;
		bool head, none;
	} cases[] = {
		{ "HTTP/1.1 100 C\r\n\r\n", false, true },
		{ "HTTP/1.1 204 N\r\n\r\n", false, true },
		{ "HTTP/1.1 304 N\r\nContent-Length: 9\r\n\r\n", false, true },
		{ OK "Transfer-Encoding: chunked\r\n\r\n", true, true },
		{ OK "Content-Length: 9\r\n\r\n", false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http1_response rs;
		struct http1_body b;
		int rc = http1_response_read(slice_str(cases[i].raw),
					     cases[i].head, &rs);

		http1_body_of_response(&b, &rs);
		ok(rc == 0 && b.done == cases[i].none, "%.12s has %s body",
		   cases[i].raw, cases[i].none ? "no" : "a");
	}
}

int main(void)
{
	test_chunks();
	test_endless();
	test_length();
	test_answers();
	test_bodiless();
	return done_testing();
}
