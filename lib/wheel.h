/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wheel.h - hierarchical timer wheel for many timers, most of which are
 * cancelled or postponed; intrusive, single-threaded
 */
#ifndef LIB_WHEEL_H
#define LIB_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHEEL_TICK_MS 16u
#define WHEEL_SLOTS 64u
#define WHEEL_LEVELS 4u /* 16 ms to 74 h; longer times take several turns */

struct wheel_timer {
	struct wheel_timer *next, **link; /* link NULL: not armed */
	uint64_t due; /* tick */
	void (*fn)(struct wheel_timer *t);
};

struct wheel {
	uint64_t now; /* tick */
	struct wheel_timer *slot[WHEEL_LEVELS][WHEEL_SLOTS];
	uint64_t used[WHEEL_LEVELS]; /* one bit a slot; 0: certainly empty */
	size_t armed;
};

/* Sets @w to an empty wheel at the time @now_ms. */
void wheel_init(struct wheel *w, uint64_t now_ms);
/* Arms @t, or re-arms it, to fire @ms after @now_ms, never early. @t must stay
 * at its address until it fires or is cleared. */
void wheel_set(struct wheel *w, struct wheel_timer *t, uint64_t now_ms,
	       uint64_t ms);
/* Disarms @t, if it is armed. */
void wheel_clear(struct wheel_timer *t, struct wheel *w);
/* Calls fn of every timer that is due. A callback may set and clear any timer,
 * and free its own. */
void wheel_run(struct wheel *w, uint64_t now_ms);
/* Returns the milliseconds until a timer may be due, or -1 if none is armed. */
int wheel_wait(const struct wheel *w, uint64_t now_ms);

#endif
