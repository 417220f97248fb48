/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - sandboxes kept ready: how many, of what, and when
 *
 * Theory of operation: one timer does all in steps. A step reads the blueprints
 * now and then, discards members that are too old or have an older blueprint or
 * image, and starts at most one member. It starts one only while no run is
 * starting, and then rests as long as the start took. So starts use at most
 * half of one CPU, less on a busy machine. After a failure the rest grows.
 *
 *	STARTING → GREETING → READY ─claimed→ (an instance's)
 *	    └─────────┴─────────┴─────→ REMOVING → gone
 *
 * A claim compares the member again with the blueprint of that moment; the
 * steps only make it likely that one fits. runsc, init-guard's protocol and the
 * packet filter are those of this acd, and a new acd starts without members.
 * The machine's CA comes with PREPARE; a member with another CA than the
 * machine has now cannot be used.
 */
#include "control/acd/pool/pool.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/acd/pool/pool_impl.h"
#include "control/acd/storage/treejob.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

#define LOOK_MS 30000u /* between two readings of the blueprints */
#define BUSY_MS 200u /* until a refused start is tried again */
#define LEFT_MS 5000u /* between two tries of failed removals */
#define AGE_MAX_MS (6u * 3600 * 1000) /* init-guard waits for a day */

/* ---- kinds ---- */

struct kind *kind_find(const struct pool *p, const char *blueprint)
{
	struct kind *k;

	LIST_FOREACH (k, &p->kinds, link) {
		if (strcmp(k->blueprint, blueprint) == 0)
			return k;
	}
	return NULL;
}

/* Compares what a sandbox is made of; the rest of a blueprint comes with the
 * run. */
bool kind_matches(const struct kind *k, const struct blueprint *bp,
		  unsigned built)
{
	const struct blueprint *a = &k->bp;

	return strcmp(a->image, bp->image) == 0 &&
	       strcmp(a->isolation, bp->isolation) == 0 &&
	       a->cpu_milli == bp->cpu_milli && a->memory == bp->memory &&
	       a->pids == bp->pids && a->root_rw == bp->root_rw &&
	       a->tmp_noexec == bp->tmp_noexec && k->built == built;
}

/* These need mounts that are made for the instance. */
static const char *kind_off(const struct blueprint *bp)
{
	return bp->disk > 0            ? "its blueprint has a disk limit" :
	       bp->blocked_paths.n > 0 ? "its blueprint has blocked_paths" :
	       bp->n_skills > 0        ? "its blueprint has skills" :
	       bp->n_mounts > 0        ? "its blueprint has mounts" :
					 NULL;
}

bool kind_is_wanted(const struct blueprint *bp)
{
	return bp->pool > 0 && !kind_off(bp);
}

static void kind_free(struct kind *k)
{
	LIST_REMOVE(k, link);
	blueprint_done(&k->bp);
	free(k->blueprint);
	free(k);
}

static struct kind *kind_new(struct pool *p, const char *blueprint)
{
	struct kind *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->blueprint = strdup(blueprint);
	if (!k->blueprint) {
		free(k);
		return NULL;
	}
	LIST_INSERT_HEAD(&p->kinds, k, link);
	return k;
}

static void members_discard(struct pool *p, const struct kind *k)
{
	struct member *m, *next;

	for (m = LIST_FIRST(&p->members); m; m = next) {
		next = LIST_NEXT(m, link);
		if (m->kind == k)
			member_discard(m, NULL);
	}
}

bool members_check_ca(struct pool *p)
{
	struct prepare_ca now = prepare_ca_now();
	struct member *m, *next;
	bool found = false;

	for (m = LIST_FIRST(&p->members); m; m = next) {
		next = LIST_NEXT(m, link);
		if (m->state != MEMBER_READY || prepare_ca_same(&m->ca, &now))
			continue;
		found = true;
		member_discard(m, NULL);
	}
	return found;
}

/* Takes ownership of what @bp has. */
static void kind_update(struct pool *p, struct blueprint *bp)
{
	unsigned built = build_count(p->spec.builds, bp->image);
	struct kind *k = kind_find(p, bp->name);
	const char *off = kind_off(bp);

	if (!k && bp->pool > 0)
		k = kind_new(p, bp->name);
	if (!k || bp->pool == 0) {
		blueprint_done(bp);
		return;
	}
	if (off && !k->off)
		log_warn("pool of %s: no sandboxes are kept ready: %s",
			 bp->name, off);
	if (k->bp.image && (off || !kind_matches(k, bp, built)))
		members_discard(p, k);
	k->off = off;
	blueprint_done(&k->bp);
	k->bp = *bp;
	k->built = built;
	k->seen = true;
}

static void look(struct pool *p)
{
	struct strv names = { 0 };
	struct err ignored = { 0 };
	struct kind *k, *next;

	p->look_at_ms = clock_ms() + LOOK_MS;
	members_check_ca(p);
	LIST_FOREACH (k, &p->kinds, link) {
		k->seen = false;
	}
	/* A blueprint that cannot be read has no members: no run of it could
	 * claim one. */
	if (blueprint_names(&names, &ignored) < 0)
		log_debug("pool: %s", ignored.msg);
	for (size_t i = 0; i < names.n; i++) {
		struct blueprint bp = { 0 };

		if (blueprint_load(names.v[i], &bp, &ignored) == 0)
			kind_update(p, &bp);
	}
	strv_done(&names);
	for (k = LIST_FIRST(&p->kinds); k; k = next) {
		next = LIST_NEXT(k, link);
		if (k->seen)
			continue;
		members_discard(p, k);
		kind_free(k);
	}
}

/* ---- places without a member ---- */

/* A removal may wait for the disk, so it is not done in the middle of a
 * claim. */
void pool_place_left(struct pool *p, const struct member *m)
{
	/* Without memory the next acd removes it. */
	if (strv_push(&p->empties, m->name) < 0)
		log_debug("pool: %s stays: no memory", m->name);
}

static void empties_remove(struct pool *p)
{
	for (size_t i = 0; i < p->empties.n; i++) {
		SCOPED_STR path = str_printf("%s/" POOL_DIR "/%s", p->spec.dir,
					     p->empties.v[i]);

		if (path && rmdir(path) < 0)
			log_debug("pool: %s: %s", path, strerror(errno));
	}
	strv_done(&p->empties);
}

/* ---- steps ---- */

static unsigned count(const struct pool *p, const struct kind *k, bool ready)
{
	const struct member *m;
	unsigned n = 0;

	LIST_FOREACH (m, &p->members, link)
		n += m->kind == k && (ready ? m->state == MEMBER_READY :
					      m->state <= MEMBER_READY);
	return n;
}

static bool one_starts(const struct pool *p)
{
	const struct member *m;

	LIST_FOREACH (m, &p->members, link) {
		if (m->state < MEMBER_READY)
			return true;
	}
	return false;
}

struct member *kind_oldest(const struct pool *p, const struct kind *k)
{
	struct member *m, *oldest = NULL;

	LIST_FOREACH (m, &p->members, link) {
		if (m->kind == k && m->state == MEMBER_READY)
			oldest = m; /* new ones are inserted at the head */
	}
	return oldest;
}

/* Discards the oldest of each kind if it is too old or one too many. */
static void trim(struct pool *p)
{
	uint64_t now = clock_ms();
	struct member *m;
	struct kind *k;

	LIST_FOREACH (k, &p->kinds, link) {
		while (count(p, k, false) > k->bp.pool &&
		       (m = kind_oldest(p, k)))
			member_discard(m, NULL);
		m = kind_oldest(p, k);
		if (m && now - m->born_ms > AGE_MAX_MS) {
			member_discard(m, NULL);
			return; /* one by one */
		}
	}
}

static bool has_left(const struct pool *p)
{
	const struct member *m;

	LIST_FOREACH (m, &p->members, link) {
		if (m->state == MEMBER_LEFT)
			return true;
	}
	return false;
}

/* Tries failed removals again. Not at each step: every answer wakes the pool,
 * and may fail again at once. */
static void left_again(struct pool *p)
{
	uint64_t now = clock_ms();
	struct member *m, *next;

	if (now < p->left_at_ms || !has_left(p))
		return;
	p->left_at_ms = now + LEFT_MS;
	for (m = LIST_FIRST(&p->members); m; m = next) {
		next = LIST_NEXT(m, link);
		if (m->state == MEMBER_LEFT)
			member_discard(m, NULL);
	}
}

/* Returns the kind that lacks most, or NULL: none, or none may start now.
 * *ret_wait (ms): until then. */
static struct kind *kind_next(struct pool *p, uint64_t *ret_wait)
{
	struct kind *k, *best = NULL;
	unsigned lacks, most = 0;
	uint64_t now = clock_ms();

	LIST_FOREACH (k, &p->kinds, link) {
		unsigned have = count(p, k, false);

		lacks = !k->off && k->bp.pool > have ? k->bp.pool - have : 0;
		if (lacks > most &&
		    build_is_ready(p->spec.builds, k->bp.image)) {
			most = lacks;
			best = k;
		}
	}
	if (!best || one_starts(p))
		return NULL; /* its end wakes the pool */
	if (now < p->rest_until_ms) {
		*ret_wait = p->rest_until_ms - now;
		return NULL;
	}
	if (!p->spec.may_start(p->spec.arg, best->bp.isolation)) {
		*ret_wait = BUSY_MS;
		return NULL;
	}
	return best;
}

static void step(void *arg)
{
	struct pool *p = arg;
	uint64_t wait = LOOK_MS;
	struct kind *k;

	if (!p->open)
		return;
	if (clock_ms() >= p->look_at_ms)
		look(p);
	trim(p);
	left_again(p);
	k = kind_next(p, &wait);
	/* A start is allowed only if no run is starting: the time to remove
	 * directories. */
	if (k) {
		empties_remove(p);
		member_start(p, k);
	}
	if (has_left(p) && wait > LEFT_MS)
		wait = LEFT_MS;
	loop_timer_set(p->timer, wait);
}

/* ---- drain ---- */

/* The timer: a step, or the end of a drain that had nothing to remove. */
static void on_empty(void *arg)
{
	struct pool *p = arg;

	if (p->open)
		step(p);
	else if (p->drained)
		pool_member_gone(p);
}

int pool_drain(struct pool *p, void (*fn)(void *arg), void *arg)
{
	struct member *m, *next;

	if (p->drained)
		return -EBUSY;
	p->open = false;
	empties_remove(p);
	for (m = LIST_FIRST(&p->members); m; m = next) {
		next = LIST_NEXT(m, link);
		member_discard(m, NULL);
	}
	p->drained = fn;
	p->drained_arg = arg;
	/* @fn is never called from here. */
	loop_timer_set(p->timer, 0);
	return 0;
}

void pool_open(struct pool *p)
{
	p->open = true;
	p->look_at_ms = 0;
	pool_wake(p);
}

/* ---- the whole ---- */

static void on_swept(void *arg, const struct err *err)
{
	(void)arg;
	if (err)
		log_warn("pool: remove what an earlier life kept: %s",
			 err->msg);
}

/* Moves the old members' files away at once; a child removes them. */
static int sweep(struct pool *p, struct err *err)
{
	SCOPED_STR now = str_printf("%s/" POOL_DIR, p->spec.dir);
	SCOPED_STR old = str_printf("%s/" POOL_DIR ".old", p->spec.dir);
	SCOPED_STR aside = old ? str_printf("%s/%llu", old,
					    (unsigned long long)clock_ns()) :
				 NULL;
	const char *const paths[] = { old, NULL };
	struct treejob *job;
	int rc;

	if (!now || !aside)
		return err_nomem(err);
	if (access(now, F_OK) == 0) {
		rc = file_mkdir_p(old, 0700);
		if (rc == 0 && rename(now, aside) < 0)
			rc = -errno;
		if (rc < 0)
			return err_set(err, rc, "put %s aside: %s", now,
				       err_text(rc));
	}
	if (access(old, F_OK) == 0)
		return treejob_start(p->spec.loop, paths, on_swept, NULL, &job,
				     err);
	return 0;
}

struct pool *pool_new(const struct pool_spec *spec, struct err *err)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (!p) {
		err_nomem(err);
		return NULL;
	}
	p->spec = *spec;
	LIST_INIT(&p->kinds);
	LIST_INIT(&p->members);
	p->timer = loop_timer_new(spec->loop, on_empty, p);
	if (!p->timer)
		err_nomem(err);
	else if (sweep(p, err) == 0)
		return p;
	pool_free(p);
	return NULL;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	p->open = false;
	p->drained = NULL;
	empties_remove(p);
	while (!LIST_EMPTY(&p->members))
		member_free(LIST_FIRST(&p->members));
	while (!LIST_EMPTY(&p->kinds))
		kind_free(LIST_FIRST(&p->kinds));
	loop_timer_free(p->timer);
	free(p);
}

