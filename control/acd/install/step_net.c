/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_net.c - makes and removes the network of an install sandbox, in a child
 *
 * The child is a fork of acd, since its mounts must be acd's: ac-step and runsc
 * open the namespace by its path.
 */
#include "control/acd/install/step_net.h"

#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "control/acd/net/netns.h"
#include "control/shared/paths.h"
#include "lib/log.h"
#include "lib/proc.h"

#define LIMIT_S 30u
#define PREFIX_LEN 16u /* of AC_SUBNET */

static int net_make(const char *path, const struct veth *v)
{
	const struct netns_spec spec = {
		.path = path,
		.bridge = AC_BRIDGE,
		.gateway = AC_GATEWAY,
		.prefix = PREFIX_LEN,
	};
	struct err err = { 0 };

	if (netns_create(&spec, v, &err) == 0)
		return 0;
	log_error("a step of a build: %s", err.msg);
	return 1;
}

static int worker_start(bool make, struct children *children, const char *path,
			const struct veth *v, child_fn fn, void *arg,
			struct err *err)
{
	pid_t pid = fork();
	int rc;

	if (pid < 0)
		return err_sys(err, "start a process for the network");
	if (pid == 0) {
		proc_worker_begin(LIMIT_S);
		close_range(3, ~0u, 0); /* acd's are not the child's */
		if (make)
			_exit(net_make(path, v));
		netns_destroy(path, AC_BRIDGE, v);
		_exit(0);
	}
	rc = children_watch(children, pid, fn, arg);
	if (rc < 0) {
		kill(pid, SIGKILL);
		return err_set(err, rc, "watch a process: %s", err_text(rc));
	}
	return 0;
}

int step_net_make(struct children *children, const char *path,
		  const struct veth *v, child_fn fn, void *arg, struct err *err)
{
	return worker_start(true, children, path, v, fn, arg, err);
}

int step_net_remove(struct children *children, const char *path,
		    const struct veth *v, child_fn fn, void *arg,
		    struct err *err)
{
	return worker_start(false, children, path, v, fn, arg, err);
}
