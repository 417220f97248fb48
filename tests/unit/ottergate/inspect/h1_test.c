/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_test.c - inspected requests over HTTP/1.1, from a real TLS client
 * through a real worker to a real TLS server
 */
#include "tests/unit/ottergate/inspect/inspect_world.h"

static void test_requests(void)
{
	SSL *c = client("big.test"), *u = upstream();

	say(c, "GET /a HTTP/1.1\r\nhOst: big.test\r\nX-Forwarded-For: 1\r\n"
	       "X-A: b\r\nConnection: X-B\r\nX-B: c\r\nKeep-Alive: 5\r\n\r\n");
	hears(u, "GET /a HTTP/1.1\r\nHost: big.test\r\nx-a: b\r\n" KEEP "\r\n",
	      "a head is written anew, without what is of one hop (H15)");
	say(u, "HTTP/1.1 200 Fine\r\nX-C: d\r\nConnection: x-e\r\nX-E: 1\r\n"
	       "Alt-Svc: h3=\":443\"\r\nContent-Length: 2\r\n\r\nhi");
	hears(c,
	      "HTTP/1.1 200 OK\r\nx-c: d\r\nContent-Length: 2\r\n" KEEP
	      "\r\nhi",
	      "so is the answer's (T13: no Alt-Svc)");
	ok(world_audited(AUDIT_ALLOW, REASON_ALLOWED), "it is audited");
	say(c, GET("/1", "big.test") GET("/2", "big.test"));
	hears(u, UP_GET("/1", "big.test"), "the first of two that were sent");
	say(u, REPLY);
	hears(u, UP_GET("/2", "big.test"), "the second after its answer");
	say(u, REPLY);
	hears(c, DOWN DOWN, "both answers");
	bye(c);
	ends(u, true, "the client's end is the upstream's");
	hang_up(u);
	ok(world_empty(), "and nothing is left");
}

/* A record is a packet of its own, and the client's one more wake-up. */
static void test_one_record(void)
{
	SSL *c = client("big.test"), *u = upstream();
	char got[256] = "";
	int n;

	say(c, GET("/a", "big.test"));
	hears(u, UP_GET("/a", "big.test"), "a request");
	say(u, REPLY);
	n = SSL_read(c, got, sizeof(got) - 1);
	is_int(n, strlen(DOWN), "head and body of an answer are one record");
	is_str(got, DOWN, "whole");
	bye(c);
	hang_up(u);
}

static void test_bodies(void)
{
	SSL *c = client("big.test"), *u = upstream();

	say(c, "POST /a HTTP/1.1\r\nHost: big.test\r\n" CHUNKED
	       "\r\n003\r\nabc\r\n2\r\nd");
	hears(u,
	      "POST /a HTTP/1.1\r\nHost: big.test\r\n" CHUNKED KEEP
	      "\r\n3\r\nabc\r\n1\r\nd\r\n",
	      "H1 chunks are written anew, a part of one at once");
	say(c, "e\r\n0\r\n\r\n");
	hears(u, "1\r\ne\r\n0\r\n\r\n", "and their end");
	say(u, "HTTP/1.1 200 OK\r\n" CHUNKED "\r\n4;x=y\r\nwxyz\r\n");
	hears(c, "HTTP/1.1 200 OK\r\n" CHUNKED KEEP "\r\n4\r\nwxyz\r\n",
	      "those of an answer too, without extensions");
	say(u, "1\r\n.\r\n0\r\nX-Sum: 5\r\nContent-Length: 3\r\n\r\n");
	hears(c, "1\r\n.\r\n0\r\nx-sum: 5\r\n\r\n",
	      "trailers that may be there");
	say(c, "PUT /b HTTP/1.1\r\nHost: big.test\r\nContent-Length: 5\r\n"
	       "Expect: 100-continue\r\n\r\n");
	hears(u,
	      "PUT /b HTTP/1.1\r\nHost: big.test\r\nExpect: 100-continue\r\n"
	      "Content-Length: 5\r\n" KEEP "\r\n",
	      "a body that waits");
	say(u, "HTTP/1.1 100 Continue\r\n\r\n");
	hears(c, "HTTP/1.1 100 Continue\r\n\r\n", "is asked for");
	say(c, "12345");
	hears(u, "12345", "and comes");
	say(u, REPLY);
	hears(c, DOWN, "the answer");
	exchange(c, u, "the connection goes on");
	bye(c);
	hang_up(u);
}

