/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_http_test.c - requests: which go where, and which do not
 */
#include "tests/unit/ottergate/conn/http_world.h"

#include <time.h>

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
	const char *what, *request, *reason;
	int status;
	bool proxy;
};

static const struct refusal refusals[] = {
	{ "not allowed", GET("/", "evil.test"), "not-allowed", 403, false },
	{ "denied", GET("/", "c.test"), "deny-rule", 403, false },
	{ "K6 metadata", GET("/", "169.254.169.254"), "builtin-address", 403,
	  false },
	{ "K6 metadata by the proxy",
	  GET("http://169.254.169.254/", "169.254.169.254"), "builtin-address",
	  403, true },
	{ "a literal", GET("http://198.51.100.9/", "198.51.100.9"),
	  "address-literal", 403, true },
	{ "H3 no name", GET("/", "a..test"), "bad-name", 400, false },
	{ "H3 Host twice",
	  "GET / HTTP/1.1\r\nHost: a.test\r\nHost: c.test\r\n\r\n", "bad-http",
	  400, false },
	{ "H3 no Host", "GET / HTTP/1.0\r\n\r\n", "bad-http", 400, false },
	{ "H3 another port", GET("/", "a.test:81"), "host-mismatch", 400,
	  false },
	{ "H2 another Host", GET("http://a.test/", "b.test"), "host-mismatch",
	  400, true },
	{ "another port by the proxy", GET("http://a.test:81/", "a.test:81"),
	  "port", 403, true },
	{ "https without TLS", GET("https://a.test/", "a.test"), "bad-http",
	  400, true },
	{ "origin form to the proxy", GET("/", "a.test"), "bad-http", 400,
	  true },
	{ "H12 TRACE", "TRACE / HTTP/1.1\r\nHost: a.test\r\n\r\n", "method",
	  405, false },
	{ "H5 CONNECT, transparent",
	  "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", "bad-http",
	  400, false },
	{ "H5 CONNECT to another port",
	  "CONNECT a.test:22 HTTP/1.1\r\nHost: a.test:22\r\n\r\n", "port", 403,
	  true },
	{ "H5 CONNECT to localhost",
	  "CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n",
	  "builtin-name", 403, true },
	{ "H5 CONNECT to the gateway",
	  "CONNECT 172.20.0.53:3128 HTTP/1.1\r\nHost: 172.20.0.53:3128\r\n\r\n",
	  "builtin-address", 403, true },
	{ "H5 CONNECT without a port",
	  "CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n", "bad-name", 400,
	  true },
	{ "H1 CL and TE",
	  "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n",
	  "bad-http", 400, false },
	{ "an unknown method", "G / HTTP/1.1\r\nHost: a.test\r\n\r\n",
	  "bad-http", 501, false },
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
	static char text[48 * 1024] = "GET / HTTP/1.1\r\nA: ";
	size_t len = strlen(text);
	SCOPED_FD c = -1;

	memset(text + len, 'a', sizeof(text) - 1 - len);
	c = client(&plain_at, text);
	hears(c, "HTTP/1.1 431 ", "too long a head");
}

static void test_long_path(void)
{
	static char text[10 * 1024];
	SCOPED_FD c = -1;

	snprintf(text, sizeof(text), "GET /%0*d HTTP/1.1\r\nHost: a\r\n\r\n",
		 8192, 0);
	c = client(&plain_at, text);
	hears(c, "HTTP/1.1 414 ", "too long a path");
}

/* --- another policy ----------------------------------------------------- */

static void test_swap(void)
{
	SCOPED_FD busy = client(&plain_at, GET("/", "a.test"));
	SCOPED_FD u = upstream();
	SCOPED_FD idle = -1, v = -1, w = -1, dialling = -1;
	unsigned before = atomic_load(&dials);
	struct table *t;

	dialling = client(&plain_at, GET("/", "hang.test"));
	for (unsigned i = 0; i < 100 && atomic_load(&dials) == before; i++)
		poll(NULL, 0, 10);

	hears(u, UP_GET("/", "a.test"), "K15 a request that goes on");
	idle = client(&plain_at, GET("/", "b.test"));
	v = upstream();
	hears(v, UP_GET("/", "b.test"), "K15 one to another");
	say(v, REPLY);
	hears(idle, DOWN, "K15 which is answered");
	t = table_read(poorer_text);
	workers_swap(world.ws, t);
	table_unref(t);
	ends(dialling, "K15 a dial that is on ends at once");
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

/* An exchange that goes on does not outlive the policy. */
static void test_expiry(void)
{
	static const char format[] =
		"version: 1\n"
		"agents:\n"
		"  - id: t\n"
		"    match: { address: 172.20.0.2 }\n"
		"    expires: %Y-%m-%dT%H:%M:%SZ\n"
		"    allow: [{ id: web, names: [a.test], ports: [80] }]\n";
	time_t at = time(NULL) + 2;
	SCOPED_FD c = -1, u = -1;
	struct tm tm = { 0 };
	struct table *t;
	char text[512];
	uint64_t began;

	gmtime_r(&at, &tm);
	strftime(text, sizeof(text), format, &tm);
	t = table_read(text);
	workers_swap(world.ws, t);
	table_unref(t);
	began = clock_ms();
	c = client(&plain_at, GET("/", "a.test"));
	u = upstream();
	hears(u, UP_GET("/", "a.test"), "a request shortly before the end");
	ends(u, "is cut at the end");
	ok(clock_ms() - began < GIVE_UP_MS, "at once");
	ends(c, "on both sides");
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
	test_long_path();
	test_swap();
	test_expiry();
}

int main(void)
{
	return world_run(tests);
}
