/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.c - maps addresses to names, and remembers who asked and what failed
 *
 * Theory of operation: an array of names, each in three lists by its index: by
 * its hash, by its address, and from the newest to the oldest. Names are
 * removed only to make room, so the array fills from its beginning and its
 * unused pages take no memory. A sandbox chooses the names, so the hash has a
 * key; and a bucket of addresses holds at most as many as the range has
 * addresses for it (32), whatever is asked.
 *
 * An address that the policy gives to a name of its own must not be leased, and
 * a policy may be bound after a lease; so each answer checks it.
 *
 * A failed host is stored as 64 bits of a keyed hash instead of its name, so
 * that all take the same space.
 */
#include "ottergate/dns/lease.h"

#include <pthread.h>
#include <sodium.h>
#include <string.h>

#include "lib/attr.h"
#include "ottergate/policy/net/synthetic.h"

/* each of 2 names on average and of 32 addresses at most */
#define BUCKETS 4096u
#define ASKER_WAYS 4u
#define ASKER_SETS (LEASE_ASKERS_MAX / ASKER_WAYS)
#define FAILURE_WAYS 4u
#define FAILURE_SETS (LEASE_FAILURES_MAX / FAILURE_WAYS)

struct lease {
	uint32_t v4; /* host order */
	uint16_t by_name, by_addr; /* next in the bucket: index plus 1 */
	uint16_t newer, older; /* 0: the end of the list */
	struct name name;
};

struct asker {
	uint32_t v4; /* 0: free */
	uint16_t port;
	uint64_t at_ms; /* when @program asked */
	/* When the last asker with another pid or path asked; 0: none. */
	uint64_t other_pid_ms, other_exe_ms;
	struct program program;
};

struct failure {
	uint64_t host; /* failure_hash() */
	uint64_t at_ms; /* plus 1; 0: free */
	enum reason why;
};

struct leases {
	pthread_mutex_t lock;
	uint8_t key[crypto_shorthash_KEYBYTES];
	uint16_t n, newest, oldest;
	uint16_t names[BUCKETS], addrs[BUCKETS];
	struct asker askers[LEASE_ASKERS_MAX];
	struct failure failures[LEASE_FAILURES_MAX];
	struct lease v[LEASE_NAMES_MAX];
};

_Static_assert(sizeof(struct leases) <= 600 * 1024, "of each sandbox");
_Static_assert(LEASE_NAMES_MAX < UINT16_MAX, "index plus 1");

