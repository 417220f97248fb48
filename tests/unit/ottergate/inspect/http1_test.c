/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_test.c - the smuggling corpus (H1-H3), by rows of the catalogue
 *
 * A request is refused, or the head that the upstream would get is compared
 * byte by byte: nothing in between.
 */
#include "ottergate/inspect/http1.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"

#define B(text) text, sizeof(text) - 1
#define GET "GET / HTTP/1.1\r\n"
#define HOST "Host: a.test\r\n"
#define POST "POST /p HTTP/1.1\r\nHost: a.test\r\n"
#define KEEP "Connection: keep-alive\r\n\r\n"
#define CLOSE "Connection: close\r\n\r\n"

struct row {
	const char *id;
	const char *raw;
	size_t len;
	int want; /* refused with */
	const char *out; /* or rewritten as */
};

static const struct row rows[] = {
	/* H1: framing that two readers may see differently */
	{ "H1 CL and TE",
	  B(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 TE and CL",
	  B(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 TE.TE",
	  B(POST "Transfer-Encoding: chunked\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 TE.TE, one unknown",
	  B(POST "Transfer-Encoding: chunked\r\n"
		 "Transfer-Encoding: cow\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 TE.TE, unknown first",
	  B(POST "Transfer-Encoding: cow\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 TE chunked, identity",
	  B(POST "Transfer-Encoding: chunked, identity\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 TE identity", B(POST "Transfer-Encoding: identity\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 TE identity, chunked",
	  B(POST "Transfer-Encoding: identity, chunked\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 TE gzip, chunked",
	  B(POST "Transfer-Encoding: gzip, chunked\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 TE chunked twice in one",
	  B(POST "Transfer-Encoding: chunked, chunked\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 TE xchunked", B(POST "Transfer-Encoding: xchunked\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 TE chunkedx", B(POST "Transfer-Encoding: chunkedx\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 TE quoted", B(POST "Transfer-Encoding: \"chunked\"\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 TE with a parameter",
	  B(POST "Transfer-Encoding: chunked;q=1\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 TE empty", B(POST "Transfer-Encoding: \r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 TE with a comma behind",
	  B(POST "Transfer-Encoding: chunked,\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 TE with a comma before",
	  B(POST "Transfer-Encoding: ,chunked\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 TE after a vertical tab",
	  B(POST "Transfer-Encoding: \vchunked\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 TE folded", B(POST "Transfer-Encoding:\r\n chunked\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 TE before a blank and the colon",
	  B(POST "Transfer-Encoding : chunked\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 TE of HTTP/1.0",
	  B("POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 TE in capitals", B(POST "TRANSFER-ENCODING: CHUNKED\r\n\r\n"), 0,
	  POST "Transfer-Encoding: chunked\r\n" KEEP },
	{ "H1 TE between blanks",
	  B(POST "Transfer-Encoding: \t chunked \t\r\n\r\n"), 0,
	  POST "Transfer-Encoding: chunked\r\n" KEEP },
	{ "H1 CL twice, different",
	  B(POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 CL twice, same",
	  B(POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 CL list", B(POST "Content-Length: 5, 5\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 CL with a plus", B(POST "Content-Length: +5\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 CL negative", B(POST "Content-Length: -5\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 CL hexadecimal", B(POST "Content-Length: 0x5\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 CL with a point", B(POST "Content-Length: 5.0\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 CL with an exponent", B(POST "Content-Length: 1e3\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 CL with a blank inside", B(POST "Content-Length: 1 0\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 CL empty", B(POST "Content-Length: \r\n\r\n"), -EBADMSG, NULL },
	{ "H1 CL of 2^64",
	  B(POST "Content-Length: 18446744073709551616\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 CL of 2^63",
	  B(POST "Content-Length: 9223372036854775808\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 CL with an underscore", B(POST "Content_Length: 5\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 CL with both",
	  B(POST "Content-Length: 5\r\n"
		 "CONTENT_LENGTH: 6\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 TE with an underscore",
	  B(POST "Transfer_Encoding: chunked\r\n\r\n"), -EBADMSG, NULL },
	{ "an underscore that shadows nothing", B(GET HOST "x_a: 1\r\n\r\n"), 0,
	  GET HOST "x_a: 1\r\n" KEEP },
	{ "H1 CL before a blank and the colon",
	  B(POST "Content-Length : 5\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 CL with leading zeros", B(POST "Content-Length: 005\r\n\r\n"), 0,
	  POST "Content-Length: 5\r\n" KEEP },
	{ "H1 CL between blanks", B(POST "Content-Length:\t 5 \r\n\r\n"), 0,
	  POST "Content-Length: 5\r\n" KEEP },
	{ "H1 CL of a GET", B(GET HOST "Content-Length: 3\r\n\r\nabc"), 0,
	  GET HOST "Content-Length: 3\r\n" KEEP },
	/* H1: lines */
	{ "H1 obs-fold", B(GET HOST "X: a\r\n b\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 obs-fold with a tab", B(GET HOST "X: a\r\n\tb\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 fold of the first field", B(GET " X: a\r\n" HOST "\r\n"),
	  -EBADMSG, NULL },
	{ "H1 bare LF after a field", B(GET HOST "X: a\nY: b\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 bare LF after the request line",
	  B("GET / HTTP/1.1\n" HOST "\r\n"), -EBADMSG, NULL },
	{ "H1 bare LF at the end", B(GET HOST "X: a\r\n\n"), -EBADMSG, NULL },
	{ "H1 LF LF", B("GET / HTTP/1.1\nHost: a.test\n\n"), -EBADMSG, NULL },
	{ "H1 bare CR in a value", B(GET HOST "X: a\rb\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 bare CR as a line end", B(GET HOST "X: a\rY: b\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 CR CR LF", B(GET HOST "X: a\r\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 bare CR in a name", B(GET HOST "X\rY: a\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 CRLF before the request", B("\r\n" GET HOST "\r\n"), -EBADMSG,
	  NULL },
	{ "H1 blank before the request", B(" " GET HOST "\r\n"), -EBADMSG,
	  NULL },
	{ "H1 NUL in a value", B(GET HOST "X: a\0b\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 NUL in a name", B(GET HOST "X\0: a\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 NUL in the target", B("GET /\0 HTTP/1.1\r\n" HOST "\r\n"),
	  -EBADMSG, NULL },
	{ "H1 DEL in a value", B(GET HOST "X: a\x7f\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 8-bit in a name", B(GET HOST "X\xe9: a\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 8-bit in the target", B("GET /\xe9 HTTP/1.1\r\n" HOST "\r\n"),
	  -EBADMSG, NULL },
	{ "H1 8-bit in a value is only text", B(GET HOST "X: caf\xe9\r\n\r\n"),
	  0, GET HOST "X: caf\xe9\r\n" KEEP },
	{ "H1 no colon", B(GET HOST "X\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 empty name", B(GET HOST ": a\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 blank in a name", B(GET HOST "X Y: a\r\n\r\n"), -EBADMSG, NULL },
	{ "H1 tab before the colon", B(GET HOST "X\t: a\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 brackets in a name", B(GET HOST "X[]: a\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 empty value", B(GET HOST "X:\r\n\r\n"), 0,
	  GET HOST "X: \r\n" KEEP },
	/* H1: the request line */
	{ "H1 two blanks before the target",
	  B("GET  / HTTP/1.1\r\n" HOST "\r\n"), -EBADMSG, NULL },
	{ "H1 two blanks after the target",
	  B("GET /  HTTP/1.1\r\n" HOST "\r\n"), -EBADMSG, NULL },
	{ "H1 tab in the request line", B("GET\t/ HTTP/1.1\r\n" HOST "\r\n"),
	  -EOPNOTSUPP, NULL },
	{ "H1 blank after the version", B("GET / HTTP/1.1 \r\n" HOST "\r\n"),
	  -EOPNOTSUPP, NULL },
	{ "H1 HTTP/0.9", B("GET /\r\n\r\n"), -EOPNOTSUPP, NULL },
	{ "H1 HTTP/0.9 by name", B("GET / HTTP/0.9\r\n" HOST "\r\n"),
	  -EOPNOTSUPP, NULL },
	{ "H1 HTTP/1.2", B("GET / HTTP/1.2\r\n" HOST "\r\n"), -EOPNOTSUPP,
	  NULL },
	{ "H1 HTTP/2.0", B("GET / HTTP/2.0\r\n" HOST "\r\n"), -EOPNOTSUPP,
	  NULL },
	{ "H1 version in small letters", B("GET / http/1.1\r\n" HOST "\r\n"),
	  -EBADMSG, NULL },
	{ "H1 preface of HTTP/2", B("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H1 method in small letters", B("get / HTTP/1.1\r\n" HOST "\r\n"),
	  -EOPNOTSUPP, NULL },
	{ "H1 unknown method", B("EVIL / HTTP/1.1\r\n" HOST "\r\n"),
	  -EOPNOTSUPP, NULL },
	{ "H1 fragment in the target", B("GET /a#b HTTP/1.1\r\n" HOST "\r\n"),
	  -EBADMSG, NULL },
	{ "H1 target without a slash", B("GET a HTTP/1.1\r\n" HOST "\r\n"),
	  -EBADMSG, NULL },
	{ "H1 asterisk of a GET", B("GET * HTTP/1.1\r\n" HOST "\r\n"), -EBADMSG,
	  NULL },
	{ "H1 asterisk of OPTIONS", B("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), 0,
	  "OPTIONS * HTTP/1.1\r\n" HOST KEEP },
	{ "H1 Expect of something else",
	  B(POST "Expect: 200-ok\r\nContent-Length: 1\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H1 Expect is passed on",
	  B(POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\n"), 0,
	  POST "Expect: 100-continue\r\nContent-Length: 1\r\n" KEEP },
	/* H2: target and Host */
	{ "H2 absolute target, other Host",
	  B("GET http://b.test/ HTTP/1.1\r\n" HOST "\r\n"), -EPROTO, NULL },
	{ "H2 absolute target, other port",
	  B("GET http://a.test:81/ HTTP/1.1\r\n" HOST "\r\n"), -EPROTO, NULL },
	{ "H2 absolute target, Host with the other port",
	  B("GET http://a.test/ HTTP/1.1\r\nHost: a.test:81\r\n\r\n"), -EPROTO,
	  NULL },
	{ "H2 absolute target, an address as Host",
	  B("GET http://a.test/ HTTP/1.1\r\nHost: 198.51.100.1\r\n\r\n"),
	  -EPROTO, NULL },
	{ "H2 absolute target without Host",
	  B("GET http://a.test/ HTTP/1.1\r\n\r\n"), -EBADMSG, NULL },
	{ "H2 absolute target with userinfo",
	  B("GET http://x@a.test/ HTTP/1.1\r\n" HOST "\r\n"), -EBADMSG, NULL },
	{ "H2 absolute target without authority",
	  B("GET http:/// HTTP/1.1\r\n" HOST "\r\n"), -EBADMSG, NULL },
	{ "H2 absolute target, backslash",
	  B("GET http://a.test\\@b.test/ HTTP/1.1\r\n" HOST "\r\n"), -EBADMSG,
	  NULL },
	{ "H2 absolute target, query without a slash",
	  B("GET http://a.test?x HTTP/1.1\r\n" HOST "\r\n"), -EBADMSG, NULL },
	{ "H2 absolute target, same Host in capitals",
	  B("GET http://A.TEST:80/x?y HTTP/1.1\r\nHost: a.Test.\r\n\r\n"), 0,
	  "GET /x?y HTTP/1.1\r\n" HOST KEEP },
	{ "H2 absolute target, no path",
	  B("GET http://a.test HTTP/1.1\r\n" HOST "\r\n"), 0, GET HOST KEEP },
	{ "H2 OPTIONS of a whole server",
	  B("OPTIONS http://a.test HTTP/1.1\r\n" HOST "\r\n"), 0,
	  "OPTIONS * HTTP/1.1\r\n" HOST KEEP },
	/* H3: Host */
	{ "H3 no Host", B(GET "\r\n"), -EBADMSG, NULL },
	{ "H3 no Host in HTTP/1.0", B("GET / HTTP/1.0\r\n\r\n"), -ENOENT,
	  NULL },
	{ "H3 empty Host", B(GET "Host:\r\n\r\n"), -EBADMSG, NULL },
	{ "H3 Host twice", B(GET HOST "Host: b.test\r\n\r\n"), -EBADMSG, NULL },
	{ "H3 Host twice, same", B(GET HOST HOST "\r\n"), -EBADMSG, NULL },
	{ "H3 Host twice, one empty", B(GET HOST "Host:\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H3 Host list", B(GET "Host: a.test, b.test\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H3 Host with userinfo", B(GET "Host: a.test@b.test\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H3 Host with a path", B(GET "Host: a.test/b\r\n\r\n"), -EBADMSG,
	  NULL },
	{ "H3 Host with a scheme", B(GET "Host: http://a.test\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H3 Host with a blank", B(GET "Host: a.test b.test\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H3 Host with an empty port", B(GET "Host: a.test:\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H3 Host with a port too high", B(GET "Host: a.test:65536\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H3 Host with a port and a name",
	  B(GET "Host: a.test:80:b.test\r\n\r\n"), -EBADMSG, NULL },
	{ "H3 Host with a percent sign", B(GET "Host: a%2etest\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "H3 Host before a blank and the colon",
	  B(GET "Host : a.test\r\n\r\n"), -EBADMSG, NULL },
	{ "H3 Host with a port", B(GET "Host: A.test:80\r\n\r\n"), 0,
	  GET HOST KEEP },
	/* H5: forms of CONNECT */
	{ "H5 CONNECT without a port",
	  B("CONNECT a.test HTTP/1.1\r\n" HOST "\r\n"), -EBADMSG, NULL },
	{ "H5 CONNECT by absolute form",
	  B("CONNECT http://a.test:443/ HTTP/1.1\r\n" HOST "\r\n"), -EBADMSG,
	  NULL },
	{ "H5 CONNECT with a path",
	  B("CONNECT a.test:443/ HTTP/1.1\r\n" HOST "\r\n"), -EBADMSG, NULL },
	{ "H5 CONNECT with userinfo",
	  B("CONNECT x@a.test:443 HTTP/1.1\r\n" HOST "\r\n"), -EBADMSG, NULL },
	{ "H5 CONNECT, other Host",
	  B("CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n"), -EPROTO,
	  NULL },
	{ "H5 CONNECT, Host with another port",
	  B("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:80\r\n\r\n"), -EPROTO,
	  NULL },
	{ "H5 CONNECT with a body",
	  B("CONNECT a.test:443 HTTP/1.1\r\n" HOST
	    "Content-Length: 3\r\n\r\nabc"),
	  -EBADMSG, NULL },
	{ "H5 CONNECT with chunks",
	  B("CONNECT a.test:443 HTTP/1.1\r\n" HOST
	    "Transfer-Encoding: chunked\r\n\r\n"),
	  -EBADMSG, NULL },
	/* Hop by hop, H6 and H15: never for the upstream */
	{ "H6 Upgrade is left out",
	  B(GET HOST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
		     "HTTP2-Settings: AAMAAABk\r\nA: b\r\n\r\n"),
	  0, GET HOST "A: b\r\n" KEEP },
	{ "H15 hop by hop",
	  B(GET HOST "Connection: X-One, close,, x-two\r\nX-One: 1\r\n"
		     "X-Two: 2\r\nKeep-Alive: 5\r\nTE: trailers\r\n"
		     "Trailer: X\r\nX-Three: 3\r\n\r\n"),
	  0, GET HOST "X-Three: 3\r\n" CLOSE },
	{ "H15 who it says it is",
	  B(GET HOST "Proxy-Authorization: Basic eDp5\r\nForwarded: for=x\r\n"
		     "Proxy-Connection: close\r\nX-Forwarded-For: x\r\n"
		     "X-Forwarded-Host: b.test\r\nAuthorization: t\r\n\r\n"),
	  0, GET HOST "Authorization: t\r\n" KEEP },
	{ "H15 Connection names what frames",
	  B(POST "Connection: Content-Length, Host\r\n"
		 "Content-Length: 2\r\n\r\n"),
	  0, POST "Content-Length: 2\r\n" KEEP },
	{ "H15 Connection of no tokens", B(GET HOST "Connection: a b\r\n\r\n"),
	  -EBADMSG, NULL },
	{ "HTTP/1.0 stays HTTP/1.0 and ends",
	  B("GET / HTTP/1.0\r\n" HOST
	    "Connection: keep-alive\r\nExpect: 100-continue\r\n\r\n"),
	  0, "GET / HTTP/1.0\r\n" HOST CLOSE },
};

/* As conn/plain_http.c does it. */
static int rewrite(struct slice raw, struct buf *out)
{
	struct http1_request rq;
	struct name name;
	struct addr addr;
	uint16_t port = 0;
	int rc = http1_request_read(raw, &rq);

	if (rc < 0)
		return rc;
	rc = http1_request_authority(&rq, rq.form == HTTP1_AUTHORITY ? 0 : 80,
				     &name, &addr, &port);
	if (rc < 0)
		return rc;
	return http1_request_write(
		&rq, name.s, rq.m.keep_alive ? "keep-alive" : "close", out);
}

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct buf out;

		buf_init(&out, 4096);
		is_int(rewrite(slice_of(row->raw, row->len), &out), row->want,
		       "%s: result", row->id);
		if (row->out && buf_append(&out, "", 1) == 0)
			is_str((const char *)buf_slice(&out).ptr, row->out,
			       "%s: head", row->id);
		buf_done(&out);
	}
}

/* A head is never judged before its end is there, and each byte once. */
static void test_pieces(void)
{
	static const char head[] = POST "Content-Length: 5\r\n\r\n";
	struct http1_request rq;
	size_t pos = 0, len = sizeof(head) - 1;
	bool early = false;

	for (size_t n = 0; n < len; n++) {
		struct slice part = slice_of(head, n);

		early |= http1_request_read(part, &rq) != -EAGAIN;
		early |= http1_head_end(part, &pos) != -EAGAIN || pos != n;
	}
	ok(!early, "no part of a head is taken for the whole");
	is_int(http1_head_end(slice_of(head, len), &pos), len, "its end");
}

/* Each byte at each place of a line, read eight at a time and one at a time:
 * what many take for a line's end must not hide among others. */
static void test_bytes(void)
{
	char head[] = "GET / HTTP/1.1\r\nX: 0123456789abcdef0123456789\r\n\r\n";
	size_t len = sizeof(head) - 1, differ = 0;

	for (size_t at = 0; at < len; at++) {
		char was = head[at];

		for (unsigned b = 0; b < 256; b++) {
			size_t whole = 0, pos = 0;
			ssize_t want = -EAGAIN;

			head[at] = (char)b;
			for (size_t n = 1; n <= len && want == -EAGAIN; n++)
				want = http1_head_end(slice_of(head, n), &pos);
			differ += http1_head_end(slice_of(head, len), &whole) !=
				  want;
		}
		head[at] = was;
	}
	is_int(differ, 0, "a head is read alike in pieces and whole");
}

static char *many_fields(size_t n, size_t pad, size_t *ret_len)
{
	size_t size = 64 + n * (pad + 8);
	char *s = malloc(size);
	size_t len;

	if (!s)
		abort();
	len = (size_t)snprintf(s, size, GET HOST);
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(s + len, size - len, "X: %0*d\r\n",
					(int)pad, 0);
	len += (size_t)snprintf(s + len, size - len, "\r\n");
	*ret_len = len;
	return s;
}

static void test_bounds(void)
{
	static const struct {
		const char *what;
		size_t n, pad;
		int want;
	} cases[] = {
		{ "as many fields as may be", HTTP1_HEADERS_MAX - 1, 1, 0 },
		{ "one more", HTTP1_HEADERS_MAX, 1, -E2BIG },
		{ "a long head", 100, 300, 0 },
		{ "too long a head", 100, 400, -E2BIG },
	};
	char target[HTTP1_TARGET_MAX + 64];
	struct http1_request rq;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = 0;
		SCOPED_STR s = many_fields(cases[i].n, cases[i].pad, &len);

		is_int(http1_request_read(slice_of(s, len), &rq), cases[i].want,
		       "%s", cases[i].what);
	}
	snprintf(target, sizeof(target), "GET /%0*d HTTP/1.1\r\n" HOST "\r\n",
		 (int)HTTP1_TARGET_MAX, 0);
	is_int(http1_request_read(slice_str(target), &rq), -ENAMETOOLONG,
	       "too long a target");
}

static void test_websocket(void)
{
	static const struct {
		const char *what, *raw;
		bool want;
	} cases[] = {
		{ "a WebSocket",
		  GET HOST "Connection: keep-alive, Upgrade\r\n"
			   "Upgrade: WebSocket\r\n\r\n",
		  true },
		{ "not named by Connection",
		  GET HOST "Upgrade: websocket\r\n\r\n", false },
		{ "h2c", GET HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
		  false },
		{ "a choice",
		  GET HOST
		  "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n",
		  false },
		{ "two of them",
		  GET HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"
			   "Upgrade: websocket\r\n\r\n",
		  false },
		{ "with a body",
		  GET HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"
			   "Content-Length: 3\r\n\r\n",
		  false },
		{ "by POST",
		  POST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		  false },
	};
	struct http1_request rq;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!ok(http1_request_read(slice_str(cases[i].raw), &rq) == 0,
			"H6 %s is read", cases[i].what))
			continue;
		ok(http1_request_websocket(&rq) == cases[i].want,
		   "H6 %s is %sa WebSocket", cases[i].what,
		   cases[i].want ? "" : "not ");
	}
}

int main(void)
{
	test_rows();
	test_pieces();
	test_bytes();
	test_bounds();
	test_websocket();
	return done_testing();
}
