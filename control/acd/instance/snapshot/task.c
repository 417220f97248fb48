/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.c - work on the files of an instance that takes time
 */
#include "control/acd/instance/snapshot/task.h"

#include <unistd.h>

#include "control/acd/instance/snapshot/memory.h"
#include "lib/log.h"
#include "lib/str.h"

#define AGAIN_MS 2u

bool instance_files_busy(const struct instance *in)
{
	return !LIST_EMPTY(&in->tasks);
}

static const struct err gone = {
	.code = -ENOENT,
	.msg = "the instance was removed meanwhile",
};

static void on_gone(void *arg, const struct err *err)
{
	struct file_task *t = arg;

	(void)err;
	t->next(t, &gone);
}

/* A task without a job has another answer to wait for, which comes. */
void instance_tasks_forget(struct instance *in)
{
	struct file_task *t;

	while ((t = LIST_FIRST(&in->tasks))) {
		LIST_REMOVE(t, link);
		LIST_INSERT_HEAD(&in->is->tasks_left, t, link);
		t->in = NULL;
		if (!t->job)
			continue;
		treejob_cancel(t->job);
		treejob_forget(t->job);
		t->job = NULL;
		if (instances_later(in->is, on_gone, t, NULL) < 0)
			log_error("%s: out of memory", in->rec.name);
	}
}

static void task_free(struct file_task *t)
{
	loop_timer_free(t->again);
	t->free(t);
}

void instances_tasks_free(struct instances *is)
{
	struct file_task *t;

	while ((t = LIST_FIRST(&is->tasks_left))) {
		LIST_REMOVE(t, link);
		treejob_forget(t->job);
		task_free(t);
	}
	treejob_forget(is->sweep);
}

int task_refusal(const struct instance *in, bool still, struct err *err)
{
	const char *name = in->rec.name;

	if (instance_disk_is_file(in))
		return err_set(
			err, -ENOTSUP,
			"the files of '%s' are in a disk image, since its "
			"limit could not be kept otherwise: those have no "
			"snapshots and no forks",
			name);
	if (in->rec.container_id && !instance_is_live(in))
		return err_set(err, -EBUSY,
			       "the sandbox of '%s' could not be removed, and "
			       "may still write its files",
			       name);
	if (instance_files_busy(in) || instance_is_leaving(in))
		return err_set(
			err, -EBUSY,
			"the files of '%s' are being copied, restored or "
			"removed: try again in a moment",
			name);
	/* One that is stopping is waited for: task_settle(). */
	if (in->rec.state == INSTANCE_STARTING || in->next.fn)
		return err_set(err, -EBUSY,
			       "'%s' is starting: try again in a moment", name);
	if (still && instance_is_up(in))
		return err_set(err, -EBUSY,
			       "'%s' is running: stop it first (`ac "
			       "stop-instance %s`)",
			       name, name);
	return instance_restore_refusal(in, err);
}

int task_has_files(const struct instance *in, struct err *err)
{
	SCOPED_STR dir = instance_path(in, "");

	if (!dir)
		return err_nomem(err);
	if (access(dir, F_OK) == 0)
		return 0;
	return err_set(err, -ENOENT, "'%s' has never run: it has no files yet",
		       in->rec.name);
}

void task_begin(struct file_task *t, struct instance *in)
{
	t->starting = true;
	t->is = in->is;
	t->in = in;
	memory_new_name(in, t->written);
	LIST_INSERT_HEAD(&in->tasks, t, link);
}

static void job_over(void *arg, const struct err *err)
{
	struct file_task *t = arg;

	t->job = NULL;
	t->next(t, t->in ? err : &gone);
}

void task_job(struct file_task *t, treejob_work work, const void *what,
	      void (*next)(struct file_task *t, const struct err *err))
{
	struct err err = { 0 };

	t->next = next;
	if (treejob_run(t->is->loop, work, what, job_over, t, &t->job, &err) <
		    0 &&
	    instances_later(t->is, job_over, t, &err) < 0)
		job_over(t, &err);
}

static void on_settled(void *arg, const struct err *err)
{
	struct file_task *t = arg;

	t->next(t, t->in ? task_fault(t, err) : &gone);
}

void task_settle(struct file_task *t,
		 void (*next)(struct file_task *t, const struct err *err))
{
	struct err err = { 0 };

	t->next = next;
	if (t->in->rec.state != INSTANCE_STOPPING)
		next(t, NULL);
	else if (instance_wait(t->in, on_settled, t) < 0) {
		err_nomem(&err);
		next(t, &err);
	}
}

