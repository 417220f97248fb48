/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_turn_test.c - how much of what a client sends one turn takes
 */
#include "tests/unit/ottergate/inspect/h2_world.h"

#define WAITS (512u * 1024 / 13 * 13) /* bytes in the client's socket */
#define SLICE_MAX 4096u
#define TURN_MAX (16u * 4u) /* slices of a turn that nobody waits for */

/* Room for a byte more of answers, each: nothing is said to that. */
static void client_sends(void)
{
	static const uint8_t frame[13] = { 0, 0, 4,
					   NGHTTP2_WINDOW_UPDATE, [12] = 1 };

	world_peers();
	for (size_t i = 0; i < WAITS / sizeof(frame); i++)
		if (buf_append(&w.up_in.b, frame, sizeof(frame)) < 0)
			abort();
	w.slices = 0;
	w.slice_max = 0;
	w.deferred = false;
}

static void test_slices(void)
{
	client_sends();
	inspect_h2.step(&w.in);
	is_int(w.slice_max, SLICE_MAX, "a parser gets no more than 4 KiB");
	is_int(w.slices, TURN_MAX, "and a turn ends after 64 of these");
	ok(w.deferred, "there is another");
	world_run();
	is_int(buf_len(&w.up_in.b), 0, "in the end all is read");
	ok(!w.closed && !w.cut, "and the connection lives");
	world_down();
}

/* Few bytes may be much work: then the turn is over sooner. */
static void test_spent(void)
{
	unsigned turns = 0;

	client_sends();
	w.spent = true;
	while (buf_len(&w.up_in.b) > 0 && turns < 1000) {
		unsigned before = w.slices;

		w.deferred = false;
		inspect_h2.step(&w.in);
		turns++;
		if (w.slices - before != 1 || !w.deferred)
			break;
	}
	is_int(turns, WAITS / SLICE_MAX + 1,
	       "a slice a turn, when it is spent");
	world_down();
}

int main(void)
{
	test_slices();
	test_spent();
	return done_testing();
}
