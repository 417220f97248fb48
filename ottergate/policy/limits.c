/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.c - what one sandbox may use
 *
 * Theory of operation
 *
 * Rates are a generic cell rate algorithm: the one word of a bucket is the
 * time, in nanoseconds, at which all that was let through so far would have
 * been spent at the allowed rate. What comes while that time is no further
 * ahead than the burst allows is let through and moves it on. One word needs
 * no lock, and an idle bucket no timer to fill it.
 *
 * Volumes carry the hour they belong to in their upper bits, so that turning
 * the hour and adding to it are one and the same exchange: no byte is counted
 * in no hour, none in two.
 */
#include "ottergate/policy/limits.h"

#include <errno.h>

#include "lib/attr.h"
#include "lib/memory.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define MS_PER_HOUR UINT64_C(3600000)
/* Counts a second may come in bursts of twice that (policy.h). */
#define BURST_COUNT_NS (2 * NS_PER_S)
/* Bytes: enough for one good gulp, short enough to look like the rate. */
#define BURST_BYTES_NS (250 * NS_PER_MS)
/* Above this a rate is no limit, and below it no product overflows. */
#define RATE_MAX UINT64_C(16000000000)
/* A direction whose volume is used looks again after this time, at most: the
 * policy may have changed. */
#define REST_MAX_MS UINT64_C(60000)

#define HOUR_SHIFT 48
#define VOLUME_MAX ((UINT64_C(1) << HOUR_SHIFT) - 1)

int usage_init(struct usage *u)
{
	*u = (struct usage){ .names = names_seen_new() };
	return u->names ? 0 : -ENOMEM;
}

void usage_done(struct usage *u)
{
	names_seen_free(u->names);
	u->names = NULL;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* One more at @rate a second, if that is not too much. */
static bool bucket_take(struct bucket *b, uint64_t rate, uint64_t now_ns)
{
	uint64_t cost = NS_PER_S / rate, next;
	uint64_t was = atomic_load_explicit(&b->state, memory_order_relaxed);

	do {
		next = max_u64(was, now_ns) + cost;
		if (next > now_ns + BURST_COUNT_NS)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&b->state, &was, next,
							memory_order_relaxed,
							memory_order_relaxed));
	return true;
}

/* @n bytes at @rate a second, already moved: how long to rest, in ms. */
static uint64_t bucket_spend(struct bucket *b, uint64_t rate, uint64_t n,
			     uint64_t now_ns)
{
	uint64_t cost = n / rate * NS_PER_S + n % rate * NS_PER_S / rate;
	uint64_t was = atomic_load_explicit(&b->state, memory_order_relaxed);
	uint64_t next;

	do {
		next = max_u64(was, now_ns) + cost;
	} while (!atomic_compare_exchange_weak_explicit(&b->state, &was, next,
							memory_order_relaxed,
							memory_order_relaxed));
	if (next <= now_ns + BURST_BYTES_NS)
		return 0;
	return (next - now_ns - BURST_BYTES_NS) / NS_PER_MS + 1;
}

static uint64_t hour_tag(uint64_t now_ms)
{
	/* An hour that has passed 65536 hours ago is not met again. */
	return (now_ms / MS_PER_HOUR & 0xffff) << HOUR_SHIFT;
}

/* Adds @n, returns the bytes of this hour. */
static uint64_t volume_add(_Atomic uint64_t *v, uint64_t n, uint64_t now_ms)
{
	uint64_t tag = hour_tag(now_ms), used;
	uint64_t was = atomic_load_explicit(v, memory_order_relaxed);

	do {
		used = (was & ~VOLUME_MAX) == tag ? was & VOLUME_MAX : 0;
		used = n > VOLUME_MAX - used ? VOLUME_MAX : used + n;
	} while (!atomic_compare_exchange_weak_explicit(v, &was, tag | used,
							memory_order_relaxed,
							memory_order_relaxed));
	return used;
}

static uint64_t volume_used(const _Atomic uint64_t *v, uint64_t now_ms)
{
	uint64_t was = atomic_load_explicit(v, memory_order_relaxed);

	return (was & ~VOLUME_MAX) == hour_tag(now_ms) ? was & VOLUME_MAX : 0;
}

static bool volume_over(const struct usage *u, const struct limits *l, bool up,
			uint64_t now_ms)
{
	uint64_t max = up ? l->volume_up : l->volume_down;

	return max &&
	       volume_used(up ? &u->hour_up : &u->hour_down, now_ms) >= max;
}

