/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifetime.c - how long an instance may stay, by two clocks
 */
#include "control/acd/instance/limit/lifetime.h"

/* A clock that went back counts as no time passed. */
static uint64_t left_of(uint64_t limit, uint64_t since, uint64_t now)
{
	uint64_t past = now > since ? now - since : 0;

	return past < limit ? limit - past : 0;
}

static uint64_t wall_left(const struct life *l, uint64_t ttl_ms, int64_t wall)
{
	uint64_t past = wall > l->since_wall ?
				(uint64_t)wall - (uint64_t)l->since_wall :
				0;

	return past < ttl_ms / 1000 + 1 ? left_of(ttl_ms, 0, past * 1000) : 0;
}

uint64_t life_ttl_left(const struct life *l, uint64_t ttl_ms,
		       const struct life_now *now)
{
	uint64_t settle = ttl_ms < LIFE_SETTLE_MS ? ttl_ms : LIFE_SETTLE_MS;
	uint64_t most, wall, least;

	if (ttl_ms == 0)
		return LIFE_NEVER;
	most = left_of(ttl_ms, l->since_ms, now->ms);
	if (l->since_wall == 0)
		return most;
	wall = wall_left(l, ttl_ms, now->wall);
	least = left_of(settle, l->since_ms, now->ms);
	if (wall < least)
		wall = least;
	return wall < most ? wall : most;
}

uint64_t life_idle_left(const struct life *l, uint64_t idle_ms,
			const struct life_now *now)
{
	return idle_ms ? left_of(idle_ms, l->moved_ms, now->ms) : LIFE_NEVER;
}
