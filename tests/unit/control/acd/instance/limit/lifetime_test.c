/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifetime_test.c - ttl and idle time, by clocks that are made up
 */
#include "control/acd/instance/limit/lifetime.h"

#include "tests/unit/tap.h"

#define MIN (60ull * 1000)
#define HOUR (60 * MIN)
#define WALL 1700000000ll

static void test_ttl(void)
{
	static const struct {
		const char *what;
		uint64_t ttl, since_ms;
		int64_t since_wall; /* 0: of this life */
		uint64_t ms;
		int64_t wall;
		uint64_t want;
	} rows[] = {
		{ "none", 0, 5, 0, 99 * HOUR, WALL, LIFE_NEVER },
		{ "fresh", HOUR, 100, 0, 100, WALL, HOUR },
		{ "half", HOUR, 0, 0, HOUR / 2, WALL, HOUR / 2 },
		{ "over", HOUR, 0, 0, HOUR, WALL, 0 },
		{ "long over", HOUR, 0, 0, 9 * HOUR, WALL, 0 },
		{ "a wall clock that leaps ends no run", HOUR, 0, 0, MIN,
		  WALL + 99999999, HOUR - MIN },
		{ "nor keeps it", HOUR, 0, 0, HOUR, 1, 0 },
		{ "of before, much is left", 10 * HOUR, 0, WALL, MIN,
		  WALL + 3600, 9 * HOUR },
		{ "of before, over: once clocks are set", HOUR, 0, WALL, MIN,
		  WALL + 7200, LIFE_SETTLE_MS - MIN },
		{ "then it is", HOUR, 0, WALL, LIFE_SETTLE_MS, WALL + 7200, 0 },
		{ "a clock that was ahead and is set", HOUR, 0, WALL,
		  LIFE_SETTLE_MS, WALL + 1800, HOUR / 2 },
		{ "a clock from before it began: not at once", HOUR, 0, WALL,
		  MIN, WALL - 99999, HOUR - MIN },
		{ "but not never", HOUR, 0, WALL, HOUR, WALL - 99999, 0 },
		{ "a clock at zero", HOUR, 0, WALL, HOUR - 1, 0, 1 },
		{ "a short ttl settles sooner", 2000, 0, WALL, 1500, WALL + 60,
		  500 },
		{ "the longest", UINT64_MAX - 1, 0, WALL, HOUR, WALL + 60,
		  UINT64_MAX - 1 - HOUR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct life l = { .since_ms = rows[i].since_ms,
					.since_wall = rows[i].since_wall };
		const struct life_now now = { rows[i].ms, rows[i].wall };

		is_int(life_ttl_left(&l, rows[i].ttl, &now), rows[i].want, "%s",
		       rows[i].what);
	}
}

static void test_idle(void)
{
	const struct life l = { .moved_ms = 1000 };
	struct life_now now = { 1000, WALL };

	is_int(life_idle_left(&l, 0, &now), LIFE_NEVER, "no limit");
	is_int(life_idle_left(&l, 500, &now), 500, "it has just moved");
	now.ms = 1499;
	is_int(life_idle_left(&l, 500, &now), 1, "not yet");
	now.ms = 1500;
	is_int(life_idle_left(&l, 500, &now), 0, "for too long");
	now.ms = 10;
	is_int(life_idle_left(&l, 500, &now), 500, "no time before that");
}

int main(void)
{
	test_ttl();
	test_idle();
	return done_testing();
}
