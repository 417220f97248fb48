/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifetime.h - how long an instance may stay, by two clocks; pure
 *
 * What happened since acd started is measured on the monotonic clock alone:
 * a wall clock that is set has no effect on a run. Of what ended in an
 * earlier life of acd only the wall clock tells the age, and that may be
 * wrong, above all just after the machine's start. So it is believed
 *
 *	not before acd has run for LIFE_SETTLE_MS (or the ttl, if less): until
 *	then a clock that was ahead has been set,
 *	and never for more than the ttl: measured from acd's start on, the
 *	monotonic clock ends it whatever the other one says.
 */
#ifndef CONTROL_ACD_INSTANCE_LIFETIME_H
#define CONTROL_ACD_INSTANCE_LIFETIME_H

#include <stdint.h>

#define LIFE_SETTLE_MS (10u * 60 * 1000)
#define LIFE_NEVER UINT64_MAX

struct life {
	uint64_t since_ms; /* its ttl counts from here, or acd's start */
	int64_t since_wall; /* seconds: when it began in an earlier life; 0 */
	uint64_t moved_ms; /* the last sign of life of its run */
};

struct life_now {
	uint64_t ms; /* CLOCK_MONOTONIC */
	int64_t wall; /* seconds since the epoch */
};

/* Milliseconds until @ttl_ms is over, 0: it is; LIFE_NEVER when it is 0. */
uint64_t life_ttl_left(const struct life *l, uint64_t ttl_ms,
		       const struct life_now *now);
/* The same for a run of which nothing was heard for @idle_ms. */
uint64_t life_idle_left(const struct life *l, uint64_t idle_ms,
			const struct life_now *now);

#endif
