/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_test.c - the end of a message that begins as a masked value does
 *
 * The gateway holds it back, for the rest may follow. When none does for a
 * moment it goes on, or both sides would wait for each other. HTTP/2 has its
 * own in ottergate/inspect/h2_tls_test.c.
 */
#include "tests/unit/ottergate/inspect/inspect_world.h"

/* A request with a surrogate, as far as its answer's head. */
static bool begin(SSL **c, SSL **u, const char *fields, const char *down)
{
	char head[512];

	snprintf(head, sizeof(head),
		 "GET /x HTTP/1.1\r\nHost: api.test\r\n"
		 "Authorization: Bearer %s\r\n\r\n",
		 peers.token);
	*c = client("api.test");
	*u = upstream();
	say(*c, head);
	hears_with(*u, REAL_TOKEN, "the real token goes up");
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\n%s\r\n", fields);
	say(*u, head);
	hears_with(*c, down, "the answer's head comes");
	return *c && *u;
}

static void end(SSL *c, SSL *u)
{
	bye(u);
	bye(c);
	ok(world_empty(), "nothing is left");
}

static void test_chunks(void)
{
	SSL *c, *u;

	if (!begin(&c, &u, CHUNKED, "Transfer-Encoding: chunked"))
		return;
	say(u, "5\r\nto gh\r\n");
	hears(c, "3\r\nto \r\n2\r\ngh\r\n", "a chunk comes, to its end");
	say(u, "1\r\no\r\n");
	hears(c, "1\r\no\r\n", "and the next");
	say(u, "1\r\ng\r\n");
	hears(c, "1\r\ng\r\n", "one byte, too");
	say(u, "29\r\nhp_real0token0that0nobody0may0ever0see1.\n\r\n");
	hears(c, "29\r\n***************************************.\n\r\n",
	      "what it then was the beginning of is masked");
	say(u, "0\r\n\r\n");
	hears(c, "0\r\n\r\n", "to the end");
	end(c, u);
}

static void test_length(void)
{
	SSL *c, *u;

	if (!begin(&c, &u, "Content-Length: 9\r\n", "Content-Length: 9"))
		return;
	say(u, "to gh");
	hears(c, "to gh", "what has come of a body comes");
	say(u, " end");
	hears(c, " end", "to the end");
	end(c, u);
}

int main(void)
{
	if (!inspect_up(NULL))
		return done_testing();
	test_chunks();
	test_length();
	inspect_down();
	return done_testing();
}
