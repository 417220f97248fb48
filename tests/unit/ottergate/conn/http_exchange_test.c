/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_exchange_test.c - bodies, responses, limits
 */
#include "tests/unit/ottergate/conn/http_world.h"

#include <netinet/tcp.h>

/* --- bodies and responses ----------------------------------------------- */

static void test_expect(void)
{
	SCOPED_FD c = client(&plain_at, "PUT / HTTP/1.1\r\nHost: a.test\r\n"
					"Expect: 100-continue\r\n"
					"Transfer-Encoding: chunked\r\n\r\n");
	SCOPED_FD u = upstream();

	hears(u,
	      "PUT / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\n"
	      "Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n",
	      "the head goes up without its body");
	say(u, "HTTP/1.1 100 Continue\r\n\r\n");
	hears(c, "HTTP/1.1 100 Continue\r\n\r\n", "go on");
	say(c, "3\r\nab");
	hears(u, "3\r\nab", "a part of a chunk is not held back");
	say(c, "c\r\n0\r\n\r\n" GET("/2", "a.test"));
	hears(u, "c\r\n0\r\n\r\n", "the rest");
	say(u, REPLY);
	hears(c, DOWN, "the response");
	hears(u, UP_GET("/2", "a.test"), "the next request");
	say(u, REPLY);
	hears(c, DOWN, "and its response");
}

static void test_bad_chunk(void)
{
	SCOPED_FD c = client(&plain_at, "PUT / HTTP/1.1\r\nHost: a.test\r\n"
					"Transfer-Encoding: chunked\r\n\r\n"
					"3\r\nabc\r\n");
	SCOPED_FD u = upstream();
	char got[512];

	hears(u,
	      "PUT / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n"
	      "Connection: keep-alive\r\n\r\n3\r\nabc\r\n",
	      "good chunks");
	say(c, "+5\r\nGET /");
	hears(c, "HTTP/1.1 400 ", "H1 a bad one");
	is_int(read_upto(u, got, sizeof(got) - 1), 0,
	       "H1 no byte of it goes up");
}

