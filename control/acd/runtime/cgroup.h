/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - the control group of a sandbox, v1 and v2
 *
 * A sandbox's group is "ac/<id>" below ac-host's own, in each hierarchy that is
 * needed. @id is [a-z0-9-]+, at most CGROUP_ID_MAX bytes, else -EINVAL. Calls
 * return 0 or a negative errno, with @err if they have one. All are short: none
 * waits for a process.
 */
#ifndef CONTROL_ACD_RUNTIME_CGROUP_H
#define CONTROL_ACD_RUNTIME_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "control/runtime.h"
#include "lib/err.h"
#include "lib/str.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_ID_MAX 96u
#define CGROUP_WRITERS 8u

struct cgroup_writers {
	struct cgroup_writer {
		uint64_t pid, bytes;
	} of[CGROUP_WRITERS];
	size_t n;
};

struct cgroup_limits { /* 0: no limit */
	uint64_t cpu_milli; /* thousandths of a CPU */
	uint64_t memory; /* bytes; no swap besides */
	uint64_t pids; /* host tasks, threads of gVisor included */
};

/*
 * Finds the hierarchies mounted at @root (CGROUP_ROOT) and makes a folder "ac"
 * in each. To be called once, after host_prepare() and before the others, which
 * return -ENODEV until then.
 */
int cgroup_init(const char *root, struct err *err);
/* Makes the group with limits. Fails with -EEXIST if there is a group with that
 * id, with -ENOTSUP if the machine lacks the controller of a limit. A failure
 * leaves nothing behind. */
int cgroup_create(const char *id, const struct cgroup_limits *l,
		  struct err *err);
/* Changes limits. Fails with -EBUSY if more memory is in use. */
int cgroup_set(const char *id, const struct cgroup_limits *l, struct err *err);
/* Moves the calling process into the group. For a child between fork and exec:
 * allocates nothing and takes no lock of the C library. */
int cgroup_enter(const char *id);
/* Appends the files to which another program's process writes "0" to enter the
 * group. */
int cgroup_files(const char *id, struct strv *ret);
/* Asks the kernel to freeze or thaw the group. cgroup_is_frozen() returns 1 if
 * it is frozen now, 0 if not. */
int cgroup_freeze(const char *id, bool frozen, struct err *err);
int cgroup_is_frozen(const char *id);
/* Sets cpu_ns, memory, memory_limit (0: none) and pids, and no other member. */
int cgroup_stats(const char *id, struct runtime_stats *ret, struct err *err);
/* Returns how many processes of the group the kernel has killed for lack of
 * memory. */
uint64_t cgroup_oom_kills(const char *id);
/* Returns how often the kernel refused the group a task for its limit. */
uint64_t cgroup_tasks_refused(const char *id);
/* Puts into @ret processes of the group, each with the bytes that it has
 * written to files in its life: only @writer if the group has it, else the
 * CGROUP_WRITERS lowest pids. The latter is a guess: pids begin again at 300,
 * so an agent's may be lower than that of gVisor's kernel, which writes for
 * all. @ret is empty if the processes are unknown. */
void cgroup_written(const char *id, pid_t writer, struct cgroup_writers *ret);
/* Sends SIGKILL to all processes of the group, also frozen ones. When they have
 * ended, cgroup_remove() succeeds. */
int cgroup_kill(const char *id);
/* Removes the group; it may be gone already. Fails with -EBUSY while it has a
 * process. */
int cgroup_remove(const char *id);
/* Kills and removes the groups that an earlier acd left. */
void cgroup_sweep(void);

#endif
