/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.c - caches the gateway's verdicts for as long as they are valid
 *
 * An entry must contain its whole key, or one destination gets the verdict of
 * another. Address, port and protocol are 49 bits. They are mixed by a
 * reversible multiplication (an odd factor, modulo 2^49); the upper 7 bits of
 * the product are the place and the lower 42 the tag, so no two keys share
 * both. The rest of the 64 bits is the verdict (2) and the second at which it
 * ends, modulo 2^20. So an old entry becomes valid again after twelve days, for
 * at most a minute; the network still decides then.
 */
#include "net-preload/cache.h"

#include <assert.h>
#include <stdatomic.h>

#define KEY_BITS 49u
#define TAG_BITS 42u
#define TIME_BITS 20u
#define TAG_SHIFT (64u - TAG_BITS)
#define MASK(bits) ((UINT64_C(1) << (bits)) - 1)
#define FACTOR UINT64_C(0x19e3779b97f4b) /* odd; the golden ratio's bits */

static_assert(CACHE_ENTRIES == 1u << (KEY_BITS - TAG_BITS),
	      "the place is what the tag has not");
static_assert(TAG_BITS + 2 + TIME_BITS == 64, "an entry is one word");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "atomics must need no lock");

/* Stands in the place of a verdict while the gateway is asked. It expires by
 * itself: the asking process may be killed, or be a copy of one. */
#define ASKED 3u
#define ASKED_S 2u /* the rest of this second and one whole one */

static _Atomic uint64_t entries[CACHE_ENTRIES];
static _Atomic uint64_t told[CACHE_TOLD];

uint64_t cache_key(uint32_t address, uint16_t port, bool udp)
{
	uint64_t plain = (uint64_t)address << 17 | (uint64_t)port << 1 | udp;

	return plain * FACTOR & MASK(KEY_BITS);
}

static uint64_t entry(uint64_t key, uint64_t verdict, uint32_t now,
		      unsigned keep)
{
	uint64_t end = now + (keep < CACHE_KEEP_MAX ? keep : CACHE_KEEP_MAX);

	return (key & MASK(TAG_BITS)) << TAG_SHIFT | verdict << TIME_BITS |
	       (end & MASK(TIME_BITS));
}

static bool is_live(uint64_t e, uint32_t now)
{
	uint64_t left = (e - now) & MASK(TIME_BITS);

	return left > 0 && left <= CACHE_KEEP_MAX;
}

static bool is_of(uint64_t e, uint64_t key)
{
	return e >> TAG_SHIFT == (key & MASK(TAG_BITS));
}

static bool is_asked(uint64_t e)
{
	return (e >> TIME_BITS & MASK(2)) == ASKED;
}

static enum cache_verdict verdict(uint64_t e, uint64_t key, uint32_t now)
{
	if (!is_of(e, key) || !is_live(e, now))
		return CACHE_NONE;
	return is_asked(e) ? CACHE_GO :
			     (enum cache_verdict)(e >> TIME_BITS & MASK(2));
}

enum cache_verdict cache_get(uint64_t key, uint32_t now)
{
	return verdict(atomic_load_explicit(&entries[key >> TAG_BITS],
					    memory_order_relaxed),
		       key, now);
}

void cache_put(uint64_t key, enum cache_verdict v, uint32_t now, unsigned keep)
{
	if (keep > 0)
		atomic_store_explicit(&entries[key >> TAG_BITS],
				      entry(key, v, now, keep),
				      memory_order_relaxed);
}

enum cache_verdict cache_claim(uint64_t key, uint32_t now)
{
	_Atomic uint64_t *place = &entries[key >> TAG_BITS];
	uint64_t e = atomic_load(place);
	enum cache_verdict v = verdict(e, key, now);

	if (v != CACHE_NONE)
		return v;
	/* Reserved for another key: if it were replaced, that key would be
	 * asked for again. */
	if (is_asked(e) && is_live(e, now))
		return CACHE_GO;
	if (atomic_compare_exchange_strong(place, &e,
					   entry(key, ASKED, now, ASKED_S)))
		return CACHE_NONE;
	v = verdict(e, key, now);
	return v == CACHE_NONE ? CACHE_GO : v;
}

void cache_drop(uint64_t key)
{
	_Atomic uint64_t *place = &entries[key >> TAG_BITS];
	uint64_t e = atomic_load(place);

	if (is_of(e, key) && is_asked(e))
		atomic_compare_exchange_strong(place, &e, 0);
}

bool cache_tell(uint64_t what)
{
	what |= 1; /* 0 marks a free place */
	for (unsigned i = 0; i < CACHE_TOLD; i++) {
		uint64_t seen = 0;

		if (atomic_compare_exchange_strong(&told[i], &seen, what))
			return true;
		if (seen == what)
			return false;
	}
	return false;
}

uint64_t cache_hash(uint64_t h, const void *data, unsigned len)
{
	const uint8_t *p = data;

	for (unsigned i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}