static void test_stream(void)
{
	SCOPED_FD c = client(&plain_at, GET("/", "a.test"));
	SCOPED_FD u = upstream();

	hears(u, UP_GET("/", "a.test"), "a request for a stream");
	say(u, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	hears(c,
	      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	      "Connection: keep-alive\r\n\r\n",
	      "its head comes before its first event");
	say(u, "3\r\nabc");
	hears(c, "3\r\nabc", "an event comes at once");
	say(u, "\r\n0\r\nA: b\r\n\r\n");
	hears(c, "\r\n0\r\nA: b\r\n\r\n", "the end, with a trailer");
	say(c, GET("/2", "a.test"));
	hears(u, UP_GET("/2", "a.test"), "and the next request");
	say(u, REPLY);
	hears(c, DOWN, "with its response");
}

static void test_until_close(void)
{
	SCOPED_FD c = client(&plain_at, GET("/", "a.test"));
	SCOPED_FD u = upstream();

	hears(u, UP_GET("/", "a.test"), "a request");
	say(u, "HTTP/1.0 200 OK\r\n\r\nabc");
	fd_closep(&u);
	hears(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc",
	      "a body that ends with the connection");
	ends(c, "and so it does");
}

static void test_head(void)
{
	SCOPED_FD c =
		client(&plain_at, "HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n");
	SCOPED_FD u = upstream();
	SCOPED_FD v = -1;

	hears(u,
	      "HEAD / HTTP/1.1\r\nHost: a.test\r\n"
	      "Connection: keep-alive\r\n\r\n",
	      "HEAD");
	say(u, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
	hears(c,
	      "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n"
	      "Connection: keep-alive\r\n\r\n",
	      "a length without a body");
	say(c, GET("/2", "a.test"));
	hears(u, UP_GET("/2", "a.test"), "the next request follows");
	say(u, "HTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.1 200 Evil\r\n\r\n");
	hears(c, "HTTP/1.1 304 Not Modified\r\nConnection: keep-alive\r\n\r\n",
	      "H16 a response nobody asked for");
	say(c, GET("/3", "a.test"));
	ends(u, "H16 costs the upstream its connection");
	v = upstream();
	hears(v, UP_GET("/3", "a.test"), "H16 the next request has another");
}

static void test_early_answer(void)
{
	SCOPED_FD c = client(&plain_at, "PUT / HTTP/1.1\r\nHost: a.test\r\n"
					"Content-Length: 99\r\n\r\nabc");
	SCOPED_FD u = upstream();
	char got[512];

	read_upto(u, got,
		  strlen("PUT / HTTP/1.1\r\nHost: a.test\r\n"
			 "Content-Length: 99\r\n"
			 "Connection: keep-alive\r\n\r\nabc"));
	say(u, "HTTP/1.1 413 Too Much\r\nContent-Length: 0\r\n\r\n");
	hears(c,
	      "HTTP/1.1 413 Too Much\r\nContent-Length: 0\r\n"
	      "Connection: close\r\n\r\n",
	      "an answer before the end of the request");
	ends(c, "ends the connection");
}

/*
 * An upstream that answers without having read: what is left of the head it
 * did not take must not become the beginning of a request to another (H1).
 */
static void test_unread_head(void)
{
	enum { FIELD = 1000, FIELDS = 28, TRIES = 8 };
	int small = 1, usual = 212992, mss = 1000, any = 0;
	SCOPED_FD c = -1;
	SCOPED_FD u = -1;
	char head[32 * 1024] = GET("/", "a.test"), got[512] = "";
	size_t len = strlen(head) - 2;

	for (int i = 0; i < FIELDS; i++) {
		stpcpy(head + len, "X: ");
		memset(head + len + 3, 'x', FIELD);
		stpcpy(head + len + 3 + FIELD, "\r\n");
		len += 3 + FIELD + 2;
	}
	stpcpy(head + len, "\r\n");
	/* The kernel's send buffer follows the segments that the peer takes. */
	setsockopt(upstream_fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	setsockopt(upstream_fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss));
	c = client(&plain_at, head);
	u = upstream();
	for (int i = 0; i < TRIES; i++) {
		poll(NULL, 0, HEADER_MS / 4);
		say(u, REPLY);
		read_upto(c, got, strlen(DOWN) - 5);
		if (!strstr(got, "keep-alive"))
			break;
		read_upto(c, got, 5);
		say(c, head);
	}
	setsockopt(upstream_fd, SOL_SOCKET, SO_RCVBUF, &usual, sizeof(usual));
	setsockopt(upstream_fd, IPPROTO_TCP, TCP_MAXSEG, &any, sizeof(any));
	is_str(got,
	       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
	       "Connection: close\r\n\r\nhi",
	       "H1 an answer to a head that was not taken whole");
	ends(c, "H1 ends the connection");
}

static void test_upstream_faults(void)
{
	static const struct {
		const char *what, *says, *want;
	} cases[] = {
		{ "no response", "", "HTTP/1.1 502 " },
		{ "half a head", "HTTP/1.1 200 OK\r\nA:", "HTTP/1.1 502 " },
		{ "H16 no HTTP", "220 ftp\r\n\r\n", "HTTP/1.1 502 " },
		{ "H16 two lengths",
		  "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
		  "Content-Length: 2\r\n\r\nab",
		  "HTTP/1.1 502 " },
		{ "H6 a 101 nobody asked for",
		  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
		  "Upgrade: websocket\r\n\r\n",
		  "HTTP/1.1 502 " },
		{ "a body cut off",
		  "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
		  "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n"
		  "Connection: keep-alive\r\n\r\nabc" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		SCOPED_FD c = client(&plain_at, GET("/", "a.test"));
		SCOPED_FD u = upstream();
		char got[2048];

		hears(u, UP_GET("/", "a.test"), cases[i].what);
		say(u, cases[i].says);
		shutdown(u, SHUT_WR);
		hears(c, cases[i].want, cases[i].what);
		read_upto(c, got, sizeof(got) - 1);
	}
}

static void test_interim_flood(void)
{
	SCOPED_FD c = client(&plain_at, GET("/", "a.test"));
	SCOPED_FD u = upstream();
	char got[8192];

	hears(u, UP_GET("/", "a.test"), "a request");
	for (unsigned i = 0; i < 20; i++)
		if (send(u, "HTTP/1.1 103 E\r\n\r\n", 18, MSG_NOSIGNAL) < 0)
			break;
	ok(read_upto(c, got, sizeof(got) - 1) <= 18 * 16,
	   "H16 a flood of 1xx is cut off");
}

static void test_websocket(void)
{
	SCOPED_FD c = client(
		&plain_at,
		"GET /chat HTTP/1.1\r\nHost: ws.test\r\nUpgrade: websocket\r\n"
		"Connection: Upgrade\r\nSec-WebSocket-Key: eA==\r\n\r\n");
	SCOPED_FD u = upstream();
	SCOPED_FD d = -1, v = -1;

	hears(u,
	      "GET /chat HTTP/1.1\r\nHost: ws.test\r\n"
	      "Sec-WebSocket-Key: eA==\r\nUpgrade: websocket\r\n"
	      "Connection: Upgrade\r\n\r\n",
	      "H6 a WebSocket where the rule allows it");
	say(u, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
	       "Connection: Upgrade\r\n\r\nfrom above");
	hears(c,
	      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
	      "Connection: Upgrade\r\n\r\nfrom above",
	      "switched, with the first bytes");
	say(c, "from below");
	hears(u, "from below", "a tunnel up");
	say(u, "more");
	hears(c, "more", "a tunnel down");
	d = client(&plain_at, /* open to the end of the test */
		   "GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\n"
		   "Connection: Upgrade\r\n\r\n");
	v = upstream();
	hears(v, UP_GET("/", "a.test"), "H6 elsewhere it is a plain request");
	ok(d >= 0, "from a client of its own");
}

#define BULK (3u * 1024 * 1024)

static void end(int *fd, bool reset)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (reset)
		setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	fd_closep(fd);
}

#define PUT_2 "PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a.test\r\n"
#define HEAD_END "Connection: keep-alive\r\n\r\n"

/* A server that had been kept ends just as the next request reaches it. */
static const struct again_case {
	const char *what;
	const char *request, *head, *said; /* by the server, before its end */
	bool again;
} again_cases[] = {
	{ "GET", GET("/2", "a.test"), UP_GET("/2", "a.test"), "", true },
	{ "PUT, of which no body has gone", PUT_2 "\r\n", PUT_2 HEAD_END, "",
	  true },
	{ "PUT with its body", PUT_2 "\r\nab", PUT_2 HEAD_END "ab", "", false },
	{ "POST", POST "Content-Length: 0\r\n\r\n",
	  POST "Content-Length: 0\r\n" HEAD_END, "", false },
	{ "a byte of a response", GET("/2", "a.test"), UP_GET("/2", "a.test"),
	  "H", false },
};

static void test_again(const struct again_case *t, bool reset)
{
	SCOPED_FD c = client(&plain_at, GET("/1", "a.test"));
	SCOPED_FD u = upstream();
	SCOPED_FD v = -1;
	unsigned before;

	hears(u, UP_GET("/1", "a.test"), t->what);
	say(u, REPLY);
	hears(c, DOWN, t->what);
	before = atomic_load(&dials);
	say(c, t->request);
	hears(u, t->head, t->what);
	say(u, t->said);
	end(&u, reset);
	if (!t->again) {
		hears(c, "HTTP/1.1 502 ", t->what);
		no_dial(before, t->what);
		return;
	}
	v = upstream();
	hears(v, t->head, "is sent once more");
	is_int(atomic_load(&dials), before + 1, "by a connection of its own");
	if (reset) {
		end(&v, true);
		hears(c, "HTTP/1.1 502 ", "and not a third time");
		is_int(atomic_load(&dials), before + 1, "that was all");
	} else {
		say(v, REPLY);
		hears(c, "HTTP/1.1 200 OK\r\n", "and answered");
	}
}

static void test_kept_ends(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(again_cases); i++) {
		test_again(&again_cases[i], false);
		test_again(&again_cases[i], true);
	}
}

/* Up and down at the same time, neither end reading more than it likes. */
static void test_bulk(void)
{
	static char mem[64 * 1024];
	SCOPED_FD c = client(&plain_at, "PUT / HTTP/1.1\r\nHost: a.test\r\n"
					"Content-Length: 3145728\r\n\r\n");
	SCOPED_FD u = upstream();
	size_t sent[2] = { 0 }, got[2] = { 0 };
	int fd[2];
	bool stuck = false;

	hears(u,
	      "PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3145728\r\n"
	      "Connection: keep-alive\r\n\r\n",
	      "a big request");
	say(u, "HTTP/1.1 200 OK\r\nContent-Length: 3145728\r\n\r\n");
	hears(c,
	      "HTTP/1.1 200 OK\r\nContent-Length: 3145728\r\n"
	      "Connection: close\r\n\r\n",
	      "a big response meanwhile");
	fd[0] = c;
	fd[1] = u;
	while ((got[0] < BULK || got[1] < BULK) && !stuck) {
		struct pollfd p[2] = { { .fd = c }, { .fd = u } };

		for (unsigned i = 0; i < 2; i++)
			p[i].events = POLLIN | (sent[i] < BULK ? POLLOUT : 0);
		stuck = poll(p, 2, 3000) <= 0;
		for (unsigned i = 0; i < 2; i++) {
			size_t left = BULK - sent[i];
			ssize_t n;

			n = recv(fd[i], mem, sizeof(mem), MSG_DONTWAIT);
			got[i] += n > 0 ? (size_t)n : 0;
			stuck |= n == 0 && got[i] < BULK;
			n = send(fd[i], mem, left < 65536 ? left : 65536,
				 MSG_DONTWAIT | MSG_NOSIGNAL);
			sent[i] += n > 0 ? (size_t)n : 0;
		}
	}
	is_int(got[1], BULK, "all of it went up");
	is_int(got[0], BULK, "all of it came down");
}

/* --- limits ------------------------------------------------------------- */

static int client_from(uint32_t source, const char *text)
{
	struct sockaddr_in from = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(source),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	set_timeout(fd);
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
	    connect(fd, (struct sockaddr *)&plain_at, sizeof(plain_at)) < 0 ||
	    send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		abort();
	return fd;
}

#define SLOW (600u * 1024)

static void test_bandwidth(void)
{
	static char mem[SLOW + 1];
	SCOPED_FD c = client_from(INADDR_LOOPBACK + 1, GET("/", "a.test"));
	SCOPED_FD u = upstream();
	uint64_t begin = clock_ms();
	char head[256];

	hears(u, UP_GET("/", "a.test"), "a request of one that is throttled");
	memset(mem, 'a', SLOW);
	say(u, "HTTP/1.1 200 OK\r\nContent-Length: 614400\r\n\r\n");
	say(u, mem);
	read_upto(c, head,
		  strlen("HTTP/1.1 200 OK\r\nContent-Length: 614400\r\n"
			 "Connection: keep-alive\r\n\r\n"));
	is_int(read_upto(c, mem, SLOW), SLOW, "all comes");
	ok(clock_ms() - begin > 500, "but slowly");
}

static void test_volume(void)
{
	static char mem[128 * 1024];
	SCOPED_FD c = client_from(INADDR_LOOPBACK + 2,
				  "PUT / HTTP/1.1\r\nHost: a.test\r\n"
				  "Content-Length: 9999999\r\n\r\n");
	SCOPED_FD u = upstream();
	ssize_t n;

	n = send(c, mem, sizeof(mem), MSG_NOSIGNAL);
	ok(n > 0, "a body above the volume of the hour");
	ok(read_upto(u, mem, sizeof(mem) - 1) < sizeof(mem) - 1, "is cut off");
}

/* A killed sandbox sends no more of a request. */
static void test_killed(void)
{
	SCOPED_FD c = client(&plain_at, "PUT / HTTP/1.1\r\nHost: a.test\r\n"
					"Content-Length: 8\r\n\r\nhalf");
	SCOPED_FD u = upstream();
	char got[16];

	hears(u,
	      "PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 8\r\n"
	      "Connection: keep-alive\r\n\r\nhalf",
	      "half of a body goes up");
	atomic_store(&world.agent->usage.killed, true);
	send(c, "more", 4, MSG_NOSIGNAL);
	is_int(read_upto(u, got, 4), 0, "and the other half does not");
	atomic_store(&world.agent->usage.killed, false);
}

static void tests(void)
{
	test_expect();
	test_bad_chunk();
	test_stream();
	test_until_close();
	test_head();
	test_early_answer();
	test_unread_head();
	test_upstream_faults();
	test_interim_flood();
	test_websocket();
	test_kept_ends();
	test_bulk();
	test_bandwidth();
	test_volume();
	test_killed();
}

int main(void)
{
	return world_run(tests);
}
