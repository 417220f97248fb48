/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.c - makes the parts of the daemon, each with those that it needs
 */
#include "control/acd/parts.h"

#include <stdlib.h>
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/blueprint/build.h"
#include "control/acd/credential/logins.h"
#include "control/acd/credential/vault.h"
#include "control/acd/daemon/supervise.h"
#include "control/acd/egress/gate.h"
#include "control/acd/install/recipe.h"
#include "control/acd/install/steps.h"
#include "control/acd/instance/grant/grants.h"
#include "control/acd/instance/policy.h"
#include "control/acd/instance/limit/room.h"
#include "control/acd/instance/volume_use.h"
#include "control/acd/net/edge.h"
#include "control/acd/net/ports.h"
#include "control/acd/pool/pool.h"
#include "control/acd/runtime/cgroup.h"
#include "control/acd/runtime/dockerd.h"
#include "control/acd/runtime/engine.h"
#include "control/acd/runtime/selftest.h"
#include "control/acd/storage/mounts.h"
#include "control/acd/storage/volumes.h"
#include "control/shared/paths.h"
#include "lib/log.h"

#define SELFTEST_DIR AC_RUN "/selftest"
#define SELFTEST_CACHE AC_STATE "/runtime/selftest.json"

/* Sandboxes are acd's own to start, unless all are to be the engine's. */
static struct runtime *runtime_make(struct acd *acd, struct err *err)
{
	const char *asked = getenv("AC_RUNTIME");
	struct runtime *docker = runtime_docker_new(acd->loop, AC_ENGINE_SOCK,
						    AC_RUNTIME_SOCK, err);
	struct engine *engine;

	if (!docker)
		return NULL;
	if (asked && strcmp(asked, "docker") == 0) {
		struct err no_groups = { 0 };

		/* The steps of builds have groups of acd's all the same. */
		if (cgroup_init(CGROUP_ROOT, &no_groups) < 0)
			log_warn("no image can be built: %s", no_groups.msg);
		cgroup_sweep();
		return docker;
	}
	/* One of its own: it ends with the runtime that waits for it. */
	engine = engine_new(acd->loop, AC_ENGINE_SOCK, err);
	if (!engine) {
		docker->ops->free(docker);
		return NULL;
	}
	return runtime_runsc_new(acd->loop, acd->children, engine, docker, err);
}

static bool login_in_use(void *arg, const char *name)
{
	struct acd *acd = arg;

	return grants_use(policies_grants(acd->policies), name);
}

/* The gateway gets what is left, and who runs with it is told. */
static void on_login(void *arg, const char *name, const char *over)
{
	struct acd *acd = arg;

	policies_vault_changed(acd->policies, name);
	if (over)
		grants_over(policies_grants(acd->policies), name,
			    instances_revoked, acd->instances);
}

static int logins_make(struct acd *acd, struct err *err)
{
	static const struct logins_ops ops = { login_in_use, on_login };

	acd->logins =
		logins_new(acd->loop, acd->children, acd->vault, &ops, acd);
	if (!acd->logins)
		return err_nomem(err);
	grants_set_logins(policies_grants(acd->policies), acd->logins);
	return 0;
}

static bool may_start_ahead(void *arg, const char *isolation)
{
	const struct acd *acd = arg;
	struct err ignored = { 0 };
	const char *code;

	return acd_may_run(acd, isolation, &ignored, &code) == 0 &&
	       !instances_busy(acd->instances);
}

static int pool_make(struct acd *acd, struct err *err)
{
	const struct pool_spec spec = {
		.loop = acd->loop,
		.store = acd->store,
		.runtime = acd->runtime,
		.builds = acd->builds,
		.dir = AC_STATE_INSTANCES,
		.uid = acd->owner,
		.gid = acd->owner_group,
		.may_start = may_start_ahead,
		.arg = acd,
	};

	acd->pool = pool_new(&spec, err);
	if (!acd->pool)
		return err->code;
	instances_set_pool(acd->instances, &pool_instance_ops, acd->pool);
	return 0;
}