bool usage_is_killed(const struct usage *u)
{
	return atomic_load_explicit(&u->killed, memory_order_relaxed);
}

/* A limit was passed, for @why. */
static enum reason limit_hit(struct usage *u, const struct limits *l,
			     enum reason why)
{
	if (l->on_limit == LIMIT_KILL)
		atomic_store_explicit(&u->killed, true, memory_order_relaxed);
	return why;
}

/* Counts one more in @n, unless that would be more than @max (0: no limit). */
static bool count_open(atomic_uint *n, uint32_t max)
{
	unsigned before = atomic_fetch_add_explicit(n, 1, memory_order_relaxed);

	if (max == 0 || before < max)
		return true;
	atomic_fetch_sub_explicit(n, 1, memory_order_relaxed);
	return false;
}

static void count_close(atomic_uint *n)
{
	atomic_fetch_sub_explicit(n, 1, memory_order_relaxed);
}

void usage_hold(struct usage *u, uint64_t was, uint64_t is)
{
	atomic_fetch_add_explicit(&u->memory, is - was, memory_order_relaxed);
	if (is < was)
		memory_freed(was - is);
}

enum usage_room usage_room(const struct usage *u, const struct limits *l)
{
	uint64_t used = atomic_load_explicit(&u->memory, memory_order_relaxed);

	if (l->memory == 0 || used < l->memory / 2)
		return ROOM_FREE;
	return used < l->memory ? ROOM_SCARCE : ROOM_NONE;
}

enum reason usage_open(struct usage *u, const struct limits *l, uint64_t now_ms)
{
	if (usage_is_killed(u))
		return REASON_LIMIT_KILLED;
	/* Throttled ones too: each would move one step before it rests. */
	if (volume_over(u, l, true, now_ms) || volume_over(u, l, false, now_ms))
		return limit_hit(u, l, REASON_LIMIT_VOLUME);
	if (usage_room(u, l) == ROOM_NONE)
		return limit_hit(u, l, REASON_LIMIT_MEMORY);
	if (!count_open(&u->conns, l->conns))
		return limit_hit(u, l, REASON_LIMIT_CONNS);
	if (!count_open(&u->half_open, l->half_open)) {
		count_close(&u->conns);
		return limit_hit(u, l, REASON_LIMIT_HALF_OPEN);
	}
	if (l->new_conns &&
	    !bucket_take(&u->new_conns, l->new_conns, now_ms * NS_PER_MS)) {
		usage_close(u, true);
		return limit_hit(u, l, REASON_LIMIT_RATE);
	}
	return REASON_ALLOWED;
}

void usage_request(struct usage *u)
{
	count_close(&u->half_open);
}

enum reason usage_again(struct usage *u, const struct limits *l,
			uint64_t now_ms)
{
	if (usage_is_killed(u))
		return REASON_LIMIT_KILLED;
	if (l->new_conns &&
	    !bucket_take(&u->new_conns, l->new_conns, now_ms * NS_PER_MS))
		return limit_hit(u, l, REASON_LIMIT_RATE);
	return REASON_ALLOWED;
}

void usage_close(struct usage *u, bool half_open)
{
	if (half_open)
		count_close(&u->half_open);
	count_close(&u->conns);
}

bool usage_packet(struct usage *u, const struct limits *l, uint64_t now_ms)
{
	uint64_t rate = max_u64(LIMIT_DNS_PACKETS, UINT64_C(2) * l->dns_qps);

	return l->dns_qps == 0 ||
	       bucket_take(&u->packets, rate, now_ms * NS_PER_MS);
}

enum reason usage_dns(struct usage *u, const struct limits *l, uint64_t now_ms)
{
	atomic_fetch_add_explicit(&u->dns_queries, 1, memory_order_relaxed);
	if (usage_is_killed(u))
		return REASON_LIMIT_KILLED;
	if (l->dns_qps && !bucket_take(&u->dns, l->dns_qps, now_ms * NS_PER_MS))
		return limit_hit(u, l, REASON_LIMIT_DNS);
	return REASON_ALLOWED;
}

enum reason usage_ask(struct usage *u, uint64_t now_ms)
{
	if (usage_is_killed(u))
		return REASON_LIMIT_KILLED;
	return bucket_take(&u->asks, LIMIT_ASKS, now_ms * NS_PER_MS) ?
		       REASON_ALLOWED :
		       REASON_LIMIT_DNS;
}

