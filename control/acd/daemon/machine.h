/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - wishes beyond what this machine has
 *
 * Host tasks: gVisor keeps a process of the host for each address space of a
 * sandbox, with one thread to serve it and one for each of the sandbox's tasks
 * that computes there, at most as many as there are CPUs; such threads stay
 * when the sandbox's have ended. So a process costs two host tasks, at worst
 * one and the number of CPUs. A sandbox whose host refuses one dies, without a
 * word to the program that asked. So the limit that the agent meets is the one
 * inside (RLIMIT_NPROC), and the cgroup's is above all that this may cost.
 */
#ifndef CONTROL_ACD_DAEMON_MACHINE_H
#define CONTROL_ACD_DAEMON_MACHINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* @milli: thousandths of a CPU. -EINVAL when there are fewer. */
int machine_check_cpus(uint64_t milli, struct err *err);

/* What a sandbox may have; 0: no limit. */
struct machine_tasks {
	uint64_t inside; /* processes and threads of the agent */
	uint64_t outside; /* tasks of the host, for pids.max */
};

/*
 * For an agent that may have @pids (0: as many as there is room for) on @cpus
 * CPUs, when a sandbox may have at most @most tasks of the host.
 */
struct machine_tasks machine_tasks_of(uint64_t pids, unsigned int cpus,
				      uint64_t most);
/*
 * The same on this machine, of whose tasks one sandbox gets at most half. With
 * @shared (crun) the sandbox's tasks are the host's own: the cgroup's limit is
 * what the agent meets, as EAGAIN, and nothing is set inside, where the kernel
 * would count all that has the agent's uid, outside of the sandbox too.
 */
struct machine_tasks machine_tasks(uint64_t pids, bool shared);

/*
 * A limit of more memory than there is is no less valid, but holds nothing; of
 * more processes than there is room for the agent gets as many as there is. A
 * list of texts for the user, which may be empty; 0: not asked for.
 */
json_t *machine_warnings(uint64_t memory, uint64_t pids);

#endif
