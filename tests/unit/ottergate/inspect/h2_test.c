/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_test.c - requests and responses through the HTTP/2 engine
 */
#include "tests/unit/ottergate/inspect/h2_world.h"

#define HELD(p, i) rec(&w.p, i)->head

static bool has(const char *text, const char *word)
{
	return strstr(text, word) != NULL;
}

static void test_plain(void)
{
	static const char *const more[] = {
		"accept",      "text/html",       "forwarded",
		"for=1.2.3.4", "x-forwarded-for", "1.2.3.4",
		"host",        "a.test",          NULL
	};
	static const char *const back[] = { "content-length", "5", "alt-svc",
					    "h3", NULL };
	int32_t id;

	world_peers();
	id = ask("GET", "/secret?q=1", more, false);
	world_run();
	is_str(HELD(server, id),
	       ":method: GET\n:scheme: https\n:authority: a.test\n"
	       ":path: /secret?q=1\naccept: text/html\n"
	       "authorization: Bearer real (never indexed)\n",
	       "the head is written anew");
	ok(rec(&w.server, id)->end, "it ends with its head");
	is_int(inspect_h2.busy(&w.in), 1, "one request is open");
	answer(id, "200", back, true);
	say_text(&w.server, id, "hello", true);
	world_run();
	is_str(HELD(client, id), ":status: 200\ncontent-length: 5\n",
	       "the answer's head");
	ok(body_is(&w.client, id, "hello"), "its body");
	ok(rec(&w.client, id)->end && rec(&w.client, id)->closed, "its end");
	is_int(inspect_h2.busy(&w.in), 0, "no request is open");
	is_int(w.finished, 1, "it is told as finished");
	ok(!w.closed, "the connection stays");
	id = ask("GET", "/key=1", NULL, false);
	world_run();
	ok(has(HELD(server, id), ":path: /key=1 (never indexed)\n"),
	   "nor is a path with a credential");
	world_down();
}

/* gRPC: both ways at the same time, each piece at once, trailers at the end. */
static void test_bidi(void)
{
	static const char *const more[] = { "te", "trailers", "content-type",
					    "application/grpc", NULL };
	char want[8] = "";
	int32_t id;

	world_peers();
	id = ask("POST", "/svc/M", more, true);
	world_run();
	ok(has(HELD(server, id), "te: trailers\n"), "te: trailers goes on");
	answer(id, "200", NULL, true);
	for (unsigned i = 0; i < 5; i++) {
		const char piece[2] = { (char)('a' + i), '\0' };

		want[i] = (char)('a' + i);
		say_text(&w.client, id, piece, false);
		world_run();
		ok(body_is(&w.server, id, want), "up, at once: %s", want);
		say_text(&w.server, id, piece, false);
		world_run();
		ok(body_is(&w.client, id, want), "down, at once: %s", want);
	}
	rec(&w.client, id)->say_trailer = "x-checksum";
	say_text(&w.client, id, "", true);
	rec(&w.server, id)->say_trailer = "grpc-status";
	say_text(&w.server, id, "!", true);
	world_run();
	ok(has(HELD(server, id), "x-checksum: v\n"), "trailers up");
	ok(has(HELD(client, id), "grpc-status: v\n"), "trailers down");
	ok(body_is(&w.client, id, "abcde!"), "the whole body");
	ok(rec(&w.client, id)->end && rec(&w.server, id)->end, "both end");
	is_int(inspect_h2.busy(&w.in), 0, "nothing is left");
	world_down();
}

static void test_events(void)
{
	static const char *const more[] = { "content-type", "text/event-stream",
					    NULL };
	char want[256] = "";
	int32_t id, other;

	world_peers();
	id = ask("GET", "/events", NULL, false);
	world_run();
	answer(id, "200", more, true);
	for (unsigned i = 0; i < 8; i++) {
		memcpy(want + strlen(want), "data: x\n\n", 10);
		say_text(&w.server, id, "data: x\n\n", false);
		world_run();
		ok(body_is(&w.client, id, want), "event %u is there", i);
	}
	other = ask("GET", "/", NULL, false);
	world_run();
	answer(other, "204", NULL, false);
	world_run();
	ok(rec(&w.client, other)->end, "others go on meanwhile");
	nghttp2_submit_rst_stream(w.client.ng, 0, id, NGHTTP2_CANCEL);
	world_run();
	is_int(rec(&w.server, id)->error, NGHTTP2_CANCEL,
	       "the client's reset reaches the upstream");
	is_int(inspect_h2.busy(&w.in), 0, "and the stream is freed");
	world_down();
}

