/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_test.c - a client's connection, joined to a run
 */
#include "tests/unit/control/acd/api/http/stream_world.h"

static void test_short_run(void)
{
	struct client c;

	client_init(&c, STREAM_OWNER);
	c.run.ops->started(c.run.arg, 7);
	run_emit(&c, 5);
	c.run.ops->notice(c.run.arg, 1, "mind");
	run_end(&c);
	client_connect(&c);
	client_settle(&c);
	ok(c.started == 1 && c.output == 5 && c.notices == 1 && c.exits == 1,
	   "a run that is over before the connection is there is seen whole");
	ok(c.eof, "and the connection ends");
	is_int(c.run.abandoned, 0, "as it should");
	client_done(&c);
}

static void test_never_connected(void)
{
	struct client c;

	client_init(&c, STREAM_OWNER);
	run_emit(&c, 5);
	stream_connect(c.st, -1, slice_of(NULL, 0));
	is_int(c.run.abandoned, 1, "a client that never comes abandons");
	ok(!c.run.ops, "and does not watch");
	close(c.far);
	client_done(&c);

	client_init(&c, STREAM_DETACHED);
	stream_connect(c.st, -1, slice_of(NULL, 0));
	ok(c.run.abandoned == 0 && c.run.detached == 1,
	   "but a detached run goes on");
	close(c.far);
	client_done(&c);
}

static void test_output(void)
{
	struct client c;
	int i;

	client_init(&c, STREAM_OWNER);
	client_connect(&c);
	run_emit(&c, LINK_WINDOW);
	client_settle(&c);
	is_int(c.output, LINK_WINDOW, "one window comes without credit");
	is_int(c.run.credited, 0, "the run gets none either");
	client_give(&c, 1000);
	client_settle(&c);
	is_int(c.run.credited, 1000, "credit is passed on");
	run_emit(&c, 1000);
	for (i = 0; i < 50; i++) {
		client_give(&c, LINK_WINDOW);
		client_settle(&c);
		run_emit(&c, LINK_WINDOW);
		client_settle(&c);
	}
	is_int(c.output, 51ull * LINK_WINDOW + 1000, "and so on");
	client_give(&c, LINK_WINDOW + 1);
	client_settle(&c);
	ok(c.eof && c.run.abandoned == 1, "too much credit ends the client");
	client_done(&c);
}

static void test_client_not_reading(void)
{
	struct client c;

	client_init(&c, STREAM_OWNER);
	client_connect(&c);
	run_emit(&c, LINK_WINDOW);
	step_for(c.loop, 20);
	c.run.ops->notice(c.run.arg, 1, "mind");
	run_end(&c);
	step_for(c.loop, 20);
	client_settle(&c);
	ok(c.output == LINK_WINDOW && c.notices == 1 && c.exits == 1 && c.eof,
	   "a slow client gets it all, in order, and then the end");
	client_done(&c);
}

/* A frame of one byte has nine of header, which are in nobody's window. */
static void test_tiny_output(void)
{
	struct client c;
	size_t i;

	client_init(&c, STREAM_OWNER);
	client_connect(&c);
	for (i = 0; i < LINK_WINDOW; i++)
		run_emit(&c, 1);
	step_for(c.loop, 20);
	run_end(&c);
	client_settle(&c);
	ok(c.output == LINK_WINDOW && c.exits == 1 && c.eof,
	   "a window of single bytes waits for a client that is paused");
	client_done(&c);

	client_init(&c, STREAM_OWNER);
	client_connect(&c);
	for (i = 0; i < LINK_WINDOW; i++)
		c.run.ops->output(c.run.arg, i % 2 ? LINK_STDERR : LINK_STDOUT,
				  slice_of("x", 1));
	run_end(&c);
	STEP_UNTIL(c.loop, (client_read(&c), c.eof));
	ok(c.output == LINK_WINDOW && c.exits == 1 && c.eof,
	   "also when two streams take turns");
	client_done(&c);
}

static void test_replay(void)
{
	static char old[STREAM_REPLAY_MAX], *half = old + sizeof(old) / 2;
	struct client c;
	uint64_t given;

	client_init(&c, STREAM_GUEST);
	c.run.tty = true;
	is_int(stream_replay(c.st, old, sizeof(old) / 2), 0, "replay");
	is_int(stream_replay(c.st, half, sizeof(old) / 2), 0, "in pieces");
	is_int(stream_replay(c.st, old, 1), -EMSGSIZE, "has a limit");
	run_emit(&c, LINK_WINDOW);
	run_end(&c);
	client_connect(&c);
	client_settle(&c);
	ok(c.output <= LINK_WINDOW && c.output > LINK_WINDOW / 2,
	   "replay and output share the client's window");
	is_int(c.exits, 0, "and EXIT waits behind what is held");
	given = c.output;
	client_give(&c, (uint32_t)given);
	client_settle(&c);
	is_int(c.output, LINK_WINDOW + sizeof(old), "until it gives credit");
	ok(c.exits == 1 && c.eof, "then EXIT comes");
	is_int(c.run.credited + sizeof(old), given,
	       "the replay is not the run's to be credited for");
	client_done(&c);
}

