/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim.c - a member becomes the sandbox of an instance
 *
 * Compared here is what a running sandbox cannot change any more: what it was
 * made of, and who owns its files. A run's other options come with ASSIGN and
 * EXEC, or stay with acd.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/acd/storage/mounts.h"
#include "control/acd/pool/pool_impl.h"
#include "lib/str.h"

static bool is_text(const char *text, const char *what)
{
	return text && strcmp(text, what) == 0;
}

/* Returns why no member of @k fits @r, or a negative number if one may. */
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
	/* A member has "runsc" where that is available. */
	if (is_text(r->runtime, "docker"))
		return POOL_MISS_RUNTIME;
	if (r->gpus)
		return POOL_MISS_GPUS;
	if (r->disk)
		return POOL_MISS_DISK;
	if (r->volumes_json)
		return POOL_MISS_VOLUMES; /* mounts for it alone */
	return -1;
}

/* Removes the directory; succeeds if there is none. Fails if it is not
 * empty. */
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

/* When it wakes from hibernation, the runtime has to find its directories. */
static int move_tell(const struct member *m, const char *place,
		     const char *name)
{
	struct runtime *rt = m->pool->spec.runtime;
	char from[PATH_MAX], to[PATH_MAX];

	if (!rt->ops->moved)
		return 0;
	mounts_place(place, from);
	mounts_place(name, to);
	return rt->ops->moved(rt, m->id, from, to);
}

/* The mounts follow their directories. Their own place is renamed as well, so
 * that the end of the run finds it by the instance's name. */
static int files_move(const struct member *m, const char *dir, const char *name)
{
	SCOPED_STR place = str_printf(POOL_DIR "/%s", m->name);
	int rc = place ? 0 : -ENOMEM;

	if (rc == 0)
		rc = dir_move(m, "workspace", dir);
	if (rc == 0)
		rc = dir_move(m, "home", dir);
	if (rc == 0)
		rc = mounts_rename(place, name);
	if (rc == 0)
		rc = move_tell(m, place, name);
	if (rc == 0)
		pool_place_left(m->pool, m);
	return rc;
}

static int gift_take(struct pool *p, struct member *m, const char *dir,
		     const char *name, struct instance_gift *ret)
{
	struct err err = { 0 };
	int rc = place_clear(dir, "workspace");

	if (rc == 0)
		rc = place_clear(dir, "home");
	if (rc < 0)
		return POOL_MISS_FILES;
	*ret = (struct instance_gift){ .id = strdup(m->id) };
	rc = ret->id ? files_move(m, dir, name) : -ENOMEM;
	if (rc < 0) {
		free(ptr_take(&ret->id));
		err_set(&err, rc, "it cannot be given away: %s", err_text(rc));
		member_discard(m, &err);
		return POOL_MISS_LOST;
	}
	ret->address = ptr_take(&m->address);
	ret->session = ptr_take(&m->session);
	member_free(m);
	pool_wake(p);
	return -1;
}

/* Returns NULL if there is none, and *ret_miss says why. */
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
		/* The blueprint has asked for a pool since the last reading. */
		p->look_at_ms = 0;
		pool_wake(p);
	}
	/* It may have got what needs mounts since the last reading. */
	if (!k || k->off || (!kind_is_wanted(bp) && !r->volumes_json))
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

/* The hit that was counted becomes a miss. */
static void pool_lost(void *arg, const struct instance_record *r)
{
	struct kind *k = kind_find(arg, r->blueprint);

	if (!k)
		return;
	if (k->hits > 0)
		k->hits--; /* 0: the kind was made again since */
	k->misses[POOL_MISS_LOST]++;
	k->lost++;
}

/* Also for members whose removal has failed. */
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