static void test_head_and_bare(void)
{
	static const char *const more[] = { "content-length", "77", NULL };
	int32_t id;

	world_peers();
	id = ask("HEAD", "/", NULL, false);
	world_run();
	answer(id, "200", more, false);
	world_run();
	is_str(HELD(client, id), ":status: 200\ncontent-length: 77\n", "HEAD");
	ok(rec(&w.client, id)->end, "without a body");
	id = ask("GET", "/", NULL, false);
	world_run();
	answer(id, "304", more, false);
	world_run();
	ok(has(HELD(client, id), ":status: 304\n") && rec(&w.client, id)->end,
	   "304");
	id = ask("OPTIONS", "*", NULL, false);
	world_run();
	ok(has(HELD(server, id), ":path: *\n"), "OPTIONS *");
	world_down();
}

static void test_interim(void)
{
	static const char *const more[] = { "link", "</a>", NULL };
	static const char *const wait[] = { "expect", "100-continue", NULL };
	int32_t id;

	world_peers();
	id = ask("POST", "/", wait, true);
	world_run();
	ok(has(HELD(server, id), "expect: 100-continue\n"), "expect goes up");
	answer(id, "100", NULL, false);
	answer(id, "103", more, false);
	world_run();
	is_str(HELD(client, id), ":status: 100\n:status: 103\nlink: </a>\n",
	       "1xx are passed on");
	answer(id, "200", NULL, true);
	say_text(&w.server, id, "ok", true);
	say_text(&w.client, id, "body", true);
	world_run();
	ok(body_is(&w.client, id, "ok") && body_is(&w.server, id, "body"),
	   "and the rest");
	id = ask("GET", "/", NULL, false);
	world_run();
	for (unsigned i = 0; i < 17; i++)
		answer(id, "103", NULL, false);
	world_run();
	ok(has(HELD(client, id), ":status: 502\n"), "too many of them");
	world_down();
}

/* --- denials -------------------------------------------------------------- */

static void test_denied(void)
{
	int32_t id, other, seen;

	world_peers();
	other = ask("POST", "/fine", NULL, true);
	world_run();
	seen = w.server.last;
	id = ask("POST", "/deny", NULL, true);
	say_text(&w.client, id, "some of it", false);
	world_run();
	is_str(HELD(client, id),
	       ":status: 403\ncontent-length: 11\n"
	       "content-type: text/plain\nx-ac-denied: method\n",
	       "a denial's head");
	ok(body_is(&w.client, id, "no: method\n"), "its text");
	ok(rec(&w.client, id)->closed && rec(&w.client, id)->error == 0,
	   "RST_STREAM(NO_ERROR) ends the request");
	is_int(w.server.last, seen, "the upstream saw nothing");
	answer(other, "200", NULL, true);
	say_text(&w.server, other, "hi", true);
	say_text(&w.client, other, "", true);
	world_run();
	ok(body_is(&w.client, other, "hi"), "other streams go on");
	w.judge_deny = REASON_LIMIT_RATE;
	id = ask("GET", "/", NULL, false);
	world_run();
	ok(has(HELD(client, id), ":status: 429\n"), "a limit denies");
	w.judge_deny = 0;
	is_int(inspect_h2.busy(&w.in), 0, "nothing is left");
	world_down();
}

static void test_body_denied(void)
{
	int32_t id;

	world_peers();
	id = ask("POST", "/", NULL, true);
	say_text(&w.client, id, "fine ", false);
	world_run();
	ok(body_is(&w.server, id, "fine "), "a body goes up");
	say_text(&w.client, id, "too much", false);
	world_run();
	ok(has(HELD(client, id), ":status: 413\n"), "413 in the middle");
	ok(body_is(&w.server, id, "fine "), "no more of it went up");
	is_int(rec(&w.server, id)->error, NGHTTP2_CANCEL, "it was reset");
	id = ask("POST", "/", NULL, true);
	world_run();
	answer(id, "200", NULL, true);
	say_text(&w.server, id, "early", false);
	world_run();
	say_text(&w.client, id, "too much", false);
	world_run();
	is_int(rec(&w.client, id)->error, NGHTTP2_CANCEL,
	       "an answer that has begun is cut");
	ok(!rec(&w.client, id)->end, "and does not end as if whole");
	is_int(inspect_h2.busy(&w.in), 0, "nothing is left");
	world_down();
}

