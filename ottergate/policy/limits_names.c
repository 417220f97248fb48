/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits_names.c - how many names a sandbox has asked for this hour
 *
 * Theory of operation
 *
 * An open-addressed table of 64-bit hashes. A hash is made of the name and
 * the hour, so that what is left of an earlier hour never matches and a
 * reader needs no lock, whatever the writer is doing: at worst he misses a
 * name that is just being put in, takes the lock and looks again. Slots are
 * only ever filled while an hour lasts.
 *
 * Hashes are keyed (SipHash) with a key of this process: a sandbox chooses
 * the names, and must not be able to choose which of them fall together.
 *
 * Most sandboxes ask for a few dozen names. So the table begins small and
 * gets a second, large part when that is full; a part that is there stays.
 */
#include "ottergate/policy/limits.h"

#include <assert.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define PARTS 2u
#define FILL(slots) ((slots) / 4 * 3)

static const size_t part_slots[PARTS] = { 256, 16384 };
static_assert(FILL(256) + FILL(16384) >= NAMES_SEEN_MAX, "room for all names");

struct part {
	size_t filled; /* under the lock */
	_Atomic uint64_t slot[]; /* part_slots[] of them; 0: free */
};

struct wildcard { /* a rule, and how many names below it */
	uint64_t key;
	uint32_t n;
};

struct names_seen {
	_Atomic(struct part *) part[PARTS];
	pthread_mutex_t lock; /* for all below and for filling slots */
	uint64_t hour;
	uint32_t n;
	struct wildcard wildcards[NAMES_WILDCARDS_MAX + 1]; /* last: others */
	size_t n_wildcards;
};

static unsigned char hash_key[crypto_shorthash_KEYBYTES];

static void hash_key_make(void)
{
	randombytes_buf(hash_key, sizeof(hash_key));
}

struct names_seen *names_seen_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct names_seen *s;

	pthread_once(&once, hash_key_make);
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	if (pthread_mutex_init(&s->lock, NULL) != 0) {
		free(s);
		return NULL;
	}
	return s;
}

void names_seen_free(struct names_seen *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < PARTS; i++)
		free(atomic_load(&s->part[i]));
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static uint64_t hash(uint64_t hour, const void *text, size_t len)
{
	unsigned char in[sizeof(hour) + NAME_LEN_MAX];
	uint64_t ret;

	if (len > NAME_LEN_MAX)
		len = NAME_LEN_MAX;
	memcpy(in, &hour, sizeof(hour));
	memcpy(in + sizeof(hour), text, len);
	crypto_shorthash((unsigned char *)&ret, in, sizeof(hour) + len,
			 hash_key);
	return ret ? ret : 1;
}

/* The slot that holds @h, or the free one where it belongs. A part is never
 * full, so there is one. */
static _Atomic uint64_t *part_find(struct part *p, size_t slots, uint64_t h)
{
	size_t i = h % slots;

	for (;;) {
		uint64_t v =
			atomic_load_explicit(&p->slot[i], memory_order_relaxed);

		if (v == h || v == 0)
			return &p->slot[i];
		i = (i + 1) % slots;
	}
}

static bool names_has(struct names_seen *s, uint64_t h)
{
	for (size_t i = 0; i < PARTS; i++) {
		struct part *p =
			atomic_load_explicit(&s->part[i], memory_order_acquire);

		if (p && atomic_load_explicit(part_find(p, part_slots[i], h),
					      memory_order_relaxed) == h)
			return true;
	}
	return false;
}

static void hour_turn(struct names_seen *s, uint64_t hour)
{
	/* A worker whose round began in the last hour must not turn it back. */
	if (hour <= s->hour)
		return;
	s->hour = hour;
	s->n = 0;
	s->n_wildcards = 0;
	memset(s->wildcards, 0, sizeof(s->wildcards));
	for (size_t i = 0; i < PARTS; i++) {
		struct part *p = atomic_load(&s->part[i]);

		if (!p)
			continue;
		p->filled = 0;
		for (size_t k = 0; k < part_slots[i]; k++)
			atomic_store_explicit(&p->slot[k], 0,
					      memory_order_relaxed);
	}
}

/* The counter of @id, made when there is room; else that of all others. */
static struct wildcard *wildcard_find(struct names_seen *s, const char *id)
{
	uint64_t key = hash(0, id, strlen(id));

	for (size_t i = 0; i < s->n_wildcards; i++)
		if (s->wildcards[i].key == key)
			return &s->wildcards[i];
	if (s->n_wildcards == NAMES_WILDCARDS_MAX)
		return &s->wildcards[NAMES_WILDCARDS_MAX];
	s->wildcards[s->n_wildcards].key = key;
	return &s->wildcards[s->n_wildcards++];
}

static bool names_put(struct names_seen *s, uint64_t h)
{
	for (size_t i = 0; i < PARTS; i++) {
		struct part *p = atomic_load(&s->part[i]);

		if (!p) {
			p = calloc(1, sizeof(*p) + part_slots[i] *
							   sizeof(p->slot[0]));
			if (!p)
				return false;
			atomic_store_explicit(&s->part[i], p,
					      memory_order_release);
		}
		if (p->filled == FILL(part_slots[i]))
			continue;
		p->filled++;
		atomic_store_explicit(part_find(p, part_slots[i], h), h,
				      memory_order_relaxed);
		return true;
	}
	return false;
}

static bool names_add_locked(struct names_seen *s, uint64_t hour, uint64_t h,
			     const char *wildcard, uint32_t max_names,
			     uint32_t max_below)
{
	struct wildcard *w = NULL;

	hour_turn(s, hour);
	if (names_has(s, h))
		return true; /* another worker was quicker */
	if (s->n >= NAMES_SEEN_MAX || (max_names && s->n >= max_names))
		return false;
	if (wildcard && max_below) {
		w = wildcard_find(s, wildcard);
		if (w->n >= max_below)
			return false;
	}
	if (!names_put(s, h))
		return false;
	s->n++;
	if (w)
		w->n++;
	return true;
}

bool names_seen_add(struct names_seen *s, uint64_t hour,
		    const struct name *name, const char *wildcard,
		    uint32_t max_names, uint32_t max_below)
{
	uint64_t h = hash(hour, name->s, name->len);
	bool added;

	if (names_has(s, h))
		return true;
	pthread_mutex_lock(&s->lock);
	added = names_add_locked(s, hour, h, wildcard, max_names, max_below);
	pthread_mutex_unlock(&s->lock);
	return added;
}
