/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alarm_test.c - a server that sends the real token back, encoded
 *
 * HTTP/2 has its own in ottergate/inspect/h2_tls_test.c;
 * ottergate/inspect/mask/reveal_test.c has the encodings.
 */
#include "tests/unit/ottergate/inspect/inspect_world.h"

#define TAIL "hp_real0token0that0nobody0may0ever0see1"

static void ask(SSL *c)
{
	char head[512];

	snprintf(head, sizeof(head),
		 "GET /x HTTP/1.1\r\nHost: api.test\r\n"
		 "Authorization: Bearer %s\r\n\r\n",
		 peers.token);
	say(c, head);
}

/* The next request of the sandbox, on another connection. */
static void check_revoked(void)
{
	SSL *c = client("api.test"), *u = upstream();

	ask(c);
	hears_with(c, "HTTP/1.1 403 ", "the credential is revoked");
	ok(world_audited(AUDIT_DENY, REASON_REVOKED), "which is audited");
	hang_up(c);
	ends(u, true, "nothing goes up");
	hang_up(u);
	secret_clear();
}

static void test_body(const char *fields, const char *down, const char *first,
		      const char *heard, const char *last)
{
	SSL *c = client("api.test"), *u = upstream();
	char head[256];

	ask(c);
	hears_with(u, REAL_TOKEN, "the real token goes up");
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\n%s\r\n", fields);
	say(u, head);
	hears_with(c, down, "the head comes");
	say(u, first);
	hears(c, heard, "what is harmless comes");
	say(u, last);
	ends(c, false, "then the connection is cut");
	ok(world_audited(AUDIT_ALARM, REASON_REFLECTION), "an alarm");
	hang_up(c);
	hang_up(u);
	check_revoked();
}

static void test_field(void)
{
	SSL *c = client("api.test"), *u = upstream();

	ask(c);
	hears_with(u, REAL_TOKEN, "the real token goes up");
	say(u, "HTTP/1.1 302 Found\r\nLocation: https://x.test/?t=%67" TAIL
	       "\r\nContent-Length: 0\r\n\r\n");
	hears_with(c, "X-Ac-Denied: reflection\r\n", "the head does not come");
	ok(world_audited(AUDIT_ALARM, REASON_REFLECTION), "an alarm");
	hang_up(c);
	hang_up(u);
	check_revoked();
}

static void test_trailer(void)
{
	test_body(CHUNKED, "Transfer-Encoding: chunked", "2\r\nhi\r\n",
		  "2\r\nhi\r\n", "0\r\nX-T: &#103;" TAIL "\r\n\r\n");
}

static bool said(const char *part)
{
	for (size_t i = 0; i < world.n_lines && i < WORLD_LINES; i++) {
		if (strstr(world.lines[i], part))
			return true;
	}
	return false;
}

/* Waits for the audit of the connection's end, which comes after all others of
 * it. */
static bool audited_end(void)
{
	for (unsigned i = 0; i < 3000; i++) {
		world_listening(10);
		if (said("\"event\":\"close\""))
			return true;
	}
	return false;
}

/* Another value in the same encodings passes. */
static void test_other(void)
{
	static const char body[] = "&#103;" TAIL;
	SSL *c = client("api.test"), *u = upstream();
	char text[256], want[256];
	size_t len = strlen(body);

	ask(c);
	hears_with(u, REAL_TOKEN, "the real token goes up");
	snprintf(text, sizeof(text),
		 "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%.*sX", len,
		 (int)len - 1, body);
	say(u, text);
	hears_with(c, "HTTP/1.1 200 OK", "an answer with another value");
	snprintf(want, sizeof(want), "%.*sX", (int)len - 1, body);
	hears(c, want, "comes as it is");
	hang_up(c);
	hang_up(u);
	ok(audited_end(), "the end is audited");
	ok(!said(reason_code(REASON_REFLECTION)), "and no alarm before it");
}

int main(void)
{
	if (!inspect_up(NULL))
		return done_testing();
	test_other();
	test_body("Content-Length: 90\r\n", "Content-Length: 90", "you sent ",
		  "you sent ", "\\u0067" TAIL "\n");
	test_body(
		CHUNKED, "Transfer-Encoding: chunked", "5\r\nyou: \r\n",
		"5\r\nyou: \r\n",
		"37\r\nZ2hwX3JlYWwwdG9rZW4wdGhhdDBub2J\nvZHkwbWF5MGV2ZXIwc2VlMQ"
		"\r\n");
	test_body("Connection: close\r\n", "200 OK",
		  "to: ", "to: ", "%67" TAIL);
	test_trailer();
	test_field();
	inspect_down();
	return done_testing();
}