static void test_answers(void)
{
	SSL *c = client("big.test"), *u = upstream();

	say(c, "HEAD /a HTTP/1.1\r\nHost: big.test\r\n\r\n");
	hears_with(u, "HEAD /a ", "HEAD");
	say(u, "HTTP/1.1 103 x\r\nLink: l\r\n\r\n"
	       "HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n");
	hears(c,
	      "HTTP/1.1 103 Early Hints\r\nlink: l\r\n\r\n"
	      "HTTP/1.1 200 OK\r\nContent-Length: 77\r\n" KEEP "\r\n",
	      "1xx, and a length without a body");
	say(c, GET("/b", "big.test"));
	hears_with(u, "GET /b ", "the next");
	say(u, "HTTP/1.1 204 x\r\n\r\n");
	hears(c, "HTTP/1.1 204 No Content\r\n" KEEP "\r\n", "204");
	say(c, GET("/c", "big.test"));
	hears_with(u, "GET /c ", "the next");
	say(u, "HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n");
	hears(c,
	      "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n" KEEP "\r\n",
	      "304");
	say(c, GET("/d", "big.test"));
	hears_with(u, "GET /d ", "the next");
	say(u, "HTTP/1.1 200 OK\r\n\r\nup to ");
	hears(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nup to ",
	      "a body that ends with the connection");
	say(u, "the end");
	bye(u);
	hears(c, "the end", "whole");
	ends(c, true, "and said so");
	hang_up(c);
}