void task_settle_end(struct file_task *t)
{
	instance_wait_end(t->in, on_settled, t);
}

static void on_held(void *arg, const struct err *err)
{
	struct file_task *t = arg;
	struct err named = { 0 };

	t->holds = !err;
	if (err && t->memory) {
		named = *err;
		err_wrap(&named, "'%s'", t->written + 1);
		err = &named;
	}
	t->next(t, t->in ? task_fault(t, err) : &gone);
}

/* One that hibernates has its memory on the disk already. */
static int hold_memory(struct file_task *t, struct err *err)
{
	struct instance *in = t->in;

	if (!instance_is_up(in))
		return err_set(err, -ENOTCONN,
			       "'%s' is not running: it has files, and no "
			       "memory",
			       in->rec.name);
	if (in->rec.state == INSTANCE_PAUSED)
		return err_set(err, -EBUSY,
			       "'%s' is paused: `ac resume %s` first",
			       in->rec.name, in->rec.name);
	t->still = instance_hibernate_keep(in, true);
	return t->still ? -EALREADY : instance_hold_memory(in, on_held, t, err);
}

static void hold(struct file_task *t)
{
	struct err err = { 0 };
	int rc = -EALREADY;

	if (t->memory) {
		rc = hold_memory(t, &err);
	} else {
		t->still = t->in->rec.state == INSTANCE_PAUSED ||
			   instance_hibernate_keep(t->in, true);
		if (instance_is_up(t->in) && !t->still)
			rc = instance_hold(t->in, on_held, t, &err);
	}
	if (rc == -EALREADY)
		t->next(t, NULL);
	else if (rc < 0 && instances_later(t->is, on_held, t, &err) < 0)
		t->next(t, &err);
}

/* The runtime is still letting it go on after a hold that is over. */
static bool is_between(const struct instance *in)
{
	return in->freeze.busy && !in->freeze.wanted && instance_is_up(in);
}

static void on_again(void *arg)
{
	struct file_task *t = arg;
	const struct err *fault = t->in ? task_fault(t, NULL) : &gone;

	if (fault)
		t->next(t, fault);
	else if (is_between(t->in))
		loop_timer_set(t->again, AGAIN_MS);
	else
		hold(t);
}

void task_hold(struct file_task *t,
	       void (*next)(struct file_task *t, const struct err *err))
{
	t->next = next;
	if (!is_between(t->in)) {
		hold(t);
		return;
	}
	if (!t->again)
		t->again = loop_timer_new(t->is->loop, on_again, t);
	if (t->again)
		loop_timer_set(t->again, AGAIN_MS);
	else
		hold(t); /* which is refused */
}

static void on_released(void *arg, const struct err *err)
{
	(void)arg;
	if (err)
		log_error("a sandbox that was held: %s", err->msg);
}

int task_release(struct file_task *t, struct err *err)
{
	struct err why = { 0 };

	if (!t->in)
		return err_set(err, gone.code, "%s", gone.msg);
	if (!t->holds && !t->still)
		return 0;
	/* instance_pause() does not resume it meanwhile, but its end does. */
	if (t->still && instance_state_is_still(t->in->rec.state)) {
		instance_hibernate_keep(t->in, false);
		return 0;
	}
	t->holds = false;
	if (t->still || !instance_is_held(t->in))
		return err_set(
			err, -EAGAIN,
			"'%s' has ended while its files were copied: try "
			"again",
			t->in->rec.name);
	if (instance_hold_end(t->in, on_released, NULL, &why) < 0)
		log_error("%s: %s", t->in->rec.name, why.msg);
	return 0;
}

void task_end(struct file_task *t, const struct err *err)
{
	instance_fn fn = t->fn;
	void *arg = t->arg;
	/* @err may be the task's own. */
	const struct err why = err ? *err : (struct err){ 0 };
	struct err ignored = { 0 };
	struct instance *in = t->in;

	if (t->starting) {
		t->failed = true;
		t->start_err = why;
		return;
	}
	task_release(t, &ignored);
	LIST_REMOVE(t, link);
	if (t->memory)
		memory_drop(t->is, t->written);
	if (in)
		instance_life_arm(in); /* it was not judged meanwhile */
	if (in && in->phase == PHASE_IDLE && in->clean != CLEAN_NOT)
		instance_clean_now(in); /* one of --rm has ended meanwhile */
	task_free(t);
	fn(arg, err ? &why : NULL);
}

int task_started(struct file_task *t, struct err *err)
{
	t->starting = false;
	if (!t->failed)
		return 0;
	*err = t->start_err;
	LIST_REMOVE(t, link);
	task_free(t);
	return err->code;
}
