/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_job.h - children of acd that make and take away what a sandbox needs
 *
 * Namespaces, cgroups and mounts make a caller wait for the kernel, which the
 * loop must not: a child does it, and tells by a pipe how it went.
 */
#ifndef CONTROL_ACD_RUNTIME_RUNSC_JOB_H
#define CONTROL_ACD_RUNTIME_RUNSC_JOB_H

#include "control/acd/runtime/cgroup.h"
#include "control/acd/net/netns.h"
#include "control/acd/runtime/runsc_layers.h"
#include "lib/err.h"
#include "lib/loop.h"

/* Where everything of one sandbox is. */
struct runsc_paths {
	char netns[64];
	char bundle[64]; /* with config.json, pid, and a mount "root" if it
			  * has a root of its own */
	char upper[96]; /* what it writes to that root */
};

struct runsc_make {
	const char *id, *name;
	const struct runsc_paths *paths;
	const struct layers_image *image; /* NULL: the root is not its own */
	const struct veth *veth; /* of netns_veth(), its address included */
	const char *config; /* the text of config.json */
	struct cgroup_limits limits;
	const char *const *argv; /* of runsc */
	int link, words; /* become its stdin and stderr */
};

/* What a child said: @err NULL for success. */
typedef void (*runsc_job_fn)(void *arg, const struct err *err);
struct runsc_job;

/*
 * Makes all of it, says so, and becomes runsc. @fn hears of the making alone;
 * *ret_pid is a child of the caller, who watches it for the end of runsc.
 * After a failure runsc_job_undo() takes away what is there.
 */
int runsc_job_make(struct loop *loop, const struct runsc_make *m,
		   runsc_job_fn fn, void *arg, struct runsc_job **ret,
		   pid_t *ret_pid, struct err *err);

/* Kills what still runs, waits for its end, removes all. What is not there is
 * fine. @veth: as for the making, or empty. */
int runsc_job_undo(struct loop *loop, const char *id,
		   const struct runsc_paths *paths, const struct veth *veth,
		   const char *state_dir, runsc_job_fn fn, void *arg,
		   struct runsc_job **ret, struct err *err);

/* The child goes on, but nobody is told. NULL is fine. */
void runsc_job_forget(struct runsc_job *j);

#endif
