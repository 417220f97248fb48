/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - sandboxes kept ready for the blueprints that ask for it
 *
 * A member is a sandbox that was started ahead: it has an address, limits and
 * image of its blueprint, an empty workspace and an empty home. It has no
 * policy, so it reaches nothing, and it was told no more than which CA to
 * trust: init-guard has made itself harmless and waits for its ASSIGN, and
 * nobody's code has run there. Whoever claims it gets all of it. What does not
 * fit is a miss, which is counted and never an error.
 */
#ifndef CONTROL_ACD_INSTANCE_POOL_H
#define CONTROL_ACD_INSTANCE_POOL_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "control/acd/blueprint/build.h"
#include "control/acd/instance/instance.h"
#include "control/acd/storage/store.h"
#include "control/runtime.h"

/* In the place of an instance's name, for directories, mounts and the
 * runtime. No instance can be called so. */
#define POOL_NAME_PREFIX "_pool-"
#define POOL_NAME_LEN 24u /* with the NUL */

struct pool;

struct pool_spec {
	struct loop *loop;
	struct store *store;
	struct runtime *runtime;
	struct builds *builds;
	const char *dir; /* AC_STATE_INSTANCES; borrowed */
	uid_t uid; /* owner of the directories */
	gid_t gid;
	/* May a sandbox of this isolation be started ahead now? */
	bool (*may_start)(void *arg, const char *isolation);
	void *arg;
};

/* What an earlier life kept is removed. Nothing is started before
 * pool_open(). */
struct pool *pool_new(const struct pool_spec *spec, struct err *err);
/* After the runtime: no callback of it may come any more. NULL is fine. */
void pool_free(struct pool *p);
void pool_open(struct pool *p);
/* Removes all members, and starts none until it is opened again; @fn, from
 * the loop, when they have gone or cannot be removed. One drain at a time:
 * -EBUSY. */
int pool_drain(struct pool *p, void (*fn)(void *arg), void *arg);

/* Why a run did not get a member. */
enum pool_miss {
	POOL_MISS_EMPTY, /* none is ready */
	POOL_MISS_FILES, /* the instance has files of its own */
	POOL_MISS_WORKSPACE, /* or a directory of the user's */
	POOL_MISS_OWNER, /* files of another user */
	POOL_MISS_LIMITS,
	POOL_MISS_ISOLATION,
	POOL_MISS_RUNTIME,
	POOL_MISS_GPUS,
	POOL_MISS_DISK,
	POOL_MISS_STALE, /* of an older image, blueprint or CA */
	POOL_MISS_LOST, /* it did not answer when it was claimed */
};

/* For instances_set_pool(), with the pool as its argument. */
extern const struct instance_pool_ops pool_instance_ops;

/* [{"blueprint", "size", "ready", "starting", "hits", "misses": {reason: n},
 * "started", "lost", "last_error"}]; a new reference, NULL without memory. */
json_t *pool_json(const struct pool *p);

#endif
