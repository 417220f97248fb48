/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - compares limits that are asked for with what this machine has
 *
 * Host tasks: for each address space of a sandbox, gVisor has a process of the
 * host, with one thread to serve it and one for each task of the sandbox that
 * computes there, at most as many as there are CPUs. These threads stay when
 * the tasks have ended. So a process costs two host tasks, at worst one and the
 * number of CPUs. If the host refuses gVisor a task, the sandbox dies without a
 * message. So the agent's limit is one inside (RLIMIT_NPROC), and the cgroup's
 * limit is higher than all that this may cost.
 */
#ifndef CONTROL_ACD_DAEMON_MACHINE_H
#define CONTROL_ACD_DAEMON_MACHINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* Returns 0, or -EINVAL if this machine has fewer CPUs than @milli thousandths,
 * 0 of which is no limit. */
int machine_check_cpus(uint64_t milli, struct err *err);

/* What a sandbox may have; 0: no limit. */
struct machine_tasks {
	uint64_t inside; /* processes and threads of the agent */
	uint64_t outside; /* tasks of the host, for pids.max */
};

/*
 * Returns the limits for an agent with @pids processes (0: as many as there is
 * room for) on @cpus CPUs, if a sandbox may have at most @most tasks of the
 * host. There is always room for 16 processes.
 */
struct machine_tasks machine_tasks_of(uint64_t pids, unsigned int cpus,
				      uint64_t most);
/*
 * The same for this machine; one sandbox gets at most half of its tasks. With
 * @shared (crun) the sandbox's tasks are the host's own: the agent meets the
 * cgroup's limit as EAGAIN. No limit is set inside, where the kernel would
 * count all processes with the agent's uid, also those outside of the sandbox.
 */
struct machine_tasks machine_tasks(uint64_t pids, bool shared);

/*
 * Returns a new list of messages for the user, perhaps empty, about limits that
 * are valid but more than the machine has: more memory, which then limits
 * nothing; more processes, of which the agent gets as many as there is room
 * for. 0: no limit is asked for. Returns NULL without memory.
 */
json_t *machine_warnings(uint64_t memory, uint64_t pids);

#endif
