/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_claim.c - a member becomes the sandbox of an instance
 *
 * What is compared here is all that a sandbox cannot change any more once it
 * runs: what it was made of, and who owns its files. The rest of a run's
 * wishes come with ASSIGN and EXEC, or stay with acd.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/acd/storage/mounts.h"
#include "control/acd/instance/pool_impl.h"
#include "lib/str.h"

static bool is_text(const char *text, const char *what)
{
	return text && strcmp(text, what) == 0;
}

/* Negative: nothing speaks against a member of @k for @r. */
static int why_not(const struct pool *p, const struct kind *k,
		   const struct instance_record *r)
{
	const struct blueprint *bp = &k->bp;

	if (r->workspace)
		return POOL_MISS_WORKSPACE;
	if (r->host_uid != p->spec.uid || r->host_gid != p->spec.gid)
		return POOL_MISS_OWNER;
	if (r->cpu_milli != bp->cpu_milli || r->memory != bp->memory ||
	    r->pids != bp->pids)
		return POOL_MISS_LIMITS;
	if (!is_text(r->isolation, bp->isolation))
		return POOL_MISS_ISOLATION;
	/* "runsc" is what a member has where it can be had. */
	if (is_text(r->runtime, "docker"))
		return POOL_MISS_RUNTIME;
	if (r->gpus)
		return POOL_MISS_GPUS;
	if (r->disk)
		return POOL_MISS_DISK;
	return -1;
}

/* An empty one, or none, is as good. */
static int place_clear(const char *dir, const char *leaf)
{
	SCOPED_STR path = str_printf("%s/%s", dir, leaf);

	if (!path)
		return -ENOMEM;
	return rmdir(path) < 0 && errno != ENOENT ? -errno : 0;
}

static int dir_move(const struct member *m, const char *leaf, const char *dir)
{
	SCOPED_STR from = str_printf("%s/" POOL_DIR "/%s/%s", m->pool->spec.dir,
				     m->name, leaf);
	SCOPED_STR to = str_printf("%s/%s", dir, leaf);

	if (!from || !to)
		return -ENOMEM;
	return rename(from, to) < 0 ? -errno : 0;
}

/* The mounts follow their directories; their own place is renamed as well,
 * so that the end of the run finds it by the instance's name. */
static int files_move(const struct member *m, const char *dir, const char *name)
{
	SCOPED_STR place = str_printf(POOL_DIR "/%s", m->name);
	int r = place ? 0 : -ENOMEM;

	if (r == 0)
		r = dir_move(m, "workspace", dir);
	if (r == 0)
		r = dir_move(m, "home", dir);
	if (r == 0)
		r = mounts_rename(place, name);
	if (r == 0)
		pool_place_left(m->pool, m);
	return r;
}

static int gift_take(struct pool *p, struct member *m, const char *dir,
		     const char *name, struct instance_gift *ret)
{
	struct err err = { 0 };
	int r = place_clear(dir, "workspace");

	if (r == 0)
		r = place_clear(dir, "home");
	if (r < 0)
		return POOL_MISS_FILES;
	*ret = (struct instance_gift){ .id = strdup(m->id) };
	r = ret->id ? files_move(m, dir, name) : -ENOMEM;
	if (r < 0) {
		free(ptr_take(&ret->id));
		err_set(&err, r, "it cannot be given away: %s", err_text(r));
		member_discard(m, &err);
		return POOL_MISS_LOST;
	}
	ret->address = ptr_take(&m->address);
	ret->session = ptr_take(&m->session);
	member_free(m);
	pool_wake(p);
	return -1;
}

/* NULL: none, and *ret_miss says why. */
static struct member *member_choose(struct pool *p, const struct kind *k,
				    int *ret_miss)
{
	bool stale = members_check_ca(p);
	struct member *m = kind_oldest(p, k);

	if (!m)
		*ret_miss = stale ? POOL_MISS_STALE : POOL_MISS_EMPTY;
	return m;
}

static bool pool_claim(void *arg, const struct instance_record *r,
		       const struct blueprint *bp, const char *dir,
		       struct instance_gift *ret)
{
	struct pool *p = arg;
	struct kind *k = kind_find(p, r->blueprint);
	struct member *m;
	int miss;

	if ((!k || k->off) && kind_is_wanted(bp)) {
		/* New since the last look. */
		p->look_at_ms = 0;
		pool_wake(p);
	}
	if (!k || k->off || bp->pool == 0)
		return false;
	miss = why_not(p, k, r);
	if (miss < 0 &&
	    !kind_matches(k, bp, build_count(p->spec.builds, bp->image))) {
		miss = POOL_MISS_STALE;
		p->look_at_ms = 0;
		pool_wake(p);
	}
	m = miss < 0 ? member_choose(p, k, &miss) : NULL;
	if (m)
		miss = gift_take(p, m, dir, r->name, ret);
	if (miss < 0) {
		k->hits++;
		return true;
	}
	k->misses[miss]++;
	return false;
}

/* What was a hit is a miss. */
static void pool_lost(void *arg, const struct instance_record *r)
{
	struct kind *k = kind_find(arg, r->blueprint);

	if (!k)
		return;
	if (k->hits > 0)
		k->hits--; /* else the kind was made anew since */
	k->misses[POOL_MISS_LOST]++;
	k->lost++;
}

/* A member's, or what is left of one. */
static bool pool_has(void *arg, const char *id)
{
	const struct pool *p = arg;
	const struct member *m;

	LIST_FOREACH (m, &p->members, link) {
		if (strcmp(m->id, id) == 0)
			return true;
	}
	return false;
}

const struct instance_pool_ops pool_instance_ops = {
	.claim = pool_claim,
	.lost = pool_lost,
	.has = pool_has,
};
