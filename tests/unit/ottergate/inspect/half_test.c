/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half_test.c - inspected clients over HTTP/1.1 that say no more, and
 * still listen
 */
#include "tests/unit/ottergate/inspect/inspect_world.h"

/* Its write side is shut after the request: the answer comes all the same. */
static void test_half_close(void)
{
	SSL *c = client("big.test"), *u = upstream();

	say(c, GET("/1", "big.test") GET("/2", "big.test"));
	SSL_shutdown(c);
	shutdown(SSL_get_fd(c), SHUT_WR);
	hears(u, UP_GET("/1", "big.test"), "a request, and no more is said");
	say(u, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
	hears_with(c, "200", "its answer begins");
	say(u, "cde");
	hears(c, "abcde", "... and ends");
	hears(u, UP_GET("/2", "big.test"), "one that had been sent as well");
	say(u, REPLY);
	hears(c, DOWN, "has one, too");
	ends(c, true, "then it is over");
	ends(u, true, "on both sides");
	hang_up(c);
	hang_up(u);
	/* Nobody can tell from that whether anybody still listens. */
	c = client("big.test");
	u = upstream();
	say(c, GET("/s", "big.test"));
	hears_with(u, "GET /s ", "a stream of events");
	say(u, "HTTP/1.1 200 OK\r\n" CHUNKED "\r\n");
	hears_with(c, "200", "its head");
	bye(c);
	say(u, "9\r\ndata: x\n\n\r\n");
	ends(u, false, "who has gone is noticed by the next event");
	hang_up(u);
	ok(world_empty(), "and nothing is left");
}

#define LONG_BYTES (300u * 1024)

static void *long_answer(void *upstream)
{
	char piece[4097];
	char head[80];

	snprintf(head, sizeof(head),
		 "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", LONG_BYTES);
	say(upstream, head);
	memset(piece, 'x', sizeof(piece) - 1);
	piece[sizeof(piece) - 1] = '\0';
	for (size_t i = 0; i < LONG_BYTES; i += sizeof(piece) - 1)
		say(upstream, piece);
	return NULL;
}

static void end_said(SSL *c)
{
	SSL_shutdown(c);
	shutdown(SSL_get_fd(c), SHUT_WR);
}

/* More than the sockets hold: the answer is made before it is taken. */
static void test_half_close_long(void)
{
	static const struct {
		const char *what;
		bool behind; /* the end comes as the answer does */
		unsigned pause_us; /* of the reader, between its reads */
	} rows[] = {
		{ "a long answer is whole behind a half-close", false, 0 },
		{ "so it is for a slow reader", false, 1000 },
		{ "and where the end comes while it is read", true, 1000 },
	};
	const int few = 4096;
	char got[4097];
	pthread_t thread;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SSL *c = client("big.test"), *u = upstream();
		size_t n, sum = 0;

		setsockopt(SSL_get_fd(c), SOL_SOCKET, SO_RCVBUF, &few,
			   sizeof(few));
		say(c, GET("/long", "big.test"));
		if (!rows[i].behind)
			end_said(c);
		hears_with(u, "GET /long ", "a request");
		pthread_create(&thread, NULL, long_answer, u);
		hears_with(c, "200", "its answer begins");
		if (rows[i].behind)
			end_said(c);
		do {
			usleep(rows[i].pause_us);
			n = read_upto(c, got, sizeof(got) - 1);
			sum += n;
		} while (n > 0);
		pthread_join(thread, NULL);
		is_int(sum, LONG_BYTES, "%s", rows[i].what);
		ends(u, true, "the upstream hears of the end");
		hang_up(c);
		hang_up(u);
	}
	ok(world_empty(), "and nothing is left");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (!inspect_up("http/1.1"))
		return done_testing();
	test_half_close();
	test_half_close_long();
	inspect_down();
	return done_testing();
}
