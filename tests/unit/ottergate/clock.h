/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the clock of a worker's turns, for tests of what a turn does
 */
#ifndef TESTS_UNIT_OTTERGATE_CLOCK_H
#define TESTS_UNIT_OTTERGATE_CLOCK_H

#include "ottergate/conn/share.h"

/* A microsecond a look: a turn ends by its work, never because the machine was
 * slow, so that what is sent together also goes on together. */
static inline uint64_t turn_clock(void)
{
	static _Thread_local uint64_t looks;

	return 1000000000u + 1000u * ++looks;
}

static const struct share_clocks turn_clocks = { turn_clock, turn_clock };

#endif
