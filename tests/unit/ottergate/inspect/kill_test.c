/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_test.c - a killed sandbox sends nothing more, on open connections neither
 *
 * HTTP/2 has its own in ottergate/inspect/h2_tls_test.c.
 */
#include "tests/unit/ottergate/inspect/inspect_world.h"

static void test_request(void)
{
	SSL *c = client("api.test"), *u = upstream();
	char head[512];

	snprintf(head, sizeof(head),
		 "GET /x HTTP/1.1\r\nHost: api.test\r\n"
		 "Authorization: Bearer %s\r\n\r\n",
		 peers.token);
	say(c, head);
	hears_with(u, REAL_TOKEN, "a request goes up with its token");
	say(u, REPLY);
	hears(c, DOWN, "and is answered");
	world_kill(true);
	say(c, head);
	hears_with(c, "HTTP/1.1 429 ", "the next is refused");
	ends(u, false, "and the upstream gets nothing of it");
	ok(world_audited(AUDIT_LIMIT, REASON_LIMIT_KILLED), "is audited");
	world_kill(false);
	hang_up(u);
	bye(c);
	ok(world_empty(), "nothing is left");
}

static void test_body(void)
{
	SSL *c = client("big.test"), *u = upstream();

	say(c, "POST /x HTTP/1.1\r\nHost: big.test\r\n"
	       "Content-Length: 8\r\n\r\nhalf");
	hears_with(u, "Content-Length: 8\r\n", "a head goes up");
	hears(u, "half", "and the first half of its body");
	world_kill(true);
	say(c, "more");
	ends(u, false, "the other half does not");
	ok(world_audited(AUDIT_LIMIT, REASON_LIMIT_KILLED), "is audited");
	world_kill(false);
	hang_up(u);
	hang_up(c);
	ok(world_empty(), "nothing is left");
}

int main(void)
{
	if (!inspect_up(NULL))
		return done_testing();
	test_request();
	test_body();
	inspect_down();
	return done_testing();
}
