/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_job.h - children of acd that make and remove what a sandbox needs
 *
 * Work on namespaces, cgroups and mounts makes its caller wait for the kernel,
 * which would block the loop. So a child does it and reports through a pipe.
 */
#ifndef CONTROL_ACD_RUNTIME_RUNSC_JOB_H
#define CONTROL_ACD_RUNTIME_RUNSC_JOB_H

#include "control/acd/runtime/cgroup.h"
#include "control/acd/net/netns.h"
#include "control/acd/runtime/runsc_layers.h"
#include "lib/err.h"
#include "lib/loop.h"

/* Paths of one sandbox. */
struct runsc_paths {
	char netns[64];
	char bundle[64]; /* has config.json, pid, and a mount "root" if the
			  * sandbox has a root of its own */
	char upper[96]; /* what it writes to that root */
};

struct runsc_make {
	const char *id, *name;
	const struct runsc_paths *paths;
	const struct layers_image *image; /* NULL: uses the shared root */
	const struct veth *veth; /* from netns_veth() */
	const char *config; /* text of config.json; with @again also NULL: as
			     * it is */
	struct cgroup_limits limits;
	const char *const *argv; /* of runsc */
	/* Directory of runsc's own files, if bundle, root and cgroup are there
	 * from before, and only the network and these files are made again; NULL:
	 * all is made. */
	const char *again;
	const struct veth *before; /* with @again: the port that it had */
	int link, words; /* become its stdin and stderr; borrowed */
};

/* The child's report, once, from the loop. @err: NULL on success. The job is
 * freed then. */
typedef void (*runsc_job_fn)(void *arg, const struct err *err);
struct runsc_job;

/*
 * Forks a child that makes everything that @m (borrowed for the call) names,
 * reports on that to @fn, and becomes runsc; after a failed report it ends.
 * *ret_pid is this child of the caller, who watches it for the end of runsc.
 * *ret is for runsc_job_forget(). Whatever was made stays until
 * runsc_job_undo(). Returns 0, or a negative errno with @err, and there is no
 * child and no callback.
 */
int runsc_job_make(struct loop *loop, const struct runsc_make *m,
		   runsc_job_fn fn, void *arg, struct runsc_job **ret,
		   pid_t *ret_pid, struct err *err);

/* Forks a child that kills what runs, waits up to 10 s for its end, removes
 * everything, and reports to @fn. What is not there is fine. @veth: as for the
 * making, or empty. @state_dir: runsc's own files. Strings are borrowed for the
 * call. Returns like runsc_job_make(). */
int runsc_job_undo(struct loop *loop, const char *id,
		   const struct runsc_paths *paths, const struct veth *veth,
		   const char *state_dir, runsc_job_fn fn, void *arg,
		   struct runsc_job **ret, struct err *err);

/* Drops the callback and frees @j; the child goes on. NULL is fine. */
void runsc_job_forget(struct runsc_job *j);

#endif
