/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_flood_test.c - what one client may cost the HTTP/2 engine: bytes
 * that are decoded and frames that wait, counted
 */
#include "tests/unit/ottergate/inspect/h2_raw.h"

static void test_continuations(void)
{
	uint8_t last[8] = { 0 };

	raw_up();
	raw_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, head_block,
		  sizeof(head_block) - 1);
	world_run();
	for (unsigned i = 0; i < 100000 && !w.closed; i++) {
		raw_frame(NGHTTP2_CONTINUATION, 0, 1, "\x00\x01x\x01y", 5);
		if (i % 64 == 0)
			world_run();
	}
	ok(w.closed, "endless CONTINUATION frames: the end");
	is_int(w.server.last, 0, "nothing goes up");
	(void)raw_sent(NGHTTP2_GOAWAY, last);
	world_down();
}

/* A field of 3.9 KiB in the table, then one byte for each use of it. Returns
 * the length of the block in @block; @first: a field before it. */
#define BOMB_USES 12000u
#define BOMB_MAX (sizeof(head_block) + 4096 + BOMB_USES)
static size_t bomb(uint8_t block[BOMB_MAX], const char *first, size_t n)
{
	uint8_t *p = block;

	memcpy(p, head_block, sizeof(head_block) - 1);
	p += sizeof(head_block) - 1;
	if (n > 0)
		memcpy(p, first, n);
	p += n;
	memcpy(p, "\x40\x01x\x7f\xbd\x1d", 6); /* a value of 3900 bytes */
	p += 6;
	memset(p, 'v', 3900);
	p += 3900;
	memset(p, 0xbe, BOMB_USES);
	return (size_t)(p - block) + BOMB_USES;
}

static uint64_t decoded(void)
{
	return ((struct h2 *)w.in.state)->decoded;
}

static void test_bomb(void)
{
	static uint8_t block[BOMB_MAX];
	size_t n = bomb(block, NULL, 0);
	uint8_t last[8] = { 0 };

	raw_up();
	raw_frame(NGHTTP2_HEADERS,
		  NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, block,
		  n);
	world_run();
	is_int(w.server.last, 0, "47 MB in 16 KB: nothing goes up");
	ok(decoded() <= H2_HEAD_DECODED_MAX + 4096,
	   "no more is decoded than the limit, and the field that passed it: "
	   "%llu bytes",
	   (unsigned long long)decoded());
	is_int(raw_sent(NGHTTP2_GOAWAY, last), 1, "the client is told");
	is_int(last[7], NGHTTP2_ENHANCE_YOUR_CALM, "what it is told");
	is_int(w.begun, 0, "nobody judges it");
	ok(w.closed, "the connection ends");
	world_down();
}

/* nghttp2 decodes to the end what it has refused, or later heads could not be
 * read: without its checks, and not without end. */
static void test_bomb_refused(void)
{
	static uint8_t block[BOMB_MAX];
	size_t n = bomb(block, "\x00\x01X\x01y", 5);
	unsigned i;

	raw_up();
	for (i = 0; i < 10000 && !w.closed; i++) {
		raw_frame(NGHTTP2_HEADERS,
			  NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM,
			  1 + 2 * i, block, n);
		world_run();
	}
	ok(w.closed, "bombs behind a field that is refused: the end");
	ok(i <= H2_RESETS_MAX + 1, "after as many as resets may be: %u", i);
	ok(decoded() < 100u * H2_RESETS_MAX, "little is looked at: %llu bytes",
	   (unsigned long long)decoded());
	is_int(w.server.last, 0, "nothing goes up");
	world_down();
}

/* One head in frames that each are as long as they may be. */
static void test_long_block(void)
{
	static const uint8_t field[] = { 0, 1, 'x', 1, 'y' };
	static uint8_t piece[16384];
	size_t sent = 0;

	for (size_t i = 0; i + 5 <= sizeof(piece); i += sizeof(field))
		memcpy(piece + i, field, sizeof(field));
	raw_up();
	raw_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, "\x00\x01X\x01y",
		  5); /* refused: counted no more */
	world_run();
	ok(!w.closed, "a head begins");
	while (sent < 10u * H2_BLOCK_MAX && !w.closed) {
		raw_frame(NGHTTP2_CONTINUATION, 0, 1, piece, 16380);
		sent += 16380;
		world_run();
	}
	ok(w.closed, "a head of more than 64 KiB as it is sent: the end");
	ok(sent <= H2_BLOCK_MAX + sizeof(piece), "no more than that is read");
	world_down();
}

