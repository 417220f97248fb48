/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - the control group of a sandbox, v1 and v2
 *
 * A sandbox's group is "ac/<id>" below ac-host's own, in each hierarchy that
 * matters. @id is [a-z0-9-]+, at most CGROUP_ID_MAX bytes; another one is
 * -EINVAL. All calls are short: none waits for a process to do anything.
 */
#ifndef CONTROL_ACD_RUNTIME_CGROUP_H
#define CONTROL_ACD_RUNTIME_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "control/runtime.h"
#include "lib/err.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_ID_MAX 96u
#define CGROUP_WRITERS 8u

struct cgroup_writers {
	struct cgroup_writer {
		uint64_t pid, bytes;
	} of[CGROUP_WRITERS];
	size_t n;
};

struct cgroup_limits { /* 0: none */
	uint64_t cpu_milli; /* thousandths of a CPU */
	uint64_t memory; /* bytes; swap is not given beside it */
	uint64_t pids; /* host tasks, threads of gVisor included */
};

/*
 * Once, after host_prepare() and before all others: which hierarchies are
 * mounted at @root (CGROUP_ROOT), and a folder "ac" in each. Until then the
 * others answer -ENODEV.
 */
int cgroup_init(const char *root, struct err *err);
/* Makes the group, with limits. Fails with -EEXIST if there is a group of that
 * id, with -ENOTSUP if the machine lacks the controller of a limit. A failure
 * leaves nothing behind. */
int cgroup_create(const char *id, const struct cgroup_limits *l,
		  struct err *err);
/* Other limits for one that runs. -EBUSY: more memory is in use than that. */
int cgroup_set(const char *id, const struct cgroup_limits *l, struct err *err);
/* Moves the calling process. For a child between fork and exec: it allocates
 * nothing and takes no lock of the C library. */
int cgroup_enter(const char *id);
/* Asks for it; cgroup_is_frozen() says when it is so (1), or not yet (0). */
int cgroup_freeze(const char *id, bool frozen, struct err *err);
int cgroup_is_frozen(const char *id);
/* cpu_ns, memory, memory_limit (0: none) and pids; the rest stays. */
int cgroup_stats(const char *id, struct runtime_stats *ret, struct err *err);
/* Processes in it that the kernel killed for want of memory. */
uint64_t cgroup_oom_kills(const char *id);
/* How often the kernel refused it a task for its limit of pids. */
uint64_t cgroup_tasks_refused(const char *id);
/* Puts into @ret processes of the group, each with the bytes that it has
 * written to files in its life: @writer alone if that is one of them, else those
 * with the lowest CGROUP_WRITERS pids, which is a guess: pids begin again at
 * 300, so those of an agent may be lower than that of gVisor's kernel, which
 * writes for all of them. @ret is empty if the processes are not known. */
void cgroup_written(const char *id, pid_t writer, struct cgroup_writers *ret);
/* SIGKILL to all in it, frozen ones too. They end on their own time: then
 * cgroup_remove() succeeds. */
int cgroup_kill(const char *id);
/* -EBUSY while a process is in it. Gone already is fine. */
int cgroup_remove(const char *id);
/* Those of an earlier life, killed and removed. */
void cgroup_sweep(void);

#endif
