/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otter_http_conn_test.c - requests: which go where, and which do not
 */
#include "tests/unit/otter_http_world.h"

/* --- requests ----------------------------------------------------------- */

static void test_keep_alive(void)
{
	SCOPED_FD c = client(&plain_at, GET("/1", "A.test"));
	SCOPED_FD u = upstream();
	SCOPED_FD other = -1;
	unsigned before;

	hears(u, UP_GET("/1", "a.test"), "the head is written anew");
	say(u, REPLY);
	hears(c, DOWN, "the response comes back");
	say(c, GET("/2", "a.test"));
	hears(u, UP_GET("/2", "a.test"), "the same upstream, once more");
	say(u, REPLY);
	hears(c, DOWN, "and its response");
	say(c, GET("/3", "b.test"));
	other = upstream();
	hears(other, UP_GET("/3", "b.test"), "H4 another Host, another server");
	ends(u, "H4 the one before is closed");
	say(other, REPLY);
	hears(c, DOWN, "the response of the other");
	before = atomic_load(&dials);
	say(c, GET("/4", "evil.test"));
	hears(c, "HTTP/1.1 403 ", "H4 a Host that is not allowed");
	ends(other, "H4 nothing went up");
	no_dial(before, "H4");
}

static void test_pipeline(void)
{
	SCOPED_FD c = client(&plain_at, GET("/1", "a.test") GET("/2", "b.test")
						GET("/3", "evil.test"));
	SCOPED_FD u = upstream();
	SCOPED_FD v = -1;
	char rest[2048];

	hears(u, UP_GET("/1", "a.test"), "H4 the first of a pipeline");
	say(u, REPLY);
	hears(c, DOWN, "H4 its response");
	v = upstream();
	ends(u, "H4 the second never went to the first's server");
	hears(v, UP_GET("/2", "b.test"), "H4 the second of a pipeline");
	say(v, REPLY);
	hears(c, DOWN, "H4 its response");
	read_upto(c, rest, sizeof(rest) - 1);
	ok(strncmp(rest, "HTTP/1.1 403 ", 13) == 0, "H4 the third is denied");
}

struct refusal {
	const char *what;
	bool proxy;
	const char *request;
	int status;
	const char *reason;
};

static const struct refusal refusals[] = {
	{ "not allowed", false, GET("/", "evil.test"), 403, "not-allowed" },
	{ "denied", false, GET("/", "c.test"), 403, "deny-rule" },
	{ "K6 metadata", false, GET("/", "169.254.169.254"), 403,
	  "builtin-address" },
	{ "K6 metadata by the proxy", true,
	  GET("http://169.254.169.254/", "169.254.169.254"), 403,
	  "builtin-address" },
	{ "a literal", true, GET("http://198.51.100.9/", "198.51.100.9"), 403,
	  "address-literal" },
	{ "H3 no name", false, GET("/", "a..test"), 400, "bad-name" },
	{ "H3 Host twice", false,
	  "GET / HTTP/1.1\r\nHost: a.test\r\nHost: c.test\r\n\r\n", 400,
	  "bad-http" },
	{ "H3 no Host", false, "GET / HTTP/1.0\r\n\r\n", 400, "bad-http" },
	{ "H3 another port", false, GET("/", "a.test:81"), 400,
	  "host-mismatch" },
	{ "H2 another Host", true, GET("http://a.test/", "b.test"), 400,
	  "host-mismatch" },
	{ "another port by the proxy", true,
	  GET("http://a.test:81/", "a.test:81"), 403, "port" },
	{ "https without TLS", true, GET("https://a.test/", "a.test"), 400,
	  "bad-http" },
	{ "origin form to the proxy", true, GET("/", "a.test"), 400,
	  "bad-http" },
	{ "H12 TRACE", false, "TRACE / HTTP/1.1\r\nHost: a.test\r\n\r\n", 405,
	  "method" },
	{ "H5 CONNECT, transparent", false,
	  "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", 400,
	  "bad-http" },
	{ "H5 CONNECT to another port", true,
	  "CONNECT a.test:22 HTTP/1.1\r\nHost: a.test:22\r\n\r\n", 403,
	  "port" },
	{ "H5 CONNECT to localhost", true,
	  "CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n", 403,
	  "builtin-name" },
	{ "H5 CONNECT to the gateway", true,
	  "CONNECT 172.20.0.53:3128 HTTP/1.1\r\nHost: 172.20.0.53:3128\r\n\r\n",
	  403, "builtin-address" },
	{ "H5 CONNECT without a port", true,
	  "CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n", 400, "bad-name" },
	{ "H1 CL and TE", false,
	  "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n",
	  400, "bad-http" },
	{ "an unknown method", false, "G / HTTP/1.1\r\nHost: a.test\r\n\r\n",
	  501, "bad-http" },
};

static void test_refusals(void)
{
	unsigned before = atomic_load(&dials);

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		const struct refusal *f = &refusals[i];
		SCOPED_FD c =
			client(f->proxy ? &proxy_at : &plain_at, f->request);
		char got[2048], status[32], reason[64];

		read_upto(c, got, sizeof(got) - 1);
		snprintf(status, sizeof(status), "HTTP/1.1 %d ", f->status);
		snprintf(reason, sizeof(reason), "X-Ac-Denied: %s\r\n",
			 f->reason);
		ok(strncmp(got, status, strlen(status)) == 0 &&
			   strstr(got, reason),
		   "%s: %d, %s", f->what, f->status, f->reason);
	}
	no_dial(before, "refusals");
}

