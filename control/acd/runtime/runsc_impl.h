/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_impl.h - shared by the runsc*.c files
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
/* What sandboxes write. On the engine's volume: the file system of $AC_HOME may
 * not support an overlay, and these files are temporary. */
#define RUNSC_UPPER "/var/lib/docker/ac-upper"
/* The engine's ids are hexadecimal, so none begins like this. */
#define RUNSC_ID_PREFIX "rs-"
#define RUNSC_ID_LEN (3u + 16u)

enum box_state {
	BOX_STARTING,
	BOX_RUNNING,
	BOX_SAVING,
	BOX_ASLEEP,
	BOX_WAKING,
	BOX_HELD, /* its memory is being written, or was (runsc_hold.c) */
	BOX_ENDED,
	BOX_REMOVING,
	BOX_LEFT, /* its removal has failed */
};

/* One sandbox. */
struct box {
	LIST_ENTRY(box) link;
	struct runsc *rs;
	enum box_state state;
	char id[RUNSC_ID_LEN + 1];
	char name[AC_NAME_MAX + 1]; /* its instance's */
	struct runsc_paths paths;
	struct layers_image *image;
	struct veth veth; /* empty: not begun */
	struct runsc_job *job; /* that makes or removes it */
	pid_t maker; /* child that makes it and then is runsc; 0: none */
	pid_t pid; /* of the sandbox; 0: unknown, or ended */
	int exit_code; /* when it has ended */
	bool covered; /* as in struct runtime_spec */
	/* The sandbox's ends of its link and stderr, for hibernation; closed
	 * when it has ended, so that acd's end sees that. -1: not open. */
	int theirs[2];
	struct box_sleep *sleep; /* runsc_sleep.c; NULL: never hibernated */
	struct box_hold *hold; /* runsc_hold.c; NULL: not yet */
	/* Its directories were moved so, since config.json was written; NULL:
	 * they were not. */
	char *moved_from, *moved_to;

	/* Only during its start. */
	struct runsc_want *want;
	struct loop_timer *limit;
	struct loop_io *hello; /* until something comes on the link */
	int link_fd;
	bool greeted;
	int maker_code; /* exit code, when the maker has ended */
	struct err err; /* why it failed */
	runtime_start_fn start_fn;
	void *start_arg;

	struct loop_timer *again; /* after a failed removal */
	unsigned again_ms; /* the last pause */
	runtime_done_fn removed_fn; /* or NULL */
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
	bool told; /* logged that the engine's images cannot be used */
	LIST_HEAD(boxes, box) boxes;
	LIST_HEAD(calls, call) calls; /* not answered yet */
	struct runsc_prune *prune; /* running, or NULL */
};

static inline struct runsc *runsc_of(struct runtime *rt)
{
	return (struct runsc *)rt;
}

/* ---- runsc_start.c ---- */

int runsc_op_start(struct runtime *rt, const struct runtime_spec *spec,
		   runtime_start_fn fn, void *arg);
/* acd ends: a start that still runs fails with -ECANCELED. */
void runsc_start_cancel(struct box *b);

/* ---- runsc_child.c ---- */

/* Appends runsc itself and the options that all calls of it have. Returns 0 or
 * -ENOMEM. */
int runsc_argv(const struct box *b, struct strv *argv);
/* The same, and @verb with the options of all that begin a sandbox. */
int runsc_argv_begin(const struct box *b, const char *verb, struct strv *argv);
/* Watches the sandbox that runsc, which has ended or soon will, has started.
 * Returns 0 or a negative errno with @err. */
int runsc_watch(struct box *b, struct err *err);
/* Kills and reaps the child that makes it. */
void runsc_maker_end(struct box *b);

/* ---- runsc_sleep.c ---- */

int runsc_op_hibernate(struct runtime *rt, const char *id, const char *dir,
		       runtime_done_fn fn, void *arg);
int runsc_op_wake(struct runtime *rt, const char *id, runtime_wake_fn fn,
		  void *arg);
void runsc_op_break(struct runtime *rt, const char *id);
int runsc_op_moved(struct runtime *rt, const char *id, const char *from,
		   const char *to);
/* Its process has ended while it was being saved. */
void sleep_ended(struct box *b);
/* Ends what is under way, with -ECANCELED, and removes what was saved. */
void sleep_free(struct box *b);
/* Returns the directory with the memory of a sandbox that hibernates, borrowed;
 * else NULL. */
const char *sleep_files(const struct box *b);
/* Returns how much of its memory is being written. */
uint64_t sleep_bytes(const struct box *b);

/* ---- runsc_save.c ---- */