/* ---- for people ---- */

static json_t *misses_json(const struct kind *k)
{
	static const char *const words[] = {
		[POOL_MISS_EMPTY] = "empty",
		[POOL_MISS_FILES] = "files",
		[POOL_MISS_WORKSPACE] = "workspace",
		[POOL_MISS_OWNER] = "owner",
		[POOL_MISS_LIMITS] = "limits",
		[POOL_MISS_ISOLATION] = "isolation",
		[POOL_MISS_RUNTIME] = "runtime",
		[POOL_MISS_GPUS] = "gpus",
		[POOL_MISS_DISK] = "disk",
		[POOL_MISS_VOLUMES] = "volumes",
		[POOL_MISS_STALE] = "stale",
		[POOL_MISS_LOST] = "lost",
	};
	json_t *all = json_object();

	static_assert(ARRAY_SIZE(words) == POOL_MISSES, "a word each");
	for (size_t i = 0; all && i < ARRAY_SIZE(words); i++) {
		if (k->misses[i] > 0)
			json_object_set_new(all, words[i],
					    json_integer(k->misses[i]));
	}
	return all;
}

json_t *pool_json(const struct pool *p)
{
	json_t *all = json_array();
	const struct kind *k;

	LIST_FOREACH (k, &p->kinds, link) {
		unsigned ready = count(p, k, true);

		json_array_append_new(
			all,
			json_pack("{s:s, s:i, s:i, s:i, s:i, s:o, s:i, s:i, "
				  "s:s, s:s}",
				  "blueprint", k->blueprint, "size",
				  (int)k->bp.pool, "ready", (int)ready,
				  "starting", (int)(count(p, k, false) - ready),
				  "hits", (int)k->hits, "misses",
				  misses_json(k), "started", (int)k->started,
				  "lost", (int)k->lost, "last_error",
				  k->last_error, "off", k->off ? k->off : ""));
	}
	return all;
}
