/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve.c - resolves names: the cache and its waiting queries
 *
 * An entry is one name. It is ASKED while one question for A and one for AAAA
 * are out (resolve_ares.c), then KNOWN until it has expired and is asked for
 * again:
 *
 *   (new) ──→ ASKED ── both answered, or the timer ──→ KNOWN
 *              ↑                                        │
 *              └──────────── expired, asked ────────────┘
 *
 * When A has returned addresses, AAAA has RESOLUTION_DELAY_MS more (RFC 8305
 * §3): a server that drops AAAA questions must not cost five seconds.
 *
 * Queries wait in a list of their entry; their callbacks are called only from
 * resolver_tell(), a deferred function, never from within a call of c-ares or
 * of the caller, so that re-entry is impossible. Only KNOWN entries without
 * waiting queries are in the LRU list and can be evicted; if there is none, no
 * new name is accepted.
 */
#include "ottergate/dns/resolve.h"

#include <string.h>
#include <sys/queue.h>

#include "ottergate/dns/resolve_ares.h"
#include "ottergate/conn/worker.h"

_Static_assert(4 * LIMIT_LOOKUPS <= RESOLVE_PENDING_MAX,
	       "one sandbox may take a quarter");

#define BUCKETS 1024u
#define TTL_MIN_S 30u
#define TTL_MAX_S 3600u
#define TTL_FAILED_S 5u
#define RESOLUTION_DELAY_MS 50u

enum { V4, V6, FAMILIES };

struct resolve_query {
	TAILQ_ENTRY(resolve_query) link;
	struct entry *entry;
	resolve_fn fn;
	void *arg;
};

TAILQ_HEAD(queries, resolve_query);

struct entry {
	LIST_ENTRY(entry) hash;
	TAILQ_ENTRY(entry) list; /* of lru or ready, see the flags */
	struct queries waiters;
	struct resolver *resolver;
	struct upstream_lookup *out[FAMILIES];
	struct wheel_timer timer; /* while ASKED */
	uint64_t expires_ms;
	uint32_t ttl; /* seconds, the smallest seen */
	uint8_t asked; /* families without an answer yet */
	bool in_lru, in_ready;
	struct resolved res;
	struct name name;
};

TAILQ_HEAD(entries, entry);
LIST_HEAD(same_hash, entry);

struct resolver {
	struct worker *worker;
	struct upstream *upstream;
	struct same_hash bucket[BUCKETS];
	struct entries lru; /* most recent first */
	/* entries whose queries resolver_tell() is to answer */
	struct entries ready;
	size_t n_entries, n_waited; /* n_waited: entries with waiting queries */
	bool deferred; /* resolver_tell() is deferred */
};

/* --- the cache ----------------------------------------------------------- */

static unsigned bucket_of(const struct name *name)
{
	/* FNV-1a without a key: the names come from a policy */
	uint32_t h = 2166136261u;

	for (unsigned i = 0; i < name->len; i++)
		h = (h ^ (uint8_t)name->s[i]) * 16777619u;
	return (h ^ h >> 16) % BUCKETS;
}

static struct entry *entry_find(struct resolver *r, const struct name *name)
{
	struct entry *e;

	LIST_FOREACH (e, &r->bucket[bucket_of(name)], hash)
		if (e->name.len == name->len &&
		    memcmp(e->name.s, name->s, name->len) == 0)
			return e;
	return NULL;
}

static void lru_take(struct entry *e)
{
	if (e->in_lru)
		TAILQ_REMOVE(&e->resolver->lru, e, list);
	e->in_lru = false;
}

static void lru_put(struct entry *e)
{
	lru_take(e);
	TAILQ_INSERT_HEAD(&e->resolver->lru, e, list);
	e->in_lru = true;
}

static void answer_drop(struct entry *e)
{
	free(e->res.aliases);
	e->res = (struct resolved){ .code = 0 };
	e->ttl = TTL_MAX_S;
}

/* Calls nothing back: no query may be waiting. */
static void entry_free(struct entry *e)
{
	struct resolver *r = e->resolver;

	lru_take(e);
	if (e->in_ready)
		TAILQ_REMOVE(&r->ready, e, list);
	for (unsigned i = 0; i < FAMILIES; i++)
		upstream_forget(e->out[i]);
	wheel_clear(&e->timer, &r->worker->wheel);
	LIST_REMOVE(e, hash);
	r->n_entries--;
	answer_drop(e);
	free(e);
}

static void entry_timer(struct wheel_timer *timer);

static struct entry *entry_new(struct resolver *r, const struct name *name)
{
	struct entry *e;