void leases_free(struct leases *l)
{
	if (!l)
		return;
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static struct leases *leases_new(void)
{
	struct leases *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	if (pthread_mutex_init(&l->lock, NULL) != 0) {
		free(l);
		return NULL;
	}
	randombytes_buf(l->key, sizeof(l->key));
	return l;
}

/* Returns the table of @a, making it if necessary. If several workers make one
 * at once, the first one's is used. */
static struct leases *leases_made(struct agent *a)
{
	struct leases *l =
		atomic_load_explicit(&a->leases, memory_order_acquire);
	struct leases *was = NULL;

	if (l)
		return l;
	l = leases_new();
	if (!l || atomic_compare_exchange_strong(&a->leases, &was, l))
		return l;
	leases_free(l);
	return was;
}

static uint32_t v4_of(const struct addr *a)
{
	return (uint32_t)a->b[0] << 24 | (uint32_t)a->b[1] << 16 |
	       (uint32_t)a->b[2] << 8 | a->b[3];
}

/* --- names ---------------------------------------------------------------- */

static uint16_t *name_bucket(struct leases *l, const struct name *name)
{
	uint8_t h[crypto_shorthash_BYTES];

	crypto_shorthash(h, (const uint8_t *)name->s, name->len, l->key);
	return &l->names[(h[0] | (unsigned)h[1] << 8) % BUCKETS];
}

static uint16_t *addr_bucket(struct leases *l, uint32_t v4)
{
	return &l->addrs[v4 % BUCKETS];
}

static uint16_t find_name(struct leases *l, const struct name *name)
{
	uint16_t i = *name_bucket(l, name);

	while (i && (l->v[i - 1].name.len != name->len ||
		     memcmp(l->v[i - 1].name.s, name->s, name->len) != 0))
		i = l->v[i - 1].by_name;
	return i;
}

static uint16_t find_addr(struct leases *l, uint32_t v4)
{
	uint16_t i = *addr_bucket(l, v4);

	while (i && l->v[i - 1].v4 != v4)
		i = l->v[i - 1].by_addr;
	return i;
}

static void age_remove(struct leases *l, uint16_t i)
{
	const struct lease *e = &l->v[i - 1];

	if (e->newer)
		l->v[e->newer - 1].older = e->older;
	else
		l->newest = e->older;
	if (e->older)
		l->v[e->older - 1].newer = e->newer;
	else
		l->oldest = e->newer;
}

static void age_first(struct leases *l, uint16_t i)
{
	struct lease *e = &l->v[i - 1];

	e->newer = 0;
	e->older = l->newest;
	if (l->newest)
		l->v[l->newest - 1].newer = i;
	else
		l->oldest = i;
	l->newest = i;
}

/* Removes the lease from all three lists. */
static void lease_remove(struct leases *l, uint16_t i)
{
	struct lease *e = &l->v[i - 1];
	uint16_t *link = name_bucket(l, &e->name);

	while (*link != i)
		link = &l->v[*link - 1].by_name;
	*link = e->by_name;
	link = addr_bucket(l, e->v4);
	while (*link != i)
		link = &l->v[*link - 1].by_addr;
	*link = e->by_addr;
	age_remove(l, i);
}

static void lease_add(struct leases *l, uint16_t i, const struct name *name,
		      uint32_t v4)
{
	struct lease *e = &l->v[i - 1];
	uint16_t *bucket = name_bucket(l, name);

	e->name.len = name->len;
	memcpy(e->name.s, name->s, name->len + 1u);
	e->v4 = v4;
	e->by_name = *bucket;
	*bucket = i;
	bucket = addr_bucket(l, v4);
	e->by_addr = *bucket;
	*bucket = i;
	age_first(l, i);
}

static bool is_free(struct leases *l, const struct agent_policy *p,
		    const struct addr *addr)
{
	return !agent_policy_synthetic_name(p, addr) &&
	       !find_addr(l, v4_of(addr));
}

/* Returns a free address near the name's first choice; family 0 if all are
 * taken. */
static struct addr place_of(struct leases *l, const struct agent_policy *p,
			    const struct name *name)
{
	uint32_t home = synthetic_home(name);

	for (uint32_t n = 0; n < LEASE_PLACES; n++) {
		struct addr at = synthetic_at(home, n);

		if (is_free(l, p, &at))
			return at;
	}
	return (struct addr){ .family = 0 };
}

static struct addr take_locked(struct leases *l, const struct agent_policy *p,
			       const struct name *name)
{
	uint16_t i = find_name(l, name);
	struct addr at;

	if (i) {
		at = addr_v4(l->v[i - 1].v4);
		if (!agent_policy_synthetic_name(p, &at)) {
			age_remove(l, i);
			age_first(l, i);
			return at;
		}
	}
	at = place_of(l, p, name);
	if (at.family == 0)
		return at;
	if (!i && l->n < LEASE_NAMES_MAX) {
		i = ++l->n;
	} else {
		if (!i)
			i = l->oldest;
		lease_remove(l, i);
	}
	lease_add(l, i, name, v4_of(&at));
	return at;
}

struct addr lease_take(struct agent *a, const struct agent_policy *p,
		       const struct name *name)
{
	struct addr at = agent_policy_synthetic(p, name);
	struct leases *l;

	if (at.family == 4)
		return at;
	l = leases_made(a);
	if (!l)
		return at;
	pthread_mutex_lock(&l->lock);
	at = take_locked(l, p, name);
	pthread_mutex_unlock(&l->lock);
	return at;
}

bool lease_name(struct agent *a, const struct agent_policy *p,
		const struct addr *addr, struct name *ret)
{
	const struct name *known = agent_policy_synthetic_name(p, addr);
	struct leases *l =
		atomic_load_explicit(&a->leases, memory_order_acquire);
	uint16_t i;

	if (known) {
		*ret = *known;
		return true;
	}
	if (!l || !synthetic_has(addr))
		return false;
	pthread_mutex_lock(&l->lock);
	i = find_addr(l, v4_of(addr));
	if (i)
		*ret = l->v[i - 1].name;
	pthread_mutex_unlock(&l->lock);
	return i != 0;
}

/* --- who asked ------------------------------------------------------------ */

static struct asker *asker_set(struct leases *l, uint32_t v4, uint16_t port)
{
	uint32_t h = (v4 ^ (uint32_t)port << 16) * UINT32_C(2654435761);

	return &l->askers[(h >> 16) % ASKER_SETS * ASKER_WAYS];
}

static bool is_recent(uint64_t at_ms, uint64_t now_ms)
{
	return at_ms && at_ms + LEASE_ASKER_MS >= now_ms;
}

/* Returns the place of this address and port, or else clears and returns the
 * one longest unused. */
static struct asker *asker_place(struct leases *l, uint32_t v4, uint16_t port)
{
	struct asker *set = asker_set(l, v4, port), *best = set;

	for (unsigned i = 0; i < ASKER_WAYS; i++) {
		if (set[i].v4 == v4 && set[i].port == port)
			return &set[i];
		if (set[i].at_ms < best->at_ms)
			best = &set[i];
	}
	*best = (struct asker){ .v4 = v4, .port = port };
	return best;
}

void lease_ask(struct agent *a, const struct addr *addr, uint16_t port,
	       const struct program *program, uint64_t now_ms)
{
	struct leases *l = leases_made(a);
	struct asker *e;

	if (!l || addr->family != 4)
		return;
	pthread_mutex_lock(&l->lock);
	e = asker_place(l, v4_of(addr), port);
	if (e->at_ms && e->program.pid != program->pid)
		e->other_pid_ms = e->at_ms;
	if (e->at_ms && strcmp(e->program.exe, program->exe) != 0)
		e->other_exe_ms = e->at_ms;
	e->program = *program;
	e->at_ms = now_ms + 1; /* never 0 */
	pthread_mutex_unlock(&l->lock);
	atomic_store_explicit(&a->asked_ms, now_ms + 1, memory_order_relaxed);
}

bool lease_asker(struct agent *a, const struct addr *addr, uint16_t port,
		 uint64_t now_ms, struct program *ret)
{
	struct leases *l =
		atomic_load_explicit(&a->leases, memory_order_acquire);
	uint64_t asked =
		atomic_load_explicit(&a->asked_ms, memory_order_relaxed);
	bool known = false;
	struct asker *set;

	if (!l || addr->family != 4 || !is_recent(asked, now_ms))
		return false;
	pthread_mutex_lock(&l->lock);
	set = asker_set(l, v4_of(addr), port);
	for (unsigned i = 0; i < ASKER_WAYS; i++) {
		const struct asker *e = &set[i];

		if (e->v4 != v4_of(addr) || e->port != port ||
		    !is_recent(e->at_ms, now_ms) ||
		    is_recent(e->other_exe_ms, now_ms))
			continue;
		*ret = e->program;
		if (is_recent(e->other_pid_ms, now_ms))
			ret->pid = 0;
		known = ret->pid || ret->exe[0];
	}
	pthread_mutex_unlock(&l->lock);
	return known;
}

/* --- failed connections
 * ---------------------------------------------------- */

static bool is_remembered(uint64_t at_ms, uint64_t now_ms)
{
	return at_ms && at_ms + LEASE_FAILURE_MS >= now_ms;
}

static uint64_t failure_hash(const struct leases *l,
			     const struct lease_host *host)
{
	uint8_t m[NAME_LEN_MAX + 3], h[crypto_shorthash_BYTES];
	const void *from = host->name ? (const void *)host->name : host->addr.b;
	size_t len = host->name ? strnlen(host->name, NAME_LEN_MAX) :
		     host->addr.family == 4 ? 4 :
					      16;
	uint64_t ret;

	m[0] = host->name ? 0 : host->addr.family;
	m[1] = (uint8_t)(host->port >> 8);
	m[2] = (uint8_t)host->port;
	memcpy(m + 3, from, len);
	crypto_shorthash(h, m, 3 + len, l->key);
	memcpy(&ret, h, sizeof(ret));
	return ret;
}

/* Returns the place of @hash, or else a free one or the one filled first. */
static struct failure *failure_place(struct leases *l, uint64_t hash)
{
	struct failure *set = &l->failures[hash % FAILURE_SETS * FAILURE_WAYS];
	struct failure *best = set;

	for (unsigned i = 0; i < FAILURE_WAYS; i++) {
		if (set[i].at_ms && set[i].host == hash)
			return &set[i];
		if (set[i].at_ms < best->at_ms)
			best = &set[i];
	}
	return best;
}

/* Costs nothing unless a host of this sandbox has failed recently. */
void lease_reached(struct agent *a, const struct lease_host *host,
		   enum reason why, uint64_t now_ms)
{
	uint64_t failed =
		atomic_load_explicit(&a->failed_ms, memory_order_relaxed);
	struct leases *l;
	struct failure *e;
	uint64_t hash;

	if (why == REASON_ALLOWED && !is_remembered(failed, now_ms))
		return;
	l = leases_made(a);
	if (!l)
		return;
	hash = failure_hash(l, host);
	pthread_mutex_lock(&l->lock);
	e = failure_place(l, hash);
	if (why != REASON_ALLOWED) {
		/* Stored before unlocking: a later success must find this
		 * failure. */
		atomic_store_explicit(&a->failed_ms, now_ms + 1,
				      memory_order_relaxed);
		*e = (struct failure){ hash, now_ms + 1, why };
	} else if (e->host == hash) {
		e->at_ms = 0;
	}
	pthread_mutex_unlock(&l->lock);
}

enum reason lease_failure(struct agent *a, const struct lease_host *host,
			  uint64_t now_ms)
{
	struct leases *l =
		atomic_load_explicit(&a->leases, memory_order_acquire);
	enum reason why = REASON_ALLOWED;
	const struct failure *e;
	uint64_t hash;

	if (!l)
		return why;
	hash = failure_hash(l, host);
	pthread_mutex_lock(&l->lock);
	e = failure_place(l, hash);
	if (e->host == hash && is_remembered(e->at_ms, now_ms))
		why = e->why;
	pthread_mutex_unlock(&l->lock);
	return why;
}