static void test_held(void)
{
	static const char *const wait[] = { "expect", "100-continue", NULL };
	int32_t id, seen;

	world_peers();
	id = ask("POST", "/hold", wait, true);
	world_run();
	is_str(HELD(client, id), ":status: 100\n", "we say 100 ourselves");
	say_text(&w.client, id, "que", false);
	world_run();
	is_int(rec(&w.server, id)->heads, 0, "nothing goes up yet");
	say_text(&w.client, id, "ry", true);
	world_run();
	ok(body_is(&w.server, id, "query") && rec(&w.server, id)->end,
	   "then all of it");
	ok(!has(HELD(server, id), "expect"), "without expect");
	answer(id, "200", NULL, false);
	world_run();
	seen = w.server.last;
	id = ask("POST", "/hold", NULL, true);
	say_text(&w.client, id, "mutation", true);
	world_run();
	ok(has(HELD(client, id), ":status: 403\n"), "denied at its end");
	is_int(w.server.last, seen, "the upstream saw nothing");
	id = ask("GET", "/hold", NULL, false);
	world_run();
	ok(rec(&w.server, id - 2)->end, "one without a body goes up");
	world_down();
}

/* A few bodies that are held do not stop the connection's window. */
static void test_held_many(void)
{
	static char body[200 * 1024];
	int32_t id[6];

	memset(body, 'q', sizeof(body));
	world_peers();
	for (unsigned i = 0; i < ARRAY_SIZE(id); i++) {
		id[i] = ask("POST", "/hold", NULL, true);
		say(&w.client, id[i], body, sizeof(body), false);
	}
	world_run();
	for (unsigned i = 0; i < ARRAY_SIZE(id); i++)
		say_text(&w.client, id[i], "", true);
	world_run();
	for (unsigned i = 0; i < ARRAY_SIZE(id); i++)
		is_int(buf_len(&rec(&w.server, id[i])->body), sizeof(body),
		       "body %u", i);
	world_down();
}

static void test_bad_answers(void)
{
	static const char *const spoilt[] = { "x-spoilt", "1", NULL };
	int32_t id;

	world_peers();
	id = ask("GET", "/", NULL, false);
	world_run();
	answer(id, "200", spoilt, true);
	world_run();
	ok(has(HELD(client, id), ":status: 502\n"), "a head that may not pass");
	is_int(rec(&w.server, id)->error, NGHTTP2_CANCEL, "is reset");
	id = ask("GET", "/", NULL, false);
	world_run();
	answer(id, "200", NULL, true);
	say_text(&w.server, id, "clean", false);
	world_run();
	say_text(&w.server, id, "spoilt", true);
	world_run();
	is_int(rec(&w.client, id)->error, NGHTTP2_INTERNAL_ERROR,
	       "a body that cannot be cleaned is cut");
	ok(!rec(&w.client, id)->end && body_is(&w.client, id, "clean"),
	   "nothing of it passes");
	is_int(inspect_h2.busy(&w.in), 0, "nothing is left");
	world_down();
}

/* --- flow control --------------------------------------------------------- */

static void test_stalled(void)
{
	static char big[600 * 1024];
	int32_t id, other;

	memset(big, 'x', sizeof(big));
	world_peers();
	id = ask("GET", "/big", NULL, false);
	world_run();
	w.client.stalled = true;
	answer(id, "200", NULL, true);
	say(&w.server, id, big, sizeof(big), true);
	world_run();
	is_int(buf_len(&rec(&w.client, id)->body), 65535,
	       "the client's window is used");
	is_int(sizeof(big) - buf_len(&rec(&w.server, id)->say), H2_WINDOW,
	       "the upstream's as well, and no more");
	nghttp2_session_consume_connection(w.client.ng, 65535);
	w.client.stalled = false;
	other = ask("GET", "/", NULL, false);
	world_run();
	answer(other, "200", NULL, true);
	say_text(&w.server, other, "hi", true);
	world_run();
	ok(body_is(&w.client, other, "hi"), "others go on");
	nghttp2_session_consume_stream(w.client.ng, id, 65535);
	world_run();
	is_int(buf_len(&rec(&w.client, id)->body), sizeof(big),
	       "it goes on when the client reads");
	world_down();
}

