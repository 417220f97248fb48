/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.h - inside of control/acd/instance: work on the files of an instance that
 * takes time
 *
 * A task has jobs, one after the other, each in a child, and at its end calls
 * the function of its client once. While it has not ended, nothing else changes
 * the files: a sandbox that runs is held (instance_hold()), and an instance that
 * does not run is not started (instance_files_busy()).
 */
#ifndef CONTROL_ACD_INSTANCE_SNAPSHOT_TASK_H
#define CONTROL_ACD_INSTANCE_SNAPSHOT_TASK_H

#include "control/acd/instance/instance_impl.h"
#include "control/acd/storage/snapshot.h"

struct file_task {
	LIST_ENTRY(file_task) link; /* in->tasks, or is->tasks_left */
	struct instances *is;
	struct instance *in; /* NULL: it has gone; then the task fails */
	struct treejob *job; /* NULL: none runs */
	struct loop_timer *again; /* the last hold is not quite over */
	bool holds; /* the sandbox was frozen for it */
	bool still; /* it was found paused, or hibernated */
	bool memory; /* its memory is copied, too */
	char written[AC_NAME_MAX + 2]; /* memory_new_name() */
	bool starting; /* the request for it has not returned yet */
	bool canceled; /* task_fault() */
	bool final; /* it can be canceled no more */
	bool failed; /* it ended before that: why, in start_err */
	struct err start_err;
	/* Called when the job has ended, with @err NULL on success. */
	void (*next)(struct file_task *t, const struct err *err);
	void (*free)(struct file_task *t); /* what its kind has; and itself */
	instance_fn fn;
	void *arg;
};

/* Returns 0 if a task may begin: -EBUSY if another one, a start or an end is
 * under way; -ENOTSUP if the files are in a disk.img. @still: it must not
 * run. */
int task_refusal(const struct instance *in, bool still, struct err *err);
/* Returns -ENOENT if @in has never had files. */
int task_has_files(const struct instance *in, struct err *err);
/* Begins @t, whose free, fn and arg are set. */
void task_begin(struct file_task *t, struct instance *in);
/* Runs @work; calls @next from the loop, also if it could not be started. */
void task_job(struct file_task *t, treejob_work work, const void *what,
	      void (*next)(struct file_task *t, const struct err *err));
/* Goes on with @next when its sandbox, if that is ending, has ended. */
void task_settle(struct file_task *t,
		 void (*next)(struct file_task *t, const struct err *err));
/* Ends that wait, if @t waits: @next is called from the loop. */
void task_settle_end(struct file_task *t);
/* Freezes the sandbox, if one runs that the user has not frozen, and goes on
 * with @next. For a task with memory, that is written meanwhile, and one that
 * has none is a failure. */
void task_hold(struct file_task *t,
	       void (*next)(struct file_task *t, const struct err *err));
/* Lets it go on. Returns 0, or -EAGAIN with @err if it did so already: what was
 * read is of no use. */
int task_release(struct file_task *t, struct err *err);
/* Ends a request that has begun @t: returns 0; or if @t has ended already, which
 * happens without memory only, why, and its function is not called. */
int task_started(struct file_task *t, struct err *err);
/* Ends @t, frees it and calls its function. */
void task_end(struct file_task *t, const struct err *err);
/* Returns why @t does not go on: that it was canceled, or @err, what its last step
 * has said; NULL if it goes on. */
const struct err *task_fault(const struct file_task *t, const struct err *err);

/* Fills what is known of @in now; the caller owns *ret. Returns 0 or -ENOMEM. */
int instance_snapshot_meta(const struct instance *in, const char *tag,
			   struct snapshot_meta *ret);
/* Gives @r the directory, the mode and the layer of @m, since files without the
 * layer's begin mean nothing. Returns 0 or -ENOMEM; @r is unchanged then. */
int snapshot_meta_follow(const struct snapshot_meta *m,
			 struct instance_record *r);
/* Finds a snapshot, which has to have @memory; @tag NULL: the latest. The
 * caller owns *ret_dir and *ret. Returns 0, -ENOENT, -EINVAL for a bad tag,
 * -EUCLEAN if it cannot be read. */
int instance_snapshot_find(const struct instance *in, const char *tag,
			   bool memory, char **ret_dir,
			   struct snapshot_meta *ret, struct err *err);

#endif
