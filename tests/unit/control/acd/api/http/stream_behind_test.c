/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_behind_test.c - an attached client that takes nothing
 */
#include "tests/unit/control/acd/api/http/stream_world.h"

/* Attached to somebody else's run, and stuck: the run goes on. */
static void test_left_behind(void)
{
	struct client c;
	uint64_t seen;
	int i;

	client_init(&c, STREAM_GUEST);
	client_connect(&c);
	run_emit(&c, LINK_WINDOW);
	step_for(c.loop, 50);
	is_int(c.run.credited, 0, "at first it is waited for");
	STEP_UNTIL(c.loop, c.run.credited > 0);
	ok(c.run.credited >= LINK_WINDOW, "but not for long");
	for (i = 0; i < 5; i++)
		run_emit(&c, LINK_WINDOW);
	log_lost = 1000;
	client_settle(&c);
	is_int(c.output, LINK_WINDOW, "its window, and no more");
	for (seen = 0; c.output < 6ull * LINK_WINDOW - 1000 && i < 200; i++) {
		client_give(&c, (uint32_t)(c.output - seen));
		seen = c.output;
		client_settle(&c);
	}
	is_int(c.output, 6ull * LINK_WINDOW - 1000,
	       "when it takes again, it catches up");
	is_int(c.notices, 1, "and hears of what is lost");
	client_give(&c, (uint32_t)(c.output - seen));
	client_settle(&c);
	c.run.credited = 0;
	run_emit(&c, 1000);
	client_settle(&c);
	is_int(c.output, 6ull * LINK_WINDOW, "then it follows again");
	is_int(c.run.credited, 0, "and is waited for again");
	client_give(&c, 1000);
	client_settle(&c);
	is_int(c.run.credited, 1000, "as by others");
	run_end(&c);
	client_settle(&c);
	ok(c.exits == 1 && c.eof, "to the end");
	client_done(&c);
}

static void test_over_while_behind(void)
{
	struct client c;

	client_init(&c, STREAM_GUEST);
	client_connect(&c);
	run_emit(&c, LINK_WINDOW);
	STEP_UNTIL(c.loop, c.run.credited > 0);
	run_emit(&c, 500);
	run_end(&c);
	client_settle(&c);
	is_int(c.exits, 0, "the end has to wait");
	client_give(&c, LINK_WINDOW);
	client_settle(&c);
	ok(c.output == LINK_WINDOW + 500 && c.exits == 1 && c.eof,
	   "for what came before it");
	client_done(&c);
}

static void test_log_fails(void)
{
	struct client c;

	client_init(&c, STREAM_GUEST);
	client_connect(&c);
	run_emit(&c, LINK_WINDOW);
	STEP_UNTIL(c.loop, c.run.credited > 0);
	run_emit(&c, 500);
	run_end(&c);
	client_settle(&c);
	log_fails = -EIO;
	client_give(&c, LINK_WINDOW);
	client_settle(&c);
	log_fails = 0;
	ok(c.notices == 1 && c.exits == 1 && c.eof,
	   "a rest that cannot be read is told");
	client_done(&c);
}

int main(void)
{
	test_log_fails();
	test_left_behind();
	test_over_while_behind();
	return done_testing();
}
