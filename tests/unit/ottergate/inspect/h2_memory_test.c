/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_memory_test.c - streams that a client does not read, when the
 * memory of its sandbox is used
 */
#define RECORDS 256u
#define TEXT_MAX 1024u
#include "tests/unit/ottergate/inspect/h2_world.h"

#define STREAMS 40u

static size_t held(void)
{
	return inspect_h2.held(&w.in);
}

static void begin(int32_t *id, const char *big, size_t len, bool scarce)
{
	world_peers();
	w.scarce = scarce;
	w.client.stalled = true;
	w.down_out.cap = 0; /* and its socket is full */
	for (unsigned i = 0; i < STREAMS; i++)
		id[i] = ask("GET", "/", NULL, false);
	world_run();
	for (unsigned i = 0; i < STREAMS; i++) {
		answer(id[i], "200", NULL, true);
		say(&w.server, id[i], big, len, true);
	}
	world_run();
}

static void test_unread(void)
{
	static char big[64 * 1024];
	int32_t id[STREAMS];
	size_t wide, narrow, whole = 0;

	memset(big, 'x', sizeof(big));
	begin(id, big, sizeof(big), false);
	wide = held();
	ok(wide >= H2_CONN_WINDOW, "with memory to spare: %zu bytes held",
	   wide);
	world_down();

	begin(id, big, sizeof(big), true);
	narrow = held();
	ok(w.most < CONN_ROOM_LITTLE + 32 * 1024,
	   "without: no more is read: %zu bytes wait", w.most);
	ok(narrow < wide / 4, "%zu bytes held", narrow);
	w.scarce = false;
	w.client.stalled = false;
	w.down_out.cap = PIPE_MAX;
	nghttp2_session_consume_connection(w.client.ng, 65535);
	world_run();
	for (unsigned i = 0; i < STREAMS; i++)
		whole += buf_len(&rec(&w.client, id[i])->body) == sizeof(big);
	is_int(whole, STREAMS, "nothing is lost: all comes when it is read");
	world_down();
}

/* What nghttp2 keeps of streams that say little is counted as well. */
static void test_sessions(void)
{
	size_t none, some;

	world_peers();
	none = held();
	for (unsigned i = 0; i < STREAMS; i++)
		ask("POST", "/", NULL, true);
	world_run();
	some = held();
	ok(none > 2 * 4096, "two sessions: %zu bytes", none);
	ok(some > none + STREAMS * (sizeof(struct h2_stream) + 2 * 128),
	   "open streams, which have sent nothing: %zu bytes", some);
	for (unsigned i = 0; i < ARRAY_SIZE(w.client.v); i++)
		if (w.client.v[i].head[0] == '\0')
			nghttp2_submit_rst_stream(w.client.ng,
						  NGHTTP2_FLAG_NONE,
						  (int32_t)(2 * i + 1),
						  NGHTTP2_CANCEL);
	world_run();
	ok(held() < none + 8192, "without them: %zu bytes", held());
	world_down();
}

/* A window that the upstream gives is read also while nothing else is: an
 * upload goes on. */
static void test_upload(void)
{
	static char big[300 * 1024];
	int32_t id;

	memset(big, 'x', sizeof(big));
	world_peers();
	w.scarce = true;
	id = ask("POST", "/", NULL, true);
	say(&w.client, id, big, sizeof(big), true);
	world_run();
	is_int(buf_len(&rec(&w.server, id)->body), sizeof(big),
	       "an upload whose other end reads goes on");
	world_down();
}

static void test_held_body(void)
{
	int32_t id;

	world_peers();
	w.full = true;
	id = ask("POST", "/hold", NULL, true);
	say_text(&w.client, id, "{}", false);
	world_run();
	ok(strstr(rec(&w.client, id)->head, ":status: 429\n") != NULL,
	   "a body that is judged whole is refused when memory is used");
	w.full = false;
	id = ask("POST", "/hold", NULL, true);
	say_text(&w.client, id, "{}", true);
	world_run();
	is_int(w.server.last, 1, "else it goes up");
	world_down();
}

int main(void)
{
	test_unread();
	test_sessions();
	test_upload();
	test_held_body();
	return done_testing();
}