	if (r->n_entries >= RESOLVE_CACHE_MAX)
		entry_free(TAILQ_LAST(&r->lru, entries));
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->resolver = r;
	e->timer.fn = entry_timer;
	e->name = *name;
	TAILQ_INIT(&e->waiters);
	LIST_INSERT_HEAD(&r->bucket[bucket_of(name)], e, hash);
	r->n_entries++;
	return e;
}

/* --- answering
 * ------------------------------------------------------------- */

static void resolver_tell(struct worker *w, void *arg)
{
	struct resolver *r = arg;
	struct resolve_query *q;
	struct entry *e;

	(void)w;
	r->deferred = false;
	while ((e = TAILQ_FIRST(&r->ready))) {
		/* A callback may start or cancel any query, so only the list's
		 * head is used across it. The entry is not freed, since it is
		 * not in the LRU list. */
		while ((q = TAILQ_FIRST(&e->waiters))) {
			resolve_fn fn = q->fn;
			void *fn_arg = q->arg;

			resolver_cancel(q);
			fn(fn_arg, &e->res);
		}
		TAILQ_REMOVE(&r->ready, e, list);
		e->in_ready = false;
		lru_put(e);
	}
}

static void entry_ready(struct entry *e)
{
	struct resolver *r = e->resolver;

	if (e->in_ready)
		return;
	lru_take(e);
	TAILQ_INSERT_TAIL(&r->ready, e, list);
	e->in_ready = true;
	if (!r->deferred) {
		r->deferred = true;
		worker_defer(r->worker, resolver_tell, r);
	}
}

/* --- asking -------------------------------------------------------------- */

static void entry_known(struct entry *e)
{
	struct worker *w = e->resolver->worker;
	struct resolved *res = &e->res;
	uint32_t ttl = e->ttl;

	for (unsigned i = 0; i < FAMILIES; i++) {
		upstream_forget(e->out[i]);
		e->out[i] = NULL;
	}
	wheel_clear(&e->timer, &w->wheel);
	/* One family suffices, except for a chain that is too long: its author
	 * made both. */
	if (res->n > 0 && res->code != -ELOOP)
		res->code = 0;
	if (res->code < 0) {
		res->n = 0;
		ttl = TTL_FAILED_S;
		worker_count(w, COUNTER_RESOLVE_FAILED, 1);
	} else if (ttl < TTL_MIN_S) {
		ttl = TTL_MIN_S; /* N12: no rebinding within a decision */
	}
	e->expires_ms = w->now_ms + (uint64_t)ttl * 1000;
	e->asked = 0;
	entry_ready(e);
}

static void entry_timer(struct wheel_timer *timer)
{
	struct entry *e =
		(struct entry *)((char *)timer - offsetof(struct entry, timer));

	if (e->res.n == 0 && e->res.code != -ELOOP)
		e->res.code = -ETIMEDOUT;
	entry_known(e);
}

/* Both families usually return the same chain; differences are added, because
 * `cname: strict` must see every alias. */
static int aliases_add(struct resolved *res, const struct upstream_answer *a)
{
	for (unsigned i = 0; i < a->n_aliases; i++) {
		const struct name *n = &a->aliases[i];
		unsigned k = 0;

		while (k < res->n_aliases &&
		       strcmp(res->aliases[k].s, n->s) != 0)
			k++;
		if (k < res->n_aliases)
			continue;
		if (k == RESOLVE_CNAMES_MAX)
			return -ELOOP;
		if (!res->aliases)
			res->aliases = calloc(RESOLVE_CNAMES_MAX, sizeof(*n));
		if (!res->aliases)
			return -EIO;
		res->aliases[res->n_aliases++] = *n;
	}
	return 0;
}

/* Keeps the more informative of two failures. */
static void code_add(struct resolved *res, int code)
{
	if (res->code == 0 || res->code == -ENOENT || code == -ELOOP)
		res->code = code;
}

static void entry_answer(struct entry *e, unsigned family,
			 const struct upstream_answer *a)
{
	struct worker *w = e->resolver->worker;
	struct resolved *res = &e->res;
	int rc = a->code;

	e->out[family] = NULL;
	if (rc == 0)
		rc = aliases_add(res, a);
	if (rc < 0) {
		code_add(res, rc);
	} else {
		for (unsigned i = 0; i < a->n && res->n < RESOLVE_ADDRS_MAX;
		     i++)
			res->addrs[res->n++] = a->addrs[i];
		if (a->ttl < e->ttl)
			e->ttl = a->ttl;
	}
	if (--e->asked == 0)
		entry_known(e);
	else if (family == V4 && res->n > 0)
		wheel_set(&w->wheel, &e->timer, w->now_ms, RESOLUTION_DELAY_MS);
}

static void answer_v4(void *arg, const struct upstream_answer *a)
{
	entry_answer(arg, V4, a);
}

static void answer_v6(void *arg, const struct upstream_answer *a)
{
	entry_answer(arg, V6, a);
}