static void test_stdin(void)
{
	static char block[LINK_PAYLOAD_MAX];
	struct client c;
	int i;

	client_init(&c, STREAM_OWNER);
	client_connect(&c);
	c.run.room = 10;
	client_frame(&c, LINK_STDIN, 1, block, 25);
	client_settle(&c);
	is_int(c.run.got, 10, "stdin goes as far as there is room");
	client_frame(&c, LINK_STDIN_EOF, 1, NULL, 0);
	client_settle(&c);
	ok(!c.run.eof, "the end waits for the rest");
	c.run.room = 100;
	c.run.ops->stdin_credit(c.run.arg);
	ok(c.run.got == 25 && c.run.eof, "which follows");
	client_frame(&c, LINK_STDIN, 1, block, 1);
	client_settle(&c);
	ok(c.eof && c.run.abandoned == 1, "STDIN after STDIN_EOF is an error");
	client_done(&c);

	client_init(&c, STREAM_OWNER);
	client_connect(&c);
	c.run.room = 0;
	for (i = 0; i < (int)(LINK_WINDOW / sizeof(block)); i++)
		client_frame(&c, LINK_STDIN, 1, block, sizeof(block));
	client_settle(&c);
	ok(!c.eof && c.credit == 0, "a window of stdin is held");
	c.run.room = LINK_WINDOW;
	c.run.ops->stdin_credit(c.run.arg);
	client_settle(&c);
	is_int(c.credit, LINK_WINDOW, "and credited when it was passed on");
	c.run.room = 0;
	for (i = 0; i <= (int)(LINK_WINDOW / sizeof(block)); i++)
		client_frame(&c, LINK_STDIN, 1, block, sizeof(block));
	client_settle(&c);
	ok(c.eof && c.run.abandoned == 1, "one frame more ends the client");
	client_done(&c);
}

static void test_early(void)
{
	struct client c;
	struct buf b = { .max = 1024 };

	client_init(&c, STREAM_OWNER);
	if (link_put(&b, LINK_STDIN, 1, "abc", 3) < 0 ||
	    link_put_u32(&b, LINK_SIGNAL, 1, 15) < 0)
		abort();
	stream_connect(c.st, c.far,
		       slice_of(buf_slice(&b).ptr, buf_len(&b) - 2));
	is_int(c.run.got, 3, "bytes that came with the request's head");
	client_send(&c, buf_slice(&b).ptr + buf_len(&b) - 2, 2);
	client_settle(&c);
	is_int(c.run.signo, 15, "half a frame of them, too");
	buf_done(&b);
	client_done(&c);
}

static bool is_watched(const struct client *c)
{
	return c->run.ops;
}

static void test_leaving_input(void)
{
	struct client c;

	client_init(&c, STREAM_OWNER);
	client_connect(&c);
	c.run.room = 0;
	client_frame(&c, LINK_STDIN, 1, "abc", 3);
	client_frame(&c, LINK_STDIN_EOF, 1, NULL, 0);
	client_frame(&c, LINK_DETACH, 0, NULL, 0);
	client_settle(&c);
	ok(c.eof && c.run.detached == 0 && c.run.abandoned == 0,
	   "what was typed before DETACH is kept");
	run_emit(&c, LINK_WINDOW);
	ok(c.run.credited >= LINK_WINDOW, "while output passes");
	c.run.room = 2;
	c.run.ops->stdin_credit(c.run.arg);
	ok(c.run.got == 2 && is_watched(&c), "until the run");
	c.run.room = 2;
	c.run.ops->stdin_credit(c.run.arg);
	ok(c.run.got == 3 && c.run.eof && c.run.detached == 1 &&
		   !is_watched(&c),
	   "has all of it");
	client_done(&c);

	client_init(&c, STREAM_DETACHED);
	client_connect(&c);
	c.run.room = 0;
	client_frame(&c, LINK_STDIN, 1, "abc", 3);
	client_frame(&c, LINK_DETACH, 0, NULL, 0);
	client_settle(&c);
	run_end(&c);
	ok(c.eof && c.run.abandoned == 0, "or ends without");
	client_done(&c);
}

