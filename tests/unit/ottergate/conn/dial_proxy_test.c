/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial_proxy_test.c - what is said to an upstream proxy, and what it
 * may answer
 */
#include "ottergate/conn/dial_proxy.h"

#include "tests/unit/tap.h"

#define BYTES(s) .ptr = (s), .len = sizeof(s) - 1

struct answer_case {
	const char *what;
	const char *ptr;
	size_t len;
	int want;
	unsigned status;
	size_t rest; /* bytes behind the head */
};

static const struct answer_case answer_cases[] = {
	{ "nothing", BYTES(""), -EAGAIN, 0, 0 },
	{ "200", BYTES("HTTP/1.1 200 OK\r\n\r\n"), 0, 200, 0 },
	{ "HTTP/1.0", BYTES("HTTP/1.0 200 OK\r\n\r\n"), 0, 200, 0 },
	{ "no words", BYTES("HTTP/1.1 200\r\n\r\n"), 0, 200, 0 },
	{ "fields", BYTES("HTTP/1.1 407 No\r\nA: b\r\nC: d\r\n\r\n"), 0, 407,
	  0 },
	{ "the tunnel's bytes stay", BYTES("HTTP/1.1 200 OK\r\n\r\n\r\n\r\n"),
	  0, 200, 4 },
	{ "half a status", BYTES("HTTP/1.1 20"), -EAGAIN, 0, 0 },
	{ "half a line end", BYTES("HTTP/1.1 200 OK\r"), -EAGAIN, 0, 0 },
	{ "half an end", BYTES("HTTP/1.1 200 OK\r\n\r"), -EAGAIN, 0, 0 },
	{ "HTTP/2", BYTES("HTTP/2.0 200 OK\r\n\r\n"), -EBADMSG, 0, 0 },
	{ "HTTP/1.2", BYTES("HTTP/1.2 200 OK\r\n\r\n"), -EBADMSG, 0, 0 },
	{ "lower case", BYTES("http/1.1 200 OK\r\n\r\n"), -EBADMSG, 0, 0 },
	{ "two digits", BYTES("HTTP/1.1 20 OK\r\n\r\n"), -EBADMSG, 0, 0 },
	{ "four digits", BYTES("HTTP/1.1 2000 OK\r\n\r\n"), -EBADMSG, 0, 0 },
	{ "a bare LF", BYTES("HTTP/1.1 200 OK\n\n"), -EBADMSG, 0, 0 },
	{ "a bare LF in a field", BYTES("HTTP/1.1 200 OK\r\nA: b\n\r\n"),
	  -EBADMSG, 0, 0 },
	{ "a bare CR", BYTES("HTTP/1.1 200 OK\rx\r\n\r\n"), -EBADMSG, 0, 0 },
	{ "a NUL", BYTES("HTTP/1.1 200 OK\r\nA: \0\r\n\r\n"), -EBADMSG, 0, 0 },
	{ "no HTTP", BYTES("SSH-2.0-OpenSSH_9\r\n"), -EBADMSG, 0, 0 },
	{ "a short line", BYTES("HTTP\r\n"), -EBADMSG, 0, 0 },
};

static void test_answers(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(answer_cases); i++) {
		const struct answer_case *c = &answer_cases[i];
		unsigned status = 0;
		size_t len = 0;

		is_int(dial_proxy_answer(slice_of(c->ptr, c->len), &status,
					 &len),
		       c->want, "%s", c->what);
		is_int(status, c->status, "%s: status", c->what);
		if (c->want == 0)
			is_int(c->len - len, c->rest, "%s: rest", c->what);
	}
}

static void test_long(void)
{
	static char m[DIAL_PROXY_HEAD_MAX + 100] = "HTTP/1.1 200 OK\r\nA: ";
	unsigned status;
	size_t len, at = strlen(m);

	memset(m + at, 'x', sizeof(m) - at);
	is_int(dial_proxy_answer(slice_of(m, DIAL_PROXY_HEAD_MAX - 1), &status,
				 &len),
	       -EAGAIN, "a long head");
	is_int(dial_proxy_answer(slice_of(m, DIAL_PROXY_HEAD_MAX), &status,
				 &len),
	       -EBADMSG, "a head too long");
	for (unsigned i = 0; i < 4; i++)
		m[DIAL_PROXY_HEAD_MAX - 4 + i] = "\r\n\r\n"[i];
	is_int(dial_proxy_answer(slice_of(m, sizeof(m)), &status, &len), 0,
	       "the longest head");
	is_int(len, DIAL_PROXY_HEAD_MAX, "to its end");
}

static void test_requests(void)
{
	static char big[DIAL_PROXY_REQUEST_MAX];
	char out[DIAL_PROXY_REQUEST_MAX];

	ok(dial_proxy_request("a.test", 443, NULL, out) > 0, "a name");
	is_str(out, "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n",
	       "a request");
	ok(dial_proxy_request("2001:db8::1", 80, "Basic eA==", out) > 0,
	   "an address and a password");
	is_str(out,
	       "CONNECT [2001:db8::1]:80 HTTP/1.1\r\n"
	       "Host: [2001:db8::1]:80\r\n"
	       "Proxy-Authorization: Basic eA==\r\n\r\n",
	       "have their places");
	is_int(dial_proxy_request("a.test", 1, "x\r\nEvil: y", out), -EBADMSG,
	       "a line end in the password");
	memset(big, 'x', sizeof(big) - 1);
	is_int(dial_proxy_request("a.test", 1, big, out), -ENOBUFS,
	       "a password too long");
}

int main(void)
{
	test_answers();
	test_long();
	test_requests();
	return done_testing();
}
