/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - sandboxes kept ready for the blueprints that ask for it
 *
 * A member is a sandbox that was started ahead: it has an address, the limits
 * and image of its blueprint, an empty workspace and an empty home. It has no
 * policy, so it reaches nothing. It was given no more than the CA to trust:
 * init-guard waits for its ASSIGN, and no code of a user has run. A run that
 * claims it owns all of it. If none fits, that is a miss: it is counted and is
 * no error.
 */
#ifndef CONTROL_ACD_POOL_POOL_H
#define CONTROL_ACD_POOL_POOL_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "control/acd/blueprint/build.h"
#include "control/acd/instance/instance.h"
#include "control/acd/storage/store.h"
#include "control/runtime.h"

/* Stands for an instance's name in directories, mounts and the runtime. No
 * instance can have such a name. */
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
	/* Returns true if a sandbox of this isolation may be started ahead
	 * now. */
	bool (*may_start)(void *arg, const char *isolation);
	void *arg;
};

/* Returns a pool, or NULL with @err. Removes the members' files that an earlier
 * acd left. Nothing is started before pool_open(). @spec is copied, the objects
 * it names are borrowed. */
struct pool *pool_new(const struct pool_spec *spec, struct err *err);
/* To be called after the runtime was freed, whose callbacks must not come any
 * more. NULL is fine. */
void pool_free(struct pool *p);
void pool_open(struct pool *p);
/* Removes all members and starts none until pool_open(). Calls @fn from the
 * loop when each is gone or its removal has failed. Returns 0, or -EBUSY if
 * another drain is under way. */
int pool_drain(struct pool *p, void (*fn)(void *arg), void *arg);

/* Why a run did not get a member. */
enum pool_miss {
	POOL_MISS_EMPTY, /* none is ready */
	POOL_MISS_FILES, /* its workspace or home is not empty */
	POOL_MISS_WORKSPACE, /* its workspace is a directory of the user's */
	POOL_MISS_OWNER, /* its files belong to another user */
	POOL_MISS_LIMITS,
	POOL_MISS_ISOLATION,
	POOL_MISS_RUNTIME,
	POOL_MISS_GPUS,
	POOL_MISS_DISK,
	POOL_MISS_VOLUMES,
	POOL_MISS_STALE, /* the members have an older image, blueprint or CA */
	POOL_MISS_LOST, /* the member did not answer when it was claimed */
};

/* For instances_set_pool(), with the pool as its argument. */
extern const struct instance_pool_ops pool_instance_ops;

/* Returns [{"blueprint", "size", "ready", "starting", "hits", "misses":
 * {reason: n}, "started", "lost", "last_error", "off"}] ("off": why none are
 * kept ready, or ""); a new reference, NULL without memory. */
json_t *pool_json(const struct pool *p);

#endif
