/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifetime.h - how long an instance may stay, by two clocks; no side effects
 *
 * What happened since acd started is measured on the monotonic clock only, so
 * setting the wall clock has no effect on a run. The age of what ended before
 * acd started is known by the wall clock only, which may be wrong, above all
 * just after the machine's start. So the wall clock
 *
 *	is ignored until acd has run for LIFE_SETTLE_MS (or the ttl, if less):
 *	by then a clock that was ahead has been set;
 *	cannot keep anything longer than the ttl, measured on the monotonic
 *	clock from acd's start.
 */
#ifndef CONTROL_ACD_INSTANCE_LIFETIME_H
#define CONTROL_ACD_INSTANCE_LIFETIME_H

#include <stdint.h>

#define LIFE_SETTLE_MS (10u * 60 * 1000)
#define LIFE_NEVER UINT64_MAX

struct life {
	uint64_t since_ms; /* monotonic: the ttl begins here, or acd did */
	int64_t since_wall; /* wall seconds of its begin; 0: by since_ms only */
	uint64_t moved_ms; /* monotonic: last sign of life of its run */
};

struct life_now {
	uint64_t ms; /* CLOCK_MONOTONIC */
	int64_t wall; /* seconds since the epoch */
};

/* Returns the milliseconds until @ttl_ms is over, 0 if it is; LIFE_NEVER if
 * @ttl_ms is 0. */
uint64_t life_ttl_left(const struct life *l, uint64_t ttl_ms,
		       const struct life_now *now);
/* The same for @idle_ms since the last sign of life. */
uint64_t life_idle_left(const struct life *l, uint64_t idle_ms,
			const struct life_now *now);

#endif