static void test_deny_text(void)
{
	SCOPED_FD c = client(&plain_at, GET("/", "evil.test"));
	SCOPED_FD d = client(&plain_at, GET("/", "c.test"));
	char got[2048];

	read_upto(c, got, sizeof(got) - 1);
	is_str(got,
	       "HTTP/1.1 403 Forbidden\r\n"
	       "Content-Type: text/plain\r\n"
	       "Content-Length: 104\r\n"
	       "Connection: close\r\n"
	       "X-Ac-Denied: not-allowed\r\n"
	       "\r\n"
	       "ac: blocked evil.test:80 (not-allowed: no rule allows it)\n"
	       "allow it with: ac policy allow t evil.test:80\n",
	       "what a user reads");
	read_upto(d, got, sizeof(got) - 1);
	ok(strstr(got, "ac: blocked c.test:80 (deny-rule: a deny rule names "
		       "it; rule no-c)\n"),
	   "the rule that denied");
	ok(!strstr(got, "allow it"), "a denial is final: no hint");
}

static void test_proxy(void)
{
	SCOPED_FD c = client(
		&proxy_at,
		"POST http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\n"
		"Proxy-Authorization: Basic eDp5\r\nContent-Length: 3\r\n"
		"Proxy-Connection: keep-alive\r\n\r\nabc");
	SCOPED_FD u = upstream();

	hears(u,
	      "POST /x?y HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n"
	      "Connection: keep-alive\r\n\r\nabc",
	      "H15 by the proxy, its own fields left out");
	say(u, REPLY);
	hears(c, DOWN, "the response");
}

/* --- CONNECT ------------------------------------------------------------ */

#define CONNECT(to) "CONNECT " to " HTTP/1.1\r\nHost: " to "\r\n\r\n"
#define ESTABLISHED "HTTP/1.1 200 Connection established\r\n\r\n"

static void test_connect(void)
{
	SCOPED_FD c = client(&proxy_at, CONNECT("tcp.test:22") "first");
	SCOPED_FD u = upstream();
	SCOPED_FD d = -1, e = -1;
	unsigned before;

	hears(c, ESTABLISHED, "H5 a tcp rule is dialled first");
	hears(u, "first", "what was sent ahead goes first");
	say(u, "SSH-2.0");
	hears(c, "SSH-2.0", "bytes come down");
	d = client(&proxy_at, CONNECT("gone.test:22"));
	hears(d, "HTTP/1.1 502 ", "H5 a tcp dial that fails is told");
	before = atomic_load(&dials);
	e = client(&proxy_at, CONNECT("a.test:443"));
	hears(e, ESTABLISHED, "H5 a tls rule wants the hello first");
	say(e, CONNECT("evil.test:443"));
	ends(e, "H5 nested CONNECT is no hello");
	no_dial(before, "H5");
}

static void test_dial_faults(void)
{
	SCOPED_FD c = client(&plain_at, GET("/", "down.test"));
	SCOPED_FD d = client(&plain_at, GET("/", "slow.test"));
	char got[2048];

	read_upto(c, got, sizeof(got) - 1);
	ok(strncmp(got, "HTTP/1.1 502 ", 13) == 0 &&
		   strstr(got, "could not reach down.test:80 (connect-failed"),
	   "502 says why");
	hears(d, "HTTP/1.1 504 ", "504");
}

/* --- time and size ------------------------------------------------------ */

static void test_slow_head(void)
{
	SCOPED_FD c = client(&plain_at, "GET / HTTP/1.1\r\n");

	for (unsigned i = 0; i < 3; i++) {
		poll(NULL, 0, HEADER_MS / 3);
		if (send(c, "A: b\r\n", 6, MSG_NOSIGNAL) < 0)
			break;
	}
	hears(c, "HTTP/1.1 408 ", "T8 one deadline for the whole head");
}

static void test_long_head(void)
{
	static char text[48 * 1024];
	SCOPED_FD c = -1;

	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "GET / HTTP/1.1\r\nA: ", 19);
	c = client(&plain_at, text);
	hears(c, "HTTP/1.1 431 ", "too long a head");
}

/* --- another policy ----------------------------------------------------- */

static void test_swap(void)
{
	SCOPED_FD busy = client(&plain_at, GET("/", "a.test"));
	SCOPED_FD u = upstream();
	SCOPED_FD idle = -1, v = -1, w = -1;
	struct table *t;

	hears(u, UP_GET("/", "a.test"), "K15 a request that goes on");
	idle = client(&plain_at, GET("/", "b.test"));
	v = upstream();
	hears(v, UP_GET("/", "b.test"), "K15 one to another");
	say(v, REPLY);
	hears(idle, DOWN, "K15 which is answered");
	t = table_read(poorer_text);
	workers_swap(world.ws, t);
	table_unref(t);
	ends(busy, "K15 what is allowed no longer is closed");
	ends(u, "K15 and its upstream");
	ends(v, "K15 an idle upstream is dropped");
	say(idle, GET("/2", "b.test"));
	w = upstream();
	hears(w, UP_GET("/2", "b.test"), "K15 and dialled anew when asked");
	say(w, REPLY);
	hears(idle, DOWN, "K15 the rest goes on");
	say(idle, GET("/3", "a.test"));
	hears(idle, "HTTP/1.1 403 ", "K15 the new policy decides");
}

static void tests(void)
{
	test_keep_alive();
	test_pipeline();
	test_refusals();
	test_deny_text();
	test_proxy();
	test_connect();
	test_dial_faults();
	test_slow_head();
	test_long_head();
	test_swap();
}

int main(void)
{
	return world_run(tests);
}