static void test_leaving(void)
{
	struct client c;

	client_init(&c, STREAM_OWNER);
	client_connect(&c);
	client_frame(&c, LINK_DETACH, 0, NULL, 0);
	client_settle(&c);
	ok(c.eof && c.run.detached == 1 && c.run.abandoned == 0 && !c.run.ops,
	   "DETACH leaves the run alone");
	client_done(&c);

	client_init(&c, STREAM_OWNER);
	client_connect(&c);
	client_frame(&c, LINK_CLOSE, 1, NULL, 0);
	client_settle(&c);
	ok(c.eof && c.run.abandoned == 1, "CLOSE ends it");
	client_done(&c);

	client_init(&c, STREAM_OWNER);
	client_connect(&c);
	close(c.fd);
	c.fd = -1;
	STEP_UNTIL(c.loop, c.run.abandoned);
	ok(c.run.abandoned == 1 && !c.run.ops, "so does a lost connection");
	client_done(&c);

	client_init(&c, STREAM_DETACHED);
	client_connect(&c);
	close(c.fd);
	c.fd = -1;
	STEP_UNTIL(c.loop, c.run.detached);
	ok(c.run.detached == 1 && c.run.abandoned == 0,
	   "unless the run is detached");
	client_done(&c);

	client_init(&c, STREAM_GUEST);
	client_connect(&c);
	close(c.fd);
	c.fd = -1;
	STEP_UNTIL(c.loop, !c.run.ops);
	ok(c.run.detached == 0 && c.run.abandoned == 0,
	   "or the client only looked on");
	client_done(&c);
}

/* What a client says last counts, also if output waits for it in vain. */
static void test_leaving_output(void)
{
	static const uint8_t hup[4] = { 0, 0, 0, 1 };
	struct client c;

	client_init(&c, STREAM_OWNER);
	client_connect(&c);
	run_emit(&c, LINK_WINDOW);
	step_for(c.loop, 5);
	client_frame(&c, LINK_SIGNAL, 1, hup, sizeof(hup));
	client_frame(&c, LINK_DETACH, 1, NULL, 0);
	close(c.fd);
	c.fd = -1;
	STEP_UNTIL(c.loop, c.run.detached || c.run.abandoned);
	is_int(c.run.signo, 1, "a signal behind which the client has gone");
	ok(c.run.detached == 1 && c.run.abandoned == 0 && !c.run.ops,
	   "and DETACH are heard while output waits");
	client_done(&c);

	client_init(&c, STREAM_OWNER);
	client_connect(&c);
	run_emit(&c, LINK_WINDOW);
	step_for(c.loop, 5);
	client_frame(&c, LINK_SIGNAL, 1, hup, sizeof(hup));
	close(c.fd);
	c.fd = -1;
	STEP_UNTIL(c.loop, c.run.detached || c.run.abandoned);
	ok(c.run.detached == 0 && c.run.abandoned == 1 && !c.run.ops,
	   "without DETACH the run ends with its client");
	client_done(&c);
}

static void test_guest_role(void)
{
	static const uint8_t size[4] = { 0, 33, 0, 99 };
	struct client c;

	client_init(&c, STREAM_GUEST);
	client_connect(&c);
	client_frame(&c, LINK_STDIN, 1, "x", 1);
	client_frame(&c, LINK_STDIN_EOF, 1, NULL, 0);
	client_frame(&c, LINK_RESIZE, 1, size, 4);
	client_settle(&c);
	ok(c.run.got == 0 && !c.run.eof && c.run.rows == 0 && !c.eof,
	   "who looks on a pipe has no say");
	client_done(&c);

	client_init(&c, STREAM_GUEST);
	c.run.tty = true;
	client_connect(&c);
	client_frame(&c, LINK_STDIN, 1, "x", 1);
	client_frame(&c, LINK_RESIZE, 1, size, 4);
	client_frame(&c, LINK_STDIN_EOF, 1, NULL, 0);
	client_settle(&c);
	ok(c.run.got == 1 && !c.run.eof && c.run.rows == 33,
	   "who is at a terminal types, but does not end it");
	client_done(&c);
}

static void test_bad_client(void)
{
	static const struct {
		const char *what, *bytes;
		size_t len;
	} cases[] = {
		{ "a frame of 4 GB", "\xff\xff\xff\xff\x21\0\0\0\1", 9 },
		{ "an unknown type", "\0\0\0\5\x99\0\0\0\1", 9 },
		{ "another channel", "\0\0\0\6\x21\0\0\0\2x", 10 },
		{ "EXEC", "\0\0\0\x15\x20\0\0\0\1abcdefghijklmnop", 25 },
		{ "STDOUT", "\0\0\0\6\x31\0\0\0\1x", 10 },
		{ "signal 0", "\0\0\0\x09\x23\0\0\0\1\0\0\0\0", 13 },
		{ "text", "GET / HTTP/1.1\r\n\r\n", 18 },
	};
	struct client c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		client_init(&c, STREAM_OWNER);
		client_connect(&c);
		client_send(&c, cases[i].bytes, cases[i].len);
		client_settle(&c);
		ok(c.eof && c.run.abandoned == 1, "%s ends the client",
		   cases[i].what);
		client_done(&c);
	}
}

int main(void)
{
	test_short_run();
	test_never_connected();
	test_output();
	test_client_not_reading();
	test_tiny_output();
	test_replay();
	test_stdin();
	test_early();
	test_leaving_input();
	test_leaving();
	test_leaving_output();
	test_guest_role();
	test_bad_client();
	return done_testing();
}