static void test_socket_full(void)
{
	static char big[300 * 1024];
	int32_t id;

	memset(big, 'x', sizeof(big));
	world_peers();
	w.up_out.cap = 0; /* the upstream does not read */
	id = ask("POST", "/", NULL, true);
	say(&w.client, id, big, sizeof(big), true);
	world_run();
	is_int(sizeof(big) - buf_len(&rec(&w.client, id)->say), H2_WINDOW,
	       "one window, no byte more");
	w.up_out.cap = 1000;
	for (unsigned i = 0; i < 2000; i++)
		world_run();
	is_int(buf_len(&rec(&w.server, id)->body), sizeof(big),
	       "all comes through a narrow pipe");
	world_down();
}

static void test_rest(void)
{
	int32_t id;

	world_peers();
	w.rest_up = 100;
	id = ask("POST", "/", NULL, true);
	say_text(&w.client, id, "body", true);
	world_run();
	is_int(rec(&w.server, id)->heads, 1, "heads pass");
	is_int(buf_len(&rec(&w.server, id)->body), 0, "bodies rest");
	answer(id, "200", NULL, true);
	say_text(&w.server, id, "hi", false);
	world_run();
	ok(body_is(&w.client, id, "hi"), "the other direction does not");
	w.rest_up = 0;
	world_run();
	ok(body_is(&w.server, id, "body"), "rested");
	ok(w.accounted_up > 4 && w.accounted_down > 2, "both are accounted");
	world_down();
}

/* --- ends ----------------------------------------------------------------- */

static void test_upstream_reset(void)
{
	int32_t id;

	world_peers();
	id = ask("POST", "/", NULL, true);
	world_run();
	nghttp2_submit_rst_stream(w.server.ng, 0, id, NGHTTP2_REFUSED_STREAM);
	world_run();
	is_int(rec(&w.client, id)->error, NGHTTP2_REFUSED_STREAM,
	       "the upstream's code");
	id = ask("POST", "/", NULL, true);
	world_run();
	answer(id, "200", NULL, true);
	say_text(&w.server, id, "part", false);
	world_run();
	nghttp2_submit_rst_stream(w.server.ng, 0, id,
				  NGHTTP2_ENHANCE_YOUR_CALM);
	world_run();
	is_int(rec(&w.client, id)->error, NGHTTP2_ENHANCE_YOUR_CALM,
	       "in the middle too");
	ok(!rec(&w.client, id)->end, "as no end");
	id = ask("POST", "/", NULL, true);
	world_run();
	answer(id, "200", NULL, true);
	say_text(&w.server, id, "enough", true);
	world_run();
	ok(rec(&w.client, id)->end && !rec(&w.client, id)->closed,
	   "an early answer leaves the request open");
	nghttp2_submit_rst_stream(w.server.ng, 0, id, NGHTTP2_NO_ERROR);
	world_run();
	ok(rec(&w.client, id)->closed && rec(&w.client, id)->error == 0,
	   "until the upstream wants no more");
	is_int(inspect_h2.busy(&w.in), 0, "nothing is left");
	world_down();
}

static void test_goaway(void)
{
	int32_t id;

	world_peers();
	id = ask("GET", "/", NULL, false);
	world_run();
	nghttp2_submit_goaway(w.server.ng, 0, id, NGHTTP2_NO_ERROR, NULL, 0);
	world_run();
	ok(w.client.goaway && w.client.goaway_error == 0,
	   "GOAWAY is passed on");
	ok(!w.closed, "what is open goes on");
	answer(id, "200", NULL, true);
	say_text(&w.server, id, "last", true);
	world_run();
	ok(body_is(&w.client, id, "last"), "and ends");
	ok(w.closed && !w.cut, "then the connection closes");
	world_down();
}

