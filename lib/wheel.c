/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wheel.c - hierarchical timer wheel
 *
 * Theory of operation: level k has 64 slots of 64^k ticks each. A timer lies in
 * the lowest level whose range includes its distance; whenever the clock enters
 * a slot of a higher level, the timers in it are inserted again, lower. Setting
 * and clearing are a few stores; one bit a slot lets the clock skip empty
 * stretches, so that neither an idle hour nor ten thousand sleeping connections
 * cost anything. A bit may remain when the last timer of a slot is cleared:
 * that is at most one idle wake-up a slot, which is cheaper than finding the
 * slot again.
 */
#include "lib/wheel.h"

#include <limits.h>
#include <string.h>

#define LEVEL_BITS 6u
#define SLOT_MASK (WHEEL_SLOTS - 1u)

_Static_assert(1u << LEVEL_BITS == WHEEL_SLOTS, "a slot is LEVEL_BITS wide");
_Static_assert(WHEEL_SLOTS == 64, "used[] has a bit a slot");

void wheel_init(struct wheel *w, uint64_t now_ms)
{
	memset(w, 0, sizeof(*w));
	w->now = now_ms / WHEEL_TICK_MS;
}

static void wheel_insert(struct wheel *w, struct wheel_timer *t)
{
	const uint64_t range = UINT64_C(1) << (LEVEL_BITS * WHEEL_LEVELS);
	uint64_t at = t->due;
	unsigned level = 0;
	unsigned slot;

	/* Beyond the last level: to its end, to be inserted again there. */
	if (at - w->now >= range)
		at = w->now + range - 1;
	while ((at - w->now) >> (LEVEL_BITS * (level + 1)))
		level++;
	slot = (unsigned)(at >> (LEVEL_BITS * level)) & SLOT_MASK;

	t->link = &w->slot[level][slot];
	t->next = *t->link;
	if (t->next)
		t->next->link = &t->next;
	*t->link = t;
	w->used[level] |= UINT64_C(1) << slot;
}

static void wheel_unlink(struct wheel_timer *t)
{
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	t->link = NULL;
	t->next = NULL;
}

void wheel_set(struct wheel *w, struct wheel_timer *t, uint64_t now_ms,
	       uint64_t ms)
{
	const uint64_t ms_max = UINT64_MAX / 4;

	wheel_clear(t, w);
	/* An empty wheel is not turned: catch up. */
	if (w->armed == 0 && now_ms / WHEEL_TICK_MS > w->now)
		w->now = now_ms / WHEEL_TICK_MS;
	if (ms > ms_max)
		ms = ms_max;
	/* Rounded up: never early. The current tick has been run already. */
	t->due = (now_ms + ms + WHEEL_TICK_MS - 1) / WHEEL_TICK_MS;
	if (t->due <= w->now)
		t->due = w->now + 1;
	wheel_insert(w, t);
	w->armed++;
}

void wheel_clear(struct wheel_timer *t, struct wheel *w)
{
	if (!t->link)
		return;
	wheel_unlink(t);
	w->armed--;
}

static uint64_t rotate_right(uint64_t v, unsigned n)
{
	return n ? v >> n | v << (64 - n) : v;
}

/* The next tick at which some used slot is entered, UINT64_MAX: none. */
static uint64_t wheel_next(const struct wheel *w)
{
	uint64_t next = UINT64_MAX;

	for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
		uint64_t at = w->now >> (LEVEL_BITS * level);
		uint64_t bits = rotate_right(w->used[level],
					     (unsigned)(at + 1) & SLOT_MASK);

		if (!bits)
			continue;
		at += 1 + (unsigned)__builtin_ctzll(bits);
		at <<= LEVEL_BITS * level;
		if (at < next)
			next = at;
	}
	return next;
}

/* Takes a slot's list over to *@ret, whose first element then points back to
 * @ret, so that its timers can still be cleared. */
static void wheel_take(struct wheel *w, unsigned level, unsigned slot,
		       struct wheel_timer **ret)
{
	*ret = w->slot[level][slot];
	w->slot[level][slot] = NULL;
	w->used[level] &= ~(UINT64_C(1) << slot);
	if (*ret)
		(*ret)->link = ret;
}

static void wheel_tick(struct wheel *w)
{
	struct wheel_timer *list;

	for (unsigned level = WHEEL_LEVELS - 1; level > 0; level--) {
		unsigned shift = LEVEL_BITS * level;

		if (w->now & ((UINT64_C(1) << shift) - 1))
			continue;
		wheel_take(w, level, (unsigned)(w->now >> shift) & SLOT_MASK,
			   &list);
		while (list) {
			struct wheel_timer *t = list;

			wheel_unlink(t);
			wheel_insert(w, t);
		}
	}
	wheel_take(w, 0, (unsigned)w->now & SLOT_MASK, &list);
	while (list) {
		struct wheel_timer *t = list;

		wheel_unlink(t);
		w->armed--;
		t->fn(t);
	}
}

void wheel_run(struct wheel *w, uint64_t now_ms)
{
	uint64_t target = now_ms / WHEEL_TICK_MS;

	while (w->now < target) {
		uint64_t next = wheel_next(w);

		if (next > target) {
			w->now = target;
			return;
		}
		w->now = next;
		wheel_tick(w);
	}
}

int wheel_wait(const struct wheel *w, uint64_t now_ms)
{
	uint64_t at;

	if (w->armed == 0)
		return -1;
	at = wheel_next(w) * WHEEL_TICK_MS;
	if (at <= now_ms)
		return 0;
	return at - now_ms > INT_MAX ? INT_MAX : (int)(at - now_ms);
}