/* Returns 0 if the memory of @b can be written to @dir: -ENOSPC, -EBUSY with
 * @err. *ret_bytes is how much it is. */
int runsc_save_check(struct box *b, const char *dir, uint64_t *ret_bytes,
		     struct err *err);
/* Appends what `runsc checkpoint` is called with, but for the id. */
int runsc_save_argv(const struct box *b, const char *dir, struct strv *argv);
/* Starts runsc, as b->maker: @fn gets @b when it has ended. */
int runsc_call(struct box *b, const struct strv *argv,
	       void (*fn)(void *arg, pid_t pid, int status), struct err *err);
/* How many ms writing or reading so many bytes may take. */
unsigned runsc_bytes_ms(uint64_t bytes);

/* ---- runsc_hold.c ---- */

int runsc_op_memory_write(struct runtime *rt, const char *id, const char *dir,
			  runtime_done_fn fn, void *arg);
int runsc_op_memory_resume(struct runtime *rt, const char *id,
			   runtime_done_fn fn, void *arg);
/* Returns how much of its memory is being written. */
uint64_t hold_bytes(const struct box *b);
/* Returns true if its memory is written, and nothing in it moves. */
bool hold_is(const struct box *b);
/* It is to end: writing its memory is broken off, with -ECANCELED. */
void hold_break(struct box *b);
/* Ends what is under way, with -ECANCELED. */
void hold_free(struct box *b);

/* ---- runsc_memory.c ---- */

int runsc_op_memory_keep(struct runtime *rt, const char *id, const char *dir,
			 struct buf *unread, struct err *err);
/* Returns 0 if a sandbox of @img can go on from the memory in @dir; else
 * -ESTALE, or another negative errno, with @err. */
int runsc_memory_check(const char *dir, const struct layers_image *img,
		       struct err *err);
/* Returns how many ms reading that memory may take. */
unsigned runsc_memory_ms(const char *dir);

/* ---- runsc_removed.c ---- */

/* Returns 0 if the sandbox can be saved with the removed files that it has open:
 * -EBUSY with @err if they are more than @most bytes together, or there are too
 * many files to look at. */
int runsc_removed_check(const struct box *b, uint64_t most, struct err *err);

/* ---- runsc_box.c ---- */

bool runsc_is_ours(const char *id); /* false: a sandbox of the engine */
/* Returns a sandbox, borrowed, or NULL. */
struct box *box_find(struct runsc *rs, const char *id);
/* Returns a sandbox whose memory may be asked for, borrowed; NULL with @err if
 * it does not run (-ENOENT) or its start is not quite over (-EBUSY). */
struct box *box_to_save(struct runsc *rs, const char *id, struct err *err);
/* Adds a sandbox with a new id, owned by @rs. Returns NULL without memory. */
struct box *box_new(struct runsc *rs, const char *name);
/* Forgets the sandbox: what is left of it in the system stays, and there are no
 * callbacks. */
void box_free(struct box *b);
/* acd ends: a removal that still runs is reported as -ECANCELED. */
void box_remove_cancel(struct box *b);
/* Its process has ended. */
void box_ended(struct box *b, int exit_code);
/* Its removal has failed: tries again later, with growing pauses. */
void box_left(struct box *b);
/* Removes all of it, frees it and calls @fn (unless NULL) once. If that fails,
 * @fn gets the error, and it is tried again without @fn. During a removal
 * without a callback, @fn is taken for it. Returns 0, or a negative errno with
 * @err (-EBUSY if a removal with a callback runs); @fn is not called then. */
int box_remove(struct box *b, runtime_done_fn fn, void *arg, struct err *err);
/* Closes the sandbox's ends of its link. */
void box_hang_up(struct box *b);

/* ---- runsc_ops.c ---- */

/* Returns the cgroup's limits for what a sandbox may have. */
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
/* Calls @fn from the loop, with @err (copied; NULL: success). Returns 0 or
 * -ENOMEM. */
int runsc_answer_later(struct runsc *rs, const char *id, const struct err *err,
		       runtime_done_fn fn, void *arg);
/* The same for a wake, without a link. */
int runsc_woken_later(struct runsc *rs, const char *id, const struct err *err,
		      runtime_wake_fn fn, void *arg);
/* @id has ended or is gone: continues calls that wait for that. */
void runsc_calls_wake(struct runsc *rs, const char *id);
/* Answers all open calls with -ECANCELED. */
void runsc_calls_cancel(struct runsc *rs);

/* ---- runsc_prune.c ---- */

int runsc_op_prune(struct runtime *rt, bool images, runtime_done_fn fn,
		   void *arg);
/* acd ends, and all sandboxes with it: stops the prune. */
void runsc_prune_cancel(struct runsc *rs);

#endif
