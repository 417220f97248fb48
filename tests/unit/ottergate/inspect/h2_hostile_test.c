/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_hostile_test.c - what a client or a server must not get through
 * the HTTP/2 engine (H7, H16)
 *
 * Malformed heads come from nghttp2, which checks nothing of what it sends;
 * floods and what it would never send are frames built by hand.
 */
#include "tests/unit/ottergate/inspect/h2_raw.h"

static bool has(const char *text, const char *word)
{
	return strstr(text, word) != NULL;
}

/* --- heads ---------------------------------------------------------------- */

struct bad_head {
	const char *what;
	const char *fields[16]; /* names and values, NULL at the end */
	const char *status; /* NULL: a reset */
	uint32_t error;
};

#define START ":method", "GET", ":scheme", "https"
#define FULL START, ":authority", "a.test", ":path", "/"

static const struct bad_head bad_heads[] = {
	{ "Host and :authority differ",
	  { FULL, "host", "b.test", NULL },
	  "400",
	  0 },
	{ "two Host fields",
	  { FULL, "host", "a.test", "host", "a.test", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "no :authority",
	  { START, ":path", "/", "host", "a.test", NULL },
	  "400",
	  0 },
	{ "an empty :authority",
	  { START, ":authority", "", ":path", "/", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "no slash before the path",
	  { START, ":authority", "a.test", ":path", "x", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "an absolute :path",
	  { START, ":authority", "a.test", ":path", "https://b.test/", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "* for another method",
	  { START, ":authority", "a.test", ":path", "*", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "a blank in the path",
	  { START, ":authority", "a.test", ":path", "/ HTTP/1.1", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "CR LF in a value",
	  { FULL, "x-a", "1\r\nhost: b.test", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "a bare LF in a value",
	  { FULL, "x-a", "1\nx: y", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "a blank before a value",
	  { FULL, "x-a", " 1", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "a blank behind a value",
	  { FULL, "x-a", "1 ", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "a colon in a name",
	  { FULL, "x:a", "1", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "Connection",
	  { FULL, "connection", "close", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "Transfer-Encoding",
	  { FULL, "transfer-encoding", "chunked", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "Upgrade",
	  { FULL, "upgrade", "websocket", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "TE other than trailers",
	  { FULL, "te", "gzip", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "plain http",
	  { ":method", "GET", ":scheme", "http", ":authority", "a.test",
	    ":path", "/", NULL },
	  "400",
	  0 },
	{ "CONNECT",
	  { ":method", "CONNECT", ":authority", "b.test:443", NULL },
	  "501",
	  0 },
	{ "extended CONNECT",
	  { ":method", "CONNECT", ":protocol", "websocket", ":scheme", "https",
	    ":authority", "a.test", ":path", "/", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "a length without a body",
	  { FULL, "content-length", "5", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "a length that is none",
	  { FULL, "content-length", "+0", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "two lengths",
	  { FULL, "content-length", "0", "content-length", "0", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "content_length", { FULL, "content_length", "0", NULL }, "400", 0 },
	{ "transfer_encoding",
	  { FULL, "transfer_encoding", "chunked", NULL },
	  "400",
	  0 },
	{ "x_api-key", { FULL, "x_api-key", "a", NULL }, "400", 0 },
	{ "two methods",
	  { ":method", "POST", FULL, NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
	{ "a pseudo field behind others",
	  { START, ":authority", "a.test", "x", "y", ":path", "/", NULL },
	  NULL,
	  NGHTTP2_PROTOCOL_ERROR },
};

static int32_t ask_raw(const char *const *fields, bool body)
{
	int32_t id = (int32_t)nghttp2_session_get_next_stream_id(w.client.ng);
	nghttp2_data_provider data = { .read_callback = peer_say };
	nghttp2_nv nv[8];
	size_t n = 0;

	for (; *fields && n < ARRAY_SIZE(nv); fields += 2)
		nv[n++] = NV(fields[0], fields[1]);
	record_clear(rec(&w.client, id));
	data.source.ptr = rec(&w.client, id);
	return nghttp2_submit_request(w.client.ng, NULL, nv, n,
				      body ? &data : NULL, NULL);
}

static void test_bad_heads(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_heads); i++) {
		const struct bad_head *b = &bad_heads[i];
		char want[32] = "";
		int32_t id;

		world_peers();
		id = ask_raw(b->fields, false);
		world_run();
		if (b->status) {
			snprintf(want, sizeof(want), ":status: %s\n",
				 b->status);
			ok(has(rec(&w.client, id)->head, want), "%s: %s",
			   b->what, b->status);
		} else {
			is_int(rec(&w.client, id)->error, b->error, "%s: reset",
			       b->what);
		}
		is_int(w.server.last, 0, "%s: nothing goes up", b->what);
		is_int(w.begun, 0, "%s: nobody judges it", b->what);
		ask("GET", "/", NULL, false);
		world_run();
		is_int(rec(&w.server, 1)->heads, 1, "%s: others go on",
		       b->what);
		is_int(inspect_h2.busy(&w.in), 1, "%s: and it is freed",
		       b->what);
		world_down();
	}
}

static void test_lengths(void)
{
	static const char *const five[] = { "content-length", "5", NULL };
	int32_t id;

	world_peers();
	id = ask("POST", "/", five, true);
	say_text(&w.client, id, "123456", true);
	world_run();
	is_int(rec(&w.client, id)->error, NGHTTP2_PROTOCOL_ERROR,
	       "more than the length: reset");
	ok(!rec(&w.server, id)->end, "the upstream sees no end");
	id = ask("POST", "/", five, true);
	say_text(&w.client, id, "1234", true);
	world_run();
	is_int(rec(&w.client, id)->error, NGHTTP2_PROTOCOL_ERROR,
	       "less than the length: reset");
	ok(!rec(&w.server, id)->end, "the upstream sees no end of it");
	id = ask("GET", "/", NULL, false);
	world_run();
	answer(id, "200", five, true);
	say_text(&w.server, id, "1234", true);
	world_run();
	ok(rec(&w.client, id)->error != 0 && !rec(&w.client, id)->end,
	   "an answer that lies is reset as well");
	is_int(inspect_h2.busy(&w.in), 0, "nothing is left");
	world_down();
}

/* --- too much ------------------------------------------------------------- */

static void test_streams(void)
{
	int32_t id[150];
	unsigned open = 0, refused = 0;

	world_peers();
	/* A client that has not heard of the limit. */
	for (unsigned i = 0; i < ARRAY_SIZE(id); i++)
		id[i] = ask("POST", "/", NULL, true);
	world_run();
	for (unsigned i = 0; i < ARRAY_SIZE(id); i++) {
		open += rec(&w.server, id[i])->heads > 0;
		refused += rec(&w.client, id[i])->error != 0;
	}
	is_int(open, H2_STREAMS_MAX, "so many at a time go up");
	is_int(inspect_h2.busy(&w.in), H2_STREAMS_MAX, "and are kept");
	is_int(refused, 0, "the others wait at the client");
	world_down();
}

static void test_rapid_reset(void)
{
	unsigned i;

	world_peers();
	for (i = 0; i < 1000 && !w.closed; i++) {
		int32_t id = ask("GET", "/", NULL, false);

		world_run();
		nghttp2_submit_rst_stream(w.client.ng, 0, id, NGHTTP2_CANCEL);
		world_run();
	}
	is_int(i, H2_RESETS_MAX + 1, "so many resets are taken");
	ok(w.closed, "then the connection ends");
	is_int(w.client.goaway_error, NGHTTP2_ENHANCE_YOUR_CALM,
	       "and the client is told why");
	world_down();
	world_peers();
	for (i = 0; i < 1000 && !w.closed; i++) {
		int32_t id = ask("GET", "/", NULL, false);

		w.worker.now_ms += H2_RESETS_MS / 100;
		world_run();
		nghttp2_submit_rst_stream(w.client.ng, 0, id, NGHTTP2_CANCEL);
		world_run();
	}
	ok(!w.closed || w.client.goaway_error != NGHTTP2_ENHANCE_YOUR_CALM,
	   "a hundred in ten seconds are no attack");
	world_down();
}

static void test_big_heads(void)
{
	static char value[12 * 1024];
	const char *const more[] = { "x-a", value, "x-b", value,
				     "x-c", value, NULL };
	int32_t id;

	memset(value, 'v', sizeof(value) - 1);
	world_peers();
	id = ask("GET", "/", more, false);
	world_run();
	ok(has(rec(&w.client, id)->head, ":status: 431\n"),
	   "a request's head of more than 32 KiB: 431");
	is_int(w.server.last, 0, "the upstream sees nothing of it");
	id = ask("GET", "/", NULL, false);
	world_run();
	answer(1, "200", more, false);
	world_run();
	ok(has(rec(&w.client, id)->head, ":status: 502\n"), "an answer's: 502");
	world_down();
}

/* --- frames by hand ------------------------------------------------------- */

static void test_raw(void)
{
	uint8_t last[8];

	raw_up();
	raw_frame(NGHTTP2_HEADERS,
		  NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
		  head_block, sizeof(head_block) - 1);
	world_run();
	is_int(rec(&w.server, 1)->heads, 1, "a head by hand is one");
	is_int(raw_sent(NGHTTP2_GOAWAY, last), 0, "nothing is wrong with it");
	world_down();

	raw_up();
	raw_frame(NGHTTP2_HEADERS,
		  NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
		  "\x82\x87\x84\x01\x06"
		  "a.test\x00\x03X-A\x01"
		  "1",
		  sizeof(head_block) - 1 + 7);
	world_run();
	is_int(raw_sent(NGHTTP2_RST_STREAM, last), 1, "upper case: reset");
	is_int(w.server.last, 0, "nothing goes up");
	world_down();

	world_up();
	raw_bytes("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 33);
	world_run();
	ok(w.closed, "no preface: the end");
	world_down();
}

static void test_slow_head(void)
{
	static struct policy_fake {
		int unused;
	} fake;

	raw_up();
	/* Any will do: the timeouts are asked for by a fake. */
	memcpy(&w.conn.policy, &(void *){ &fake }, sizeof(void *));
	raw_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, head_block, 3);
	world_run();
	ok(w.in.head_due > 0, "a head that has begun has a deadline");
	raw_frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 1,
		  head_block + 3, sizeof(head_block) - 4);
	world_run();
	is_int(w.in.head_due, 0, "until it is whole");
	is_int(rec(&w.server, 1)->heads, 1, "then it goes up");
	world_down();
}

/* --- from the upstream ---------------------------------------------------- */

static void test_push(void)
{
	/* PUSH_PROMISE, END_HEADERS, stream 1, promised 2 */
	static const uint8_t frame[] = "\x00\x00\x05\x05\x04\x00\x00\x00\x01"
				       "\x00\x00\x00\x02\x82";
	int32_t id;

	world_peers();
	id = ask("GET", "/", NULL, false);
	world_run();
	if (buf_append(&w.down_in.b, frame, sizeof(frame) - 1) < 0)
		abort();
	world_run();
	ok(rec(&w.client, id)->error != 0, "one who pushes is cut off");
	ok(w.closed, "the connection ends");
	world_down();
}

/* A response field that nghttp2 would refuse for a blank is trimmed; one that
 * splits is left out. */
static void test_response_fields(void)
{
	static const char *const more[] = { "x-blank", "1 ", "x-split",
					    "1\r\nset-cookie: a=b", NULL };
	int32_t id;

	world_peers();
	id = ask("GET", "/", NULL, false);
	world_run();
	answer(id, "200", more, false);
	world_run();
	is_str(rec(&w.client, id)->head, ":status: 200\nx-blank: 1\n",
	       "trimmed and left out");
	world_down();
}

int main(void)
{
	test_bad_heads();
	test_lengths();
	test_streams();
	test_rapid_reset();
	test_big_heads();
	test_raw();
	test_slow_head();
	test_push();
	test_response_fields();
	return done_testing();
}