static int share_take(struct agent *agent, struct upstream_share **ret)
{
	struct upstream_share *s;

	if (!usage_lookup(&agent->usage))
		return -EDQUOT;
	s = malloc(sizeof(*s));
	if (!s) {
		usage_looked_up(&agent->usage);
		return -ENOMEM;
	}
	*s = (struct upstream_share){ .agent = agent_ref(agent), .refs = 1 };
	*ret = s;
	return 0;
}

/* Takes ownership of @share. */
static void entry_ask(struct entry *e, struct upstream_share *share)
{
	static const int family[FAMILIES] = { AF_INET, AF_INET6 };
	static const upstream_fn fn[FAMILIES] = { answer_v4, answer_v6 };
	static const struct upstream_answer none = { .code = -EIO };
	struct resolver *r = e->resolver;
	struct worker *w = r->worker;

	answer_drop(e);
	lru_take(e);
	e->asked = FAMILIES;
	worker_count(w, COUNTER_RESOLVED, 1);
	wheel_set(&w->wheel, &e->timer, w->now_ms, RESOLVE_TIMEOUT_MS);
	for (unsigned i = 0; i < FAMILIES; i++)
		if (upstream_ask(r->upstream, &e->name, family[i], share, fn[i],
				 e, &e->out[i]) < 0)
			fn[i](e, &none);
	upstream_share_drop(share);
}

/* --- for dial.c ---------------------------------------------------------- */

int resolver_new(struct worker *w, const char *const *servers,
		 struct resolver **ret, struct err *err)
{
	struct resolver *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return err_nomem(err);
	r->worker = w;
	TAILQ_INIT(&r->lru);
	TAILQ_INIT(&r->ready);
	for (unsigned i = 0; i < BUCKETS; i++)
		LIST_INIT(&r->bucket[i]);
	e = upstream_new(w, servers, &r->upstream, err);
	if (e < 0) {
		free(r);
		return e;
	}
	*ret = r;
	return 0;
}

void resolver_free(struct resolver *r)
{
	struct resolve_query *q;
	struct entry *e;

	if (!r)
		return;
	for (unsigned i = 0; i < BUCKETS; i++) {
		while ((e = LIST_FIRST(&r->bucket[i]))) {
			while ((q = TAILQ_FIRST(&e->waiters)))
				resolver_cancel(q);
			entry_free(e);
		}
	}
	upstream_free(r->upstream);
	free(r);
}

bool resolver_cached(struct resolver *r, const struct name *name,
		     const struct resolved **ret)
{
	struct entry *e = entry_find(r, name);

	if (!e || e->asked || r->worker->now_ms >= e->expires_ms)
		return false;
	if (e->in_lru)
		lru_put(e);
	*ret = &e->res;
	return true;
}

/* Returns true if @e has no valid answer and is not being asked. */
static bool entry_is_old(const struct resolver *r, const struct entry *e)
{
	return !e->asked && !e->in_ready && r->worker->now_ms >= e->expires_ms;
}

int resolver_ask(struct resolver *r, struct agent *agent,
		 const struct name *name, resolve_fn fn, void *arg,
		 struct resolve_query **ret)
{
	struct entry *e = entry_find(r, name);
	bool must_ask = !e || entry_is_old(r, e);
	struct upstream_share *share = NULL;
	struct resolve_query *q;
	int err;

	/* Names are counted, not queries: otherwise one sandbox, all of whose
	 * connections wait for a dead server, would leave none for the
	 * others. */
	if (((!e || TAILQ_EMPTY(&e->waiters)) &&
	     r->n_waited >= RESOLVE_PENDING_MAX) ||
	    (!e && r->n_entries >= RESOLVE_CACHE_MAX && TAILQ_EMPTY(&r->lru)))
		return -ENOSPC;
	if (must_ask && agent) {
		err = share_take(agent, &share);
		if (err < 0)
			return err;
	}
	q = malloc(sizeof(*q));
	if (!q || (!e && !(e = entry_new(r, name)))) {
		free(q);
		upstream_share_drop(share);
		return -ENOMEM;
	}
	*q = (struct resolve_query){ .entry = e, .fn = fn, .arg = arg };
	r->n_waited += TAILQ_EMPTY(&e->waiters);
	TAILQ_INSERT_TAIL(&e->waiters, q, link);
	*ret = q;
	if (must_ask)
		entry_ask(e, share);
	else if (!e->asked) /* otherwise the pending question will answer it */
		entry_ready(e);
	return 0;
}

void resolver_cancel(struct resolve_query *q)
{
	if (!q)
		return;
	TAILQ_REMOVE(&q->entry->waiters, q, link);
	q->entry->resolver->n_waited -= TAILQ_EMPTY(&q->entry->waiters);
	free(q);
}