/* A client that has acknowledged our settings has no table. */
static void test_no_table(void)
{
	uint8_t last[8] = { 0 };

	raw_up();
	world_run();
	raw_frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, NULL, 0);
	/* The size that it must say, and a field for the table. */
	raw_frame(NGHTTP2_HEADERS,
		  NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
		  "\x20\x82\x87\x84\x01\x06"
		  "a.test\x40\x01x\x01y",
		  sizeof(head_block) - 1 + 6);
	world_run();
	is_int(rec(&w.server, 1)->heads, 1, "a head without a table is one");
	raw_frame(NGHTTP2_HEADERS,
		  NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 3,
		  "\x82\x87\x84\xbe", 4);
	world_run();
	is_int(raw_sent(NGHTTP2_GOAWAY, last), 1, "one that uses it: the end");
	is_int(last[7], NGHTTP2_COMPRESSION_ERROR, "what it is told");
	ok(w.closed, "the connection ends");
	world_down();
}

static void test_unacknowledged(void)
{
	uint8_t last[8] = { 0 };
	unsigned i;

	raw_up();
	for (i = 0; i < 10000 && !w.closed; i++) {
		raw_frame(NGHTTP2_HEADERS,
			  NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM,
			  1 + 2 * i, head_block, sizeof(head_block) - 1);
		world_run();
		if (w.server.last == (int32_t)(1 + 2 * i))
			answer(w.server.last, "204", NULL, false);
		world_run();
	}
	ok(w.closed, "one who never acknowledges our settings: the end");
	is_int(i, H2_UNACKED_MAX + 1, "after so many requests");
	is_int(raw_sent(NGHTTP2_GOAWAY, last), 1, "and is told");
	is_int(last[7], NGHTTP2_SETTINGS_TIMEOUT, "what it is told");
	world_down();
}

static void test_pings(void)
{
	unsigned i;

	raw_up();
	w.down_out.cap = 64; /* reads nothing */
	for (i = 0; i < 100000 && !w.closed; i++) {
		raw_frame(NGHTTP2_PING, 0, 0, "12345678", 8);
		if (i % 64 == 0)
			world_run();
	}
	ok(w.closed, "PINGs of one who does not read: the end");
	world_down();
	raw_up();
	w.down_out.cap = 64;
	for (i = 0; i < 100000 && !w.closed; i++) {
		raw_frame(NGHTTP2_SETTINGS, 0, 0, NULL, 0);
		if (i % 64 == 0)
			world_run();
	}
	ok(w.closed, "SETTINGS as well");
	world_down();
}

/* Frames that are each worth a reset, from one who does not read: they are
 * left in its socket. */
static void test_unread(void)
{
	static const uint8_t window[4] = { 0, 0, 0, 0 };
	size_t left;

	raw_up();
	world_run();
	w.down_out.cap = 0;
	for (unsigned i = 0; i < 20000; i++) {
		raw_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1 + 2 * i,
			  head_block, sizeof(head_block) - 1);
		raw_frame(NGHTTP2_WINDOW_UPDATE, 0, 1 + 2 * i, window, 4);
		if (i % 64 == 0)
			world_run();
	}
	left = buf_len(&w.up_in.b);
	ok(left > 0 || w.closed, "not all of it is read");
	ok(nghttp2_session_get_outbound_queue_size(
		   ((struct h2 *)w.in.state)->side[H2_FRONT].ng) <
		   4 * H2_QUEUE_MAX,
	   "and few answers wait");
	world_down();
}

int main(void)
{
	test_continuations();
	test_bomb();
	test_bomb_refused();
	test_long_block();
	test_no_table();
	test_unacknowledged();
	test_pings();
	test_unread();
	return done_testing();
}