static void test_upstream_lost(void)
{
	int32_t id, done;

	world_peers();
	done = ask("GET", "/", NULL, false);
	id = ask("GET", "/", NULL, false);
	world_run();
	answer(done, "200", NULL, true);
	say_text(&w.server, done, "whole", true);
	peer_pump(&w.server);
	w.down_in.closed = w.up_out.closed = true;
	world_run();
	ok(body_is(&w.client, done, "whole") && rec(&w.client, done)->end,
	   "what came whole is passed on");
	is_int(rec(&w.client, id)->error, NGHTTP2_INTERNAL_ERROR,
	       "the other is reset");
	ok(w.client.goaway, "the client is told");
	ok(w.closed && !w.cut, "the connection closes");
	world_down();
}

static void test_client_gone(void)
{
	world_peers();
	ask("GET", "/", NULL, false);
	world_run();
	w.up_in.closed = true;
	world_run();
	ok(w.closed && w.cut, "the client left in the middle: cut");
	world_down();
	is_int(w.finished, 1, "its request is told as finished");
	world_peers();
	w.up_in.closed = true;
	world_run();
	ok(w.closed && !w.cut, "it left between requests: closed");
	world_down();
	world_peers();
	nghttp2_session_terminate_session(w.client.ng, NGHTTP2_NO_ERROR);
	world_run();
	ok(w.closed && !w.cut, "it said goodbye: closed");
	world_down();
}

static void test_fail(void)
{
	int32_t id;

	world_peers();
	id = ask("GET", "/", NULL, false);
	world_run();
	inspect_h2.fail(&w.in, 504, REASON_CONNECT_TIMEOUT);
	peer_pump(&w.client);
	ok(has(HELD(client, id), ":status: 504\n"), "a deadline is answered");
	ok(w.client.goaway && w.closed, "and ends the connection");
	world_down();
}

/* What the upstream does not take yet waits for it. */
static void test_queue(void)
{
	const nghttp2_settings_entry one = {
		NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1
	};
	int32_t a, b;

	world_peers();
	nghttp2_submit_settings(w.server.ng, NGHTTP2_FLAG_NONE, &one, 1);
	world_run();
	a = ask("GET", "/a", NULL, false);
	b = ask("GET", "/b", NULL, false);
	world_run();
	is_int(rec(&w.server, b)->heads, 0, "the second one waits");
	nghttp2_submit_rst_stream(w.client.ng, 0, b, NGHTTP2_CANCEL);
	world_run();
	is_int(rec(&w.client, b)->error, NGHTTP2_CANCEL, "and is reset there");
	b = ask("GET", "/c", NULL, false);
	answer(a, "200", NULL, false);
	world_run();
	is_int(inspect_h2.busy(&w.in), 1, "of the three, one is left");
	ok(has(rec(&w.server, 3)->head, ":path: /c\n") ||
		   has(rec(&w.server, 5)->head, ":path: /c\n"),
	   "its turn comes");
	nghttp2_submit_goaway(w.server.ng, 0, 1, NGHTTP2_NO_ERROR, NULL, 0);
	world_run();
	is_int(rec(&w.client, b)->error, NGHTTP2_REFUSED_STREAM,
	       "not taken: it may be asked elsewhere");
	world_down();
}

static void test_many(void)
{
	int32_t id = 0;
	size_t good = 0;

	world_peers();
	for (unsigned i = 0; i < 1000; i++) {
		id = ask("POST", "/", NULL, true);
		say_text(&w.client, id, "q", true);
		world_run();
		answer(id, "200", NULL, true);
		say_text(&w.server, id, "a", true);
		world_run();
		good += body_is(&w.client, id, "a") &&
			inspect_h2.busy(&w.in) == 0;
	}
	is_int(good, 1000, "a thousand requests");
	is_int(w.finished, 1000, "each is freed at its end");
	world_down();
}

int main(void)
{
	test_plain();
	test_bidi();
	test_events();
	test_head_and_bare();
	test_interim();
	test_denied();
	test_body_denied();
	test_held();
	test_held_many();
	test_bad_answers();
	test_stalled();
	test_socket_full();
	test_rest();
	test_upstream_reset();
	test_goaway();
	test_upstream_lost();
	test_client_gone();
	test_fail();
	test_queue();
	test_many();
	return done_testing();
}