static int on_recipe(const char *image, struct err *err)
{
	return recipe_write(RECIPES, image, err);
}

static int group_create(const char *id, uint64_t memory, struct err *err)
{
	const struct cgroup_limits limits = { .memory = memory };

	return cgroup_create(id, &limits, err);
}

/* What runsc is started by for a step of a build; made once. */
static int steps_make(struct acd *acd, struct err *err)
{
	static struct strv runsc;
	const struct steps_spec spec = {
		.loop = acd->loop,
		.children = acd->children,
		.store = acd->store,
		.gate = gate_client(acd->gate),
		.sock = AC_STEP_SOCK,
		.gate_sock = AC_GATE_SOCK,
		.runsc = &runsc,
		.has_packages = gate_files_have_machine,
		.net_make = step_net_make,
		.net_remove = step_net_remove,
		.groups = { group_create, cgroup_files, cgroup_oom_kills,
			    cgroup_kill, cgroup_remove },
	};
	int rc = dockerd_step_runsc(&runsc);

	if (rc < 0)
		return err_nomem(err);
	builds_set_recipe(acd->builds, on_recipe);
	acd->steps = steps_new(&spec, err);
	return acd->steps ? 0 : err->code;
}

int acd_parts_make(struct acd *acd, struct err *err)
{
	static struct selftest_spec test = { .guard = INIT_GUARD,
					     .dir = SELFTEST_DIR,
					     .cache = SELFTEST_CACHE };
	struct supervise_spec engine;

	test.runsc = dockerd_runsc();
	acd->engine = engine_new(acd->loop, AC_ENGINE_SOCK, err);
	if (!acd->engine)
		return err->code;
	engine = dockerd_spec(acd->engine);
	acd->supervise = supervise_new(acd->loop, acd->children, &engine, err);
	if (acd->supervise)
		acd->gate = gate_new(acd->loop, acd->children, err);
	if (acd->gate)
		acd->policies = policies_new(gate_client(acd->gate),
					     GATE_AGENTS, AC_SHARE_KINDS,
					     acd->vault,
					     gate_files_have_machine, err);
	if (acd->policies && logins_make(acd, err) == 0)
		acd->selftest =
			selftest_new(acd->loop, acd->children, &test, err);
	if (acd->selftest)
		acd->runtime = runtime_make(acd, err);
	if (!acd->runtime)
		return err->code;
	acd->builds = builds_new(acd->loop, acd->children);
	if (!acd->builds)
		return err_nomem(err);
	if (steps_make(acd, err) < 0)
		return err->code;
	acd->instances = instances_new(acd->loop, acd->store, acd->runtime,
				       acd->builds, err);
	if (!acd->instances || instances_room_begin(acd->instances, err) < 0 ||
	    instances_set_egress(acd->instances, &policy_egress_ops,
				 acd->policies, err) < 0 ||
	    pool_make(acd, err) < 0)
		return err->code;
	acd->ports = ports_new(acd->loop, AC_STATE_EDGE, acd->owner,
			       acd->owner_group);
	if (!acd->ports)
		return err_nomem(err);
	instances_set_ports(acd->instances, acd->ports);
	acd->edge = edge_new(acd->loop, AC_STATE_EDGE "/" EDGE_SOCK_NAME,
			     acd->owner, acd->owner_group, acd->ports, err);
	if (!acd->edge)
		return err->code;
	if (volumes_open(AC_STATE_VOLUMES, acd->owner, acd->owner_group, err) <
	    0)
		return err->code;
	volume_use_recover(acd->instances);
	volumes_sweep(acd->loop);
	return mounts_init(acd->loop, AC_STATE_MOUNT_SOCK, acd->owner,
			   acd->owner_group, AC_STATE_INSTANCES, AC_MOUNTS,
			   err);
}
