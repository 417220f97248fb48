/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.h - running a loop until something has happened, or for a while
 */
#ifndef TESTS_UNIT_STEP_H
#define TESTS_UNIT_STEP_H

#include "lib/loop.h"

#define STEP_LIMIT_MS 10000

static inline void step_stop(void *arg)
{
	loop_stop(arg, 0);
}

/* One millisecond of the loop's life. */
static inline void step(struct loop *l)
{
	struct loop_timer *t = loop_timer_new(l, step_stop, l);

	loop_timer_set(t, 1);
	loop_run(l);
	loop_timer_free(t);
}

static inline void step_for(struct loop *l, uint64_t ms)
{
	uint64_t end = clock_ms() + ms;

	while (clock_ms() < end)
		step(l);
}

/* Leaves @cond to be checked by the test: it may never have come true. */
#define STEP_UNTIL(l, cond)                                  \
	for (uint64_t step_end = clock_ms() + STEP_LIMIT_MS; \
	     !(cond) && clock_ms() < step_end;)              \
	step(l)

#endif
