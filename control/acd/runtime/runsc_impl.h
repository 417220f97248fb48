/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_impl.h - shared by the files that make up the runsc runtime
 */
#ifndef CONTROL_ACD_RUNTIME_RUNSC_IMPL_H
#define CONTROL_ACD_RUNTIME_RUNSC_IMPL_H

#include <stdbool.h>
#include <sys/queue.h>

#include "control/acd/daemon/children.h"
#include "control/acd/guest/links.h"
#include "control/acd/runtime/runsc_job.h"
#include "control/acd/runtime/runsc_layers.h"
#include "control/runtime.h"
#include "control/shared/paths.h"

#define RUNSC_STATE AC_RUN "/runsc-state" /* runsc's own, --root */
#define RUNSC_BUNDLES AC_RUN "/bundles"
#define RUNSC_NETNS AC_RUN "/netns"
#define RUNSC_IMAGES AC_RUN "/images"
/* On the engine's volume: $AC_HOME may be on a file system that can carry no
 * overlay, and none of it is to be kept. */
#define RUNSC_UPPER "/var/lib/docker/ac-upper"
/* The engine's ids are hexadecimal: nobody else's begins so. */
#define RUNSC_ID_PREFIX "rs-"
#define RUNSC_ID_LEN (3u + 16u)

enum box_state {
	BOX_STARTING,
	BOX_RUNNING,
	BOX_ENDED,
	BOX_REMOVING,
	BOX_LEFT, /* its removal failed */
};

/* One sandbox. */
struct box {
	LIST_ENTRY(box) link;
	struct runsc *rs;
	enum box_state state;
	char id[RUNSC_ID_LEN + 1];
	char name[AC_NAME_MAX + 1]; /* of its instance */
	struct runsc_paths paths;
	struct layers_image *image;
	struct veth veth; /* empty: none was begun */
	struct runsc_job *job; /* of the making, or of the removal */
	pid_t maker; /* child that makes it and is runsc then; 0: none */
	pid_t pid; /* of the sandbox; 0: not known, or ended */
	int exit_code; /* when it has ended */

	/* While it starts. */
	struct runsc_want *want;
	struct loop_timer *limit;
	struct loop_io *hello; /* while nothing has come on the link */
	int link_fd;
	bool greeted;
	int maker_code; /* when that has ended */
	struct err err; /* why it failed */
	runtime_start_fn start_fn;
	void *start_arg;

	struct loop_timer *again; /* when its removal has failed */
	unsigned again_ms; /* the last pause */
	runtime_done_fn removed_fn; /* NULL: nobody is to be told */
	void *removed_arg;
};

struct runsc {
	struct runtime rt; /* first */
	struct loop *loop;
	struct children *children;
	struct engine *engine;
	struct runtime *docker;
	struct links *links;
	struct layers *layers;
	bool told; /* that the engine's images cannot be used */
	LIST_HEAD(boxes, box) boxes;
	LIST_HEAD(calls, call) calls; /* answers to come */
	struct runsc_prune *prune; /* under way; or NULL */
};

static inline struct runsc *runsc_of(struct runtime *rt)
{
	return (struct runsc *)rt;
}

/* ---- runsc_start.c ---- */

int runsc_op_start(struct runtime *rt, const struct runtime_spec *spec,
		   runtime_start_fn fn, void *arg);
/* acd ends: whoever waits for this start hears so. */
void runsc_start_cancel(struct box *b);

/* ---- runsc_box.c ---- */

bool runsc_is_ours(const char *id); /* not a container's of the engine */
struct box *box_find(struct runsc *rs, const char *id);
/* With an id of its own. NULL without memory. */
struct box *box_new(struct runsc *rs, const char *name);
/* What is left of it in the system stays, and nobody is told. */
void box_free(struct box *b);
/* acd ends: who waits for its removal hears so. */
void box_remove_cancel(struct box *b);
/* Its process has been seen to end. */
void box_ended(struct box *b, int exit_code);
/* Its removal has failed: it is tried again, with growing pauses. */
void box_left(struct box *b);
/* Takes everything away; @fn, if any, once. After a failure, which @fn hears
 * of, it goes on by itself; whoever asks then waits for that. */
int box_remove(struct box *b, runtime_done_fn fn, void *arg, struct err *err);

/* ---- runsc_ops.c ---- */

/* Of the cgroup, for what a sandbox may have. */
struct cgroup_limits runsc_limits(uint64_t cpu_milli, uint64_t memory,
				  uint64_t pids);

int runsc_op_stop(struct runtime *rt, const char *id, uint64_t grace_ms,
		  runtime_done_fn fn, void *arg);
int runsc_op_remove(struct runtime *rt, const char *id, runtime_done_fn fn,
		    void *arg);
int runsc_op_stats(struct runtime *rt, const char *id, runtime_stats_fn fn,
		   void *arg);
pid_t runsc_op_writer(struct runtime *rt, const char *id);
int runsc_op_end(struct runtime *rt, const char *id, bool lost,
		 runtime_end_fn fn, void *arg);
int runsc_op_update(struct runtime *rt, const char *id,
		    const struct runtime_limits *limits, runtime_done_fn fn,
		    void *arg);
int runsc_op_freeze(struct runtime *rt, const char *id, bool frozen,
		    runtime_done_fn fn, void *arg);
/* @id has ended or is gone: whoever waits for that goes on. */
void runsc_calls_wake(struct runsc *rs, const char *id);
/* All answers that are still to come are -ECANCELED. */
void runsc_calls_cancel(struct runsc *rs);

/* ---- runsc_prune.c ---- */

int runsc_op_prune(struct runtime *rt, bool images, runtime_done_fn fn,
		   void *arg);
/* acd ends, and all boxes with it: no step of it begins any more. */
void runsc_prune_cancel(struct runsc *rs);

#endif
