/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wheel.h - hierarchical timer wheel, intrusive, for many timers that are
 * mostly cancelled or pushed back; single-threaded
 */
#ifndef LIB_WHEEL_H
#define LIB_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHEEL_TICK_MS 16u
#define WHEEL_SLOTS 64u
#define WHEEL_LEVELS 4u /* 16 ms … 74 h; later ones go round again */

struct wheel_timer {
	struct wheel_timer *next, **link; /* link NULL: not armed */
	uint64_t due; /* tick */
	void (*fn)(struct wheel_timer *t);
};

struct wheel {
	uint64_t now; /* tick */
	struct wheel_timer *slot[WHEEL_LEVELS][WHEEL_SLOTS];
	uint64_t used[WHEEL_LEVELS]; /* a bit a slot; 0: surely empty */
	size_t armed;
};

void wheel_init(struct wheel *w, uint64_t now_ms);
/* Arms or re-arms @t to fire @ms after @now_ms, never early. */
void wheel_set(struct wheel *w, struct wheel_timer *t, uint64_t now_ms,
	       uint64_t ms);
void wheel_clear(struct wheel_timer *t, struct wheel *w);
/* Fires what is due. Callbacks may set and clear any timer. */
void wheel_run(struct wheel *w, uint64_t now_ms);
/* Milliseconds until something may be due, -1: nothing is armed. */
int wheel_wait(const struct wheel *w, uint64_t now_ms);

#endif
