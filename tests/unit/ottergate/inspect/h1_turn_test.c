/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_turn_test.c - how much of a body over HTTP/1.1 is judged and
 * cleaned at a time, and when a turn ends
 */
#include <assert.h>

#include "ottergate/policy/tell/deny.h"
#include "tests/unit/ottergate/inspect/h2_world.h"

#define BODY (48u * 1024) /* fits a queue */
#define SLICE_MAX 4096u
#define ASK "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"

/* --- what the engine needs beside the fakes for HTTP/2 --------------------- */

bool itls_pending(const struct itls *t)
{
	(void)t;
	return true;
}

bool inspect_redial(struct inspect *in)
{
	(void)in;
	return false;
}

const char *deny_status(int status)
{
	(void)status;
	return "No";
}

/* --- the tests ------------------------------------------------------------- */

static void up(void)
{
	world_up();
	inspect_h2.free(&w.in);
	snprintf(w.in.name.s, sizeof(w.in.name.s), "a.test");
	w.conn.port = 443;
	if (inspect_h1.begin(&w.in) < 0)
		abort();
}

static void down(void)
{
	inspect_h1.free(&w.in);
	buf_done(&w.up_in.b);
	buf_done(&w.up_out.b);
	buf_done(&w.down_in.b);
	buf_done(&w.down_out.b);
}

static void put(struct pipe *p, const char *text, size_t body)
{
	char *mem = calloc(1, body + 1);

	if (!mem || buf_append(&p->b, text, strlen(text)) < 0 ||
	    buf_append(&p->b, mem, body) < 0)
		abort();
	free(mem);
}

static void request(const char *head, size_t body)
{
	put(&w.up_in, head, body);
	inspect_h1.step(&w.in);
	w.pieces = 0;
	w.piece_max = 0;
}

/* Steps until nothing is deferred. */
static unsigned turns(void)
{
	unsigned n = 0;

	do {
		w.deferred = false;
		inspect_h1.step(&w.in);
		n++;
	} while (w.deferred && n < 1000);
	return n;
}

static void test_answer(const char *head, bool spent)
{
	unsigned n, before;

	up();
	request(ASK, 0);
	buf_consume(&w.down_out.b, buf_len(&w.down_out.b));
	put(&w.down_in, head, BODY);
	w.spent = spent;
	inspect_h1.step(&w.in);
	before = w.pieces;
	n = turns();
	is_int(w.piece_max, SLICE_MAX, "an answer is cleaned in slices");
	if (spent)
		ok(before <= 1 && n >= BODY / SLICE_MAX,
		   "one a turn, when it is spent: %u", n);
	else
		ok(before >= BODY / SLICE_MAX, "all in one turn, else: %u",
		   before);
	ok(buf_len(&w.down_out.b) > BODY, "and all of it comes");
	down();
}

static void test_request(bool spent)
{
	char head[128];
	unsigned n;

	up();
	w.spent = spent;
	snprintf(
		head, sizeof(head),
		"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: %u\r\n\r\n",
		BODY);
	put(&w.up_in, head, BODY);
	n = turns();
	is_int(w.piece_max, SLICE_MAX, "a body is judged in slices");
	if (spent)
		ok(n >= BODY / SLICE_MAX, "one a turn, when it is spent: %u",
		   n);
	ok(buf_len(&w.up_out.b) > BODY, "and all of it goes up");
	down();
}

int main(void)
{
	static const char length[] =
		"HTTP/1.1 200 OK\r\nContent-Length: 49152\r\n\r\n";
	static const char rest[] =
		"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";

	static_assert(BODY == 49152, "the length that the head says");
	for (unsigned spent = 0; spent < 2; spent++) {
		test_answer(length, spent);
		test_answer(rest, spent);
		test_request(spent);
	}
	return done_testing();
}