enum reason usage_told(struct usage *u, const struct limits *l, uint64_t now_ms)
{
	if (l->new_conns == 0 ||
	    bucket_take(&u->told, l->new_conns, now_ms * NS_PER_MS))
		return REASON_ALLOWED;
	return REASON_LIMIT_RATE;
}

bool usage_lookup(struct usage *u)
{
	if (!count_open(&u->lookups, LIMIT_LOOKUPS))
		return false;
	usage_hold(u, 0, LIMIT_MEMORY_LOOKUP);
	return true;
}

void usage_looked_up(struct usage *u)
{
	count_close(&u->lookups);
	usage_hold(u, LIMIT_MEMORY_LOOKUP, 0);
}

enum reason usage_name(struct usage *u, const struct limits *l,
		       const struct name *name, const struct rule *rule,
		       unsigned below, uint64_t now_ms)
{
	const char *wildcard = below > 0 && rule ? rule->id : NULL;

	if (usage_is_killed(u))
		return REASON_LIMIT_KILLED;
	if (name->len == 0)
		return REASON_ALLOWED;
	if (l->new_names == 0 && (!wildcard || l->new_subdomains == 0))
		return REASON_ALLOWED;
	if (names_seen_add(u->names, now_ms / MS_PER_HOUR, name, wildcard,
			   l->new_names, l->new_subdomains))
		return REASON_ALLOWED;
	return limit_hit(u, l, REASON_LIMIT_NAMES);
}

/* The volume of this hour is used. */
static int volume_hit(struct usage *u, const struct limits *l, uint64_t now_ms)
{
	uint64_t left = MS_PER_HOUR - now_ms % MS_PER_HOUR;

	limit_hit(u, l, REASON_LIMIT_VOLUME);
	if (l->on_limit == LIMIT_KILL)
		return -ECONNABORTED;
	if (l->on_limit == LIMIT_DENY)
		return -EDQUOT;
	return (int)(left < REST_MAX_MS ? left : REST_MAX_MS);
}

int usage_bytes(struct usage *u, const struct limits *l, bool up, uint64_t n,
		uint64_t now_ms)
{
	uint64_t rate = up ? l->up : l->down, rest;
	uint64_t volume = up ? l->volume_up : l->volume_down;

	atomic_fetch_add_explicit(up ? &u->total_up : &u->total_down, n,
				  memory_order_relaxed);
	if (usage_is_killed(u))
		return -ECONNABORTED;
	if (volume &&
	    volume_add(up ? &u->hour_up : &u->hour_down, n, now_ms) >= volume)
		return volume_hit(u, l, now_ms);
	if (rate == 0 || rate > RATE_MAX)
		return 0;
	rest = bucket_spend(up ? &u->up : &u->down, rate, n,
			    now_ms * NS_PER_MS);
	return (int)(rest < REST_MAX_MS ? rest : REST_MAX_MS);
}

int usage_rested(struct usage *u, const struct limits *l, bool up,
		 uint64_t now_ms)
{
	if (usage_is_killed(u))
		return -ECONNABORTED;
	return volume_over(u, l, up, now_ms) ? volume_hit(u, l, now_ms) : 0;
}

/* One word a place: the minute above, how many below. */
enum reason usage_inspected(struct usage *u, const char *rule,
			    uint64_t per_minute, uint64_t now_ms)
{
	uint64_t minute = now_ms / 60000 & UINT32_MAX, old, now;
	uint32_t h = 2166136261u; /* FNV-1a: ids are the policy's */
	_Atomic uint64_t *word;

	if (usage_is_killed(u))
		return REASON_LIMIT_KILLED;
	if (per_minute == 0)
		return REASON_ALLOWED;
	for (; *rule; rule++)
		h = (h ^ (uint8_t)*rule) * 16777619u;
	word = &u->requests[(h ^ h >> 16) % LIMIT_REQUEST_SLOTS];
	old = atomic_load_explicit(word, memory_order_relaxed);
	do {
		now = old >> 32 == minute ? old : minute << 32;
		if ((now & UINT32_MAX) >= per_minute)
			return REASON_LIMIT_REQUESTS;
	} while (!atomic_compare_exchange_weak_explicit(word, &old, now + 1,
							memory_order_relaxed,
							memory_order_relaxed));
	return REASON_ALLOWED;
}
