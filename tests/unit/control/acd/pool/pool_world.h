/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_world.h - a pool with the fake runtime
 *
 * That has one guest at a time, so a pool has one member here, and starts no
 * other while one is claimed (pooled.shut).
 */
#ifndef TESTS_UNIT_CONTROL_ACD_POOL_POOL_WORLD_H
#define TESTS_UNIT_CONTROL_ACD_POOL_POOL_WORLD_H

#include <sys/wait.h>

#include "control/acd/pool/pool.h"
#include "control/acd/pool/pool_impl.h"
#include "tests/unit/control/acd/instance/instance_world.h"

struct pooled {
	struct world w;
	struct pool *pool;
	bool shut; /* nothing may be started ahead */
	unsigned drained;
};

static inline bool may_start(void *arg, const char *isolation)
{
	const struct pooled *p = arg;

	return !p->shut && strcmp(isolation, "runsc") == 0;
}

static inline void on_drained(void *arg)
{
	struct pooled *p = arg;

	p->drained++;
}

static inline void pooled_attach(struct pooled *p)
{
	const struct pool_spec spec = {
		.loop = p->w.loop,
		.store = p->w.store,
		.runtime = &p->w.rt->rt,
		.dir = p->w.dir,
		.uid = getuid(),
		.gid = getgid(),
		.may_start = may_start,
		.arg = p,
	};
	struct err err = { 0 };

	p->pool = pool_new(&spec, &err);
	if (!p->pool)
		printf("# %s\n", err.msg);
	instances_set_pool(p->w.is, &pool_instance_ops, p->pool);
}

static inline void pooled_init(struct pooled *p)
{
	*p = (struct pooled){ .drained = 0 };
	world_init(&p->w);
	fake.pool = 1;
	pooled_attach(p);
}

static inline bool has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static inline void pooled_done(struct pooled *p)
{
	/* Trees are removed by children that nobody waits for; the loop reads
	 * what one wrote after it has gone, and may then start another. */
	STEP_UNTIL(p->w.loop,
		   !has_children() && (step(p->w.loop), !has_children()));
	pool_free(p->pool);
	p->pool = NULL;
	world_done(&p->w);
}

static inline int number(const struct pooled *p, const char *key)
{
	json_t *all = pool_json(p->pool);
	int n = (int)json_integer_value(
		json_object_get(json_array_get(all, 0), key));

	json_decref(all);
	return n;
}

static inline int missed(const struct pooled *p, const char *reason)
{
	json_t *all = pool_json(p->pool);
	int n = (int)json_integer_value(json_object_get(
		json_object_get(json_array_get(all, 0), "misses"), reason));

	json_decref(all);
	return n;
}

/* With one member that waits, and no other to come. */
static inline void pooled_ready(struct pooled *p)
{
	pooled_init(p);
	pool_open(p->pool);
	STEP_UNTIL(p->w.loop, number(p, "ready") == 1);
	p->shut = true;
}

static inline struct instance_record fitting(char *name)
{
	static char base[] = "base", runsc[] = "runsc";

	return (struct instance_record){
		.name = name,
		.blueprint = base,
		.isolation = runsc,
		.cpu_milli = 250,
		.host_uid = (uint32_t)getuid(),
		.host_gid = (uint32_t)getgid(),
	};
}

static inline struct instance *create(struct pooled *p, const char *name)
{
	char copy[64];
	struct instance_record r = fitting(copy);
	struct instance *in = NULL;
	struct err err = { 0 };

	snprintf(copy, sizeof(copy), "%s", name);
	if (instance_create(p->w.is, &r, &in, &err) < 0)
		printf("# %s\n", err.msg);
	return in;
}

#endif