static void test_cut(void)
{
	SSL *c = client("big.test"), *u = upstream();

	say(c, GET("/a", "big.test"));
	hears_with(u, "GET /a ", "a request");
	say(u, "HTTP/1.1 200 OK\r\n\r\nhalf");
	hears_with(c, "200", "an answer without length");
	hang_up(u);
	hears(c, "half", "what came");
	ends(c, false, "a cut is none that was said");
	hang_up(c);
	c = client("big.test");
	u = upstream();
	say(c, GET("/b", "big.test"));
	hears_with(u, "GET /b ", "a request");
	say(u, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
	bye(u);
	hears_with(c, "200", "an answer");
	hears(c, "half", "that is too short");
	ends(c, false, "even where the upstream says that it is all");
	hang_up(c);
	c = client("big.test");
	u = upstream();
	say(c, "POST /c HTTP/1.1\r\nHost: big.test\r\nContent-Length: 9\r\n"
	       "\r\nhalf");
	hears_with(u, "POST /c ", "a request");
	hears(u, "half", "half of it");
	bye(c);
	ends(u, false, "half a request is cut as well");
	hang_up(u);
}

static void test_events(void)
{
	SSL *c = client("big.test"), *u = upstream();

	say(c, GET("/s", "big.test"));
	hears_with(u, "GET /s ", "a stream of events");
	say(u, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" CHUNKED
	       "\r\n");
	hears(c,
	      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n" CHUNKED
		      KEEP "\r\n",
	      "its head before its first event");
	for (unsigned i = 0; i < 3; i++) {
		say(u, "9\r\ndata: x\n\n\r\n");
		hears(c, "9\r\ndata: x\n\n\r\n", "an event at once");
	}
	hang_up(c);
	ends(u, false, "nobody listens: the server is told");
	hang_up(u);
}

/* --- what is refused ------------------------------------------------------ */

static void test_denied(void)
{
	SSL *c = client("api.test"), *u = upstream();

	say(c, "DELETE /a HTTP/1.1\r\nHost: api.test\r\n\r\n");
	hears_with(c, "HTTP/1.1 403 Forbidden\r\n", "a method");
	ok(world_audited(AUDIT_DENY, REASON_METHOD), "is audited");
	hang_up(c);
	ends(u, true, "nothing of it went up");
	hang_up(u);
}

static void test_denied_keeps(void)
{
	SSL *c = client("api.test"), *u = upstream();
	char got[2048];
	size_t n = 0;

	say(c, "DELETE /a HTTP/1.1\r\nHost: api.test\r\n\r\n" GET("/b",
								  "api.test"));
	hears_with(u, "GET /b ",
		   "the next request is served on the same connection");
	say(u, REPLY);
	while (n < sizeof(got) - 1 && SSL_read(c, got + n, 1) == 1) {
		got[++n] = '\0';
		if (strstr(got, DOWN))
			break;
	}
	ok(strstr(got, "403 Forbidden") && strstr(got, "X-Ac-Denied: method") &&
		   strstr(got, DOWN),
	   "both answers");
	hang_up(c);
	hang_up(u);
}

static void test_hostile(void)
{
	static const struct {
		const char *request, *status, *what;
	} cases[] = {
		{ "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", "421",
		  "H7 Host is another name" },
		{ "GET / HTTP/1.1\r\nHost: big.test:444\r\n\r\n", "421",
		  "another port" },
		{ "GET http://big.test/ HTTP/1.1\r\nHost: big.test\r\n\r\n",
		  "400", "another scheme" },
		{ "GET https://other.test/ HTTP/1.1\r\nHost: big.test\r\n\r\n",
		  "400", "H2 target and Host differ" },
		{ "CONNECT big.test:443 HTTP/1.1\r\nHost: big.test\r\n\r\n",
		  "405", "H5 CONNECT within" },
		{ "TRACE / HTTP/1.1\r\nHost: big.test\r\n\r\n", "405",
		  "H12 TRACE" },
		{ "POST / HTTP/1.1\r\nHost: big.test\r\nContent-Length: 3\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		  "400", "H1 two framings" },
		{ "POST / HTTP/1.1\r\nHost: big.test\r\nContent-Length: 3\r\n"
		  "Content-Length: 3\r\n\r\nabc",
		  "400", "H1 two lengths" },
		{ "GET / HTTP/1.1\r\nHost: big.test\r\nHost: big.test\r\n\r\n",
		  "400", "H3 two Hosts" },
		{ "GET / HTTP/1.1\r\n\r\n", "400", "no Host" },
		{ "GET / HTTP/1.1\nHost: big.test\n\n", "400", "H1 bare LF" },
		{ "GET /a/%2e%2e/b HTTP/1.1\r\nHost: big.test\r\n\r\n", "400",
		  "H8 a path that hides another" },
		{ "EHLO big.test\r\n\r\n", "501", "no HTTP" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		SSL *c = client("big.test"), *u = upstream();
		char want[32];

		say(c, cases[i].request);
		snprintf(want, sizeof(want), "HTTP/1.1 %s ", cases[i].status);
		hears_with(c, want, cases[i].what);
		hang_up(c);
		ends(u, true, "the upstream hears nothing");
		hang_up(u);
	}
}

/* Neither is a reset, also behind an answer on the same connection. */
static void test_long_path(void)
{
	static char longer[10 * 1024], deep[512];
	SSL *c = client("big.test"), *u = upstream();
	size_t len = (size_t)snprintf(deep, sizeof(deep), "GET ");

	for (unsigned i = 0; i < 65; i++)
		len += (size_t)snprintf(deep + len, sizeof(deep) - len, "/a");
	snprintf(deep + len, sizeof(deep) - len,
		 " HTTP/1.1\r\nHost: big.test\r\n\r\n");
	say(c, GET("/1", "big.test"));
	hears(u, UP_GET("/1", "big.test"), "a request");
	say(u, REPLY);
	hears(c, DOWN, "and its answer");
	say(c, deep);
	hears_with(c, "HTTP/1.1 414 ", "65 segments on a kept connection");
	ok(SSL_read(c, longer, SSL_pending(c)) > 0, "its text");
	say(c, GET("/2", "big.test"));
	hears(u, UP_GET("/2", "big.test"), "the connection goes on");
	say(u, REPLY);
	hears(c, DOWN, "as before");
	snprintf(longer, sizeof(longer),
		 "GET /%08192d HTTP/1.1\r\nHost: big.test\r\n\r\n", 0);
	say(c, longer);
	hears_with(c, "HTTP/1.1 414 ", "a path over 8 KiB on a kept one");
	ok(world_audited(AUDIT_DENY, REASON_PATH_LONG), "it is audited");
	ok(SSL_read(c, longer, SSL_pending(c)) > 0, "its text");
	ends(c, true, "and the connection ends as it should");
	hang_up(c);
	hang_up(u);
}

static void test_smuggled(void)
{
	SSL *c = client("big.test"), *u = upstream();
	char got[256];

	say(c,
	    "POST / HTTP/1.1\r\nHost: big.test\r\n" CHUNKED "\r\n3\r\nabc\r\n");
	hears(u,
	      "POST / HTTP/1.1\r\nHost: big.test\r\n" CHUNKED KEEP
	      "\r\n3\r\nabc\r\n",
	      "good chunks");
	say(c, "+5\r\nGET /");
	hears_with(c, "HTTP/1.1 400 ", "H1 a bad one");
	is_int(read_upto(u, got, sizeof(got) - 1), 0,
	       "H1 no byte of it goes up");
	hang_up(c);
	hang_up(u);
}

static void test_body_limits(void)
{
	SSL *c = client("api.test"), *u = upstream();

	say(c, "POST /post/a HTTP/1.1\r\nHost: api.test\r\n"
	       "Content-Length: 2000\r\n\r\n");
	hears_with(c, "HTTP/1.1 413 ", "a length above the limit");
	hang_up(c);
	ends(u, true, "is not asked for");
	hang_up(u);
	c = client("api.test");
	u = upstream();
	say(c, "POST /graphql HTTP/1.1\r\nHost: api.test\r\n"
	       "Content-Type: application/json\r\n"
	       "Content-Length: 38\r\nExpect: 100-continue\r\n\r\n");
	hears(c, "HTTP/1.1 100 Continue\r\n\r\n",
	      "a body that must be judged whole is asked for by us");
	say(c, "{\"query\":\"mutation { a(b: 1) { c } }\"}");
	hears_with(c, "HTTP/1.1 403 ", "a mutation");
	ok(world_audited(AUDIT_DENY, REASON_GRAPHQL), "H9 is audited");
	hang_up(c);
	ends(u, true, "H9 and nothing of it goes up");
	hang_up(u);
	c = client("api.test");
	u = upstream();
	say(c, "POST /graphql HTTP/1.1\r\nHost: api.test\r\n"
	       "Content-Type: application/json\r\n" CHUNKED
	       "\r\n9\r\n{\"query\":\r\n7\r\n\"{ a }\"\r\n1\r\n}\r\n0\r\n\r\n");
	hears_with(u, "POST /graphql ", "a query goes up");
	hears(u, "11\r\n{\"query\":\"{ a }\"}\r\n0\r\n\r\n",
	      "as one chunk, since it was held");
	say(u, REPLY);
	hears(c, DOWN, "and is answered");
	hang_up(c);
	hang_up(u);
}

static void test_rate(void)
{
	SSL *c = client("few.test"), *u = upstream();

	for (unsigned i = 0; i < 2; i++) {
		say(c, GET("/", "few.test"));
		hears_with(u, "GET / ", "a request within the rate");
		say(u, REPLY);
		hears(c, DOWN, "is answered");
	}
	say(c, GET("/", "few.test"));
	hears_with(c, "HTTP/1.1 429 ", "one above it");
	ok(world_audited(AUDIT_LIMIT, REASON_LIMIT_REQUESTS), "is audited");
	hang_up(c);
	hang_up(u);
}

/* --- credentials ---------------------------------------------------------- */

static void test_credential(void)
{
	SSL *c = client("api.test"), *u = upstream();
	char text[512];

	snprintf(text, sizeof(text),
		 "GET /user HTTP/1.1\r\nHost: api.test\r\n"
		 "Authorization: Bearer %s\r\n\r\n",
		 peers.token);
	say(c, text);
	hears_with(u, "authorization: Bearer " REAL_TOKEN "\r\n",
		   "the server gets the real one");
	ok(world_audited(AUDIT_INJECT, REASON_ALLOWED), "which is audited");
	say(u, "HTTP/1.1 200 " REAL_TOKEN "\r\nX-Echo: " REAL_TOKEN
	       "\r\n" CHUNKED "\r\n5\r\nghp_r\r\n26\r\n"
	       "eal0token0that0nobody0may0ever0see1abc\r\n");
	hears(c,
	      "HTTP/1.1 200 OK\r\n"
	      "x-echo: ****************************************\r\n" CHUNKED
		      KEEP "\r\n",
	      "H12 the client does not");
	hears(c, "2b\r\n****************************************abc\r\n",
	      "H12 nor from its pieces");
	say(u, "0\r\nX-T: " REAL_TOKEN "\r\n\r\n");
	hears(c, "0\r\nx-t: ****************************************\r\n\r\n",
	      "H12 nor from a trailer");
	say(c, "GET /user HTTP/1.1\r\nHost: api.test\r\n"
	       "Authorization: Bearer ghp_anothers0token0of0forty0bytes01234\r"
	       "\n\r\n");
	hears_with(c, "HTTP/1.1 403 ", "H11 a foreign one");
	hang_up(c);
	ends(u, true, "H11 goes nowhere");
	hang_up(u);
}

/* --- the upstream's connection -------------------------------------------- */

static void test_idle_close(void)
{
	SSL *c = client("big.test"), *u = upstream();

	exchange(c, u, "a request");
	bye(u);
	ends(c, true, "an idle upstream ends, and so does the client");
	hang_up(c);
}

static void test_redial(void)
{
	SSL *c = client("big.test"), *u = upstream();

	exchange(c, u, "a request");
	say(c, GET("/again", "big.test"));
	hears_with(u, "GET /again ", "the next");
	bye(u);
	u = upstream();
	hears(u, UP_GET("/again", "big.test"),
	      "an upstream that closed as it came is dialled again");
	say(u, REPLY);
	hears(c, DOWN, "and answers");
	exchange(c, u, "the next");
	say(c, "POST /once HTTP/1.1\r\nHost: big.test\r\nContent-Length: 1\r\n"
	       "\r\nx");
	hears_with(u, "POST /once ", "what must not be sent twice");
	bye(u);
	hears_with(c, "HTTP/1.1 502 ", "is not");
	hang_up(c);
	c = client("big.test");
	u = upstream();
	say(c, GET("/first", "big.test"));
	hears_with(u, "GET /first ", "a first request");
	bye(u);
	hears_with(c, "HTTP/1.1 502 ", "that is not answered has failed");
	hang_up(c);
}

static void test_early_answer(void)
{
	SSL *c = client("big.test"), *u = upstream();

	say(c, "POST /a HTTP/1.1\r\nHost: big.test\r\nContent-Length: 9\r\n"
	       "\r\nab");
	hears_with(u, "POST /a ", "a request that still comes");
	say(u, "HTTP/1.1 413 x\r\nContent-Length: 2\r\n\r\nno");
	hears_with(c, "HTTP/1.1 413 ", "is answered");
	hears(c, "no", "at once");
	ends(c, true, "and that is the end");
	hang_up(c);
	hang_up(u);
}

static void test_bad_answers(void)
{
	static const struct {
		const char *answer, *what;
	} cases[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
		  "Content-Length: 3\r\n\r\nab",
		  "H16 two lengths" },
		{ "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n"
		  "Connection: Upgrade\r\n\r\n",
		  "H6 101 that nobody asked for" },
		{ "HTTP/1.1 200 OK\nX: y\n\n", "H16 bare LF" },
		{ "SSH-2.0-x\r\n\r\n", "no HTTP" },
	};
	SSL *c, *u;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		c = client("big.test");
		u = upstream();
		say(c, GET("/", "big.test"));
		hears_with(u, "GET / ", "a request");
		say(u, cases[i].answer);
		hears_with(c, "HTTP/1.1 502 ", cases[i].what);
		hang_up(c);
		hang_up(u);
	}
	c = client("big.test");
	u = upstream();
	say(c, GET("/", "big.test"));
	hears_with(u, "GET / ", "a request");
	for (unsigned i = 0; i < 17; i++)
		say(u, "HTTP/1.1 102 x\r\n\r\n");
	for (unsigned i = 0; i < 16; i++)
		hears_with(c, "HTTP/1.1 102 ", "a 1xx");
	hears_with(c, "HTTP/1.1 502 ", "H16 one too many");
	hang_up(c);
	hang_up(u);
}

static void test_websocket(void)
{
	SSL *c = client("ws.test"), *u = upstream();

	say(c, "GET /ws HTTP/1.1\r\nHost: ws.test\r\nUpgrade: websocket\r\n"
	       "Connection: Upgrade\r\nSec-WebSocket-Key: k\r\n\r\n");
	hears(u,
	      "GET /ws HTTP/1.1\r\nHost: ws.test\r\nsec-websocket-key: k\r\n"
	      "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
	      "a WebSocket that the rule allows");
	say(u, "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n"
	       "Connection: Upgrade\r\n\r\nfirst");
	hears(c,
	      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
	      "Connection: Upgrade\r\n\r\nfirst",
	      "is switched to");
	say(c, "\x81\x01up");
	hears(u, "\x81\x01up", "frames up");
	say(u, "down\r\n\r\n");
	hears(c, "down\r\n\r\n", "and down");
	bye(u);
	ends(c, true, "until the end");
	hang_up(c);
	c = client("big.test");
	u = upstream();
	say(c, "GET /ws HTTP/1.1\r\nHost: big.test\r\nUpgrade: websocket\r\n"
	       "Connection: Upgrade\r\nSec-WebSocket-Key: k\r\n\r\n");
	hears_with(c, "HTTP/1.1 403 ", "H6 one that no rule allows");
	hang_up(c);
	hang_up(u);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (!inspect_up("http/1.1"))
		return done_testing();
	test_requests();
	test_one_record();
	test_bodies();
	test_answers();
	test_cut();
	test_events();
	test_denied();
	test_denied_keeps();
	test_hostile();
	test_long_path();
	test_smuggled();
	test_body_limits();
	test_rate();
	test_credential();
	test_idle_close();
	test_redial();
	test_early_answer();
	test_bad_answers();
	test_websocket();
	ok(world_empty(), "no connection is left");
	inspect_down();
	return done_testing();
}
