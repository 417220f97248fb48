/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.c - ends a task early, while what it has made can be removed
 *
 * A task that was canceled ends at its next step, as one that has failed: the
 * child that copies is told to stop, what it has made is removed, and a sandbox
 * that is held goes on.
 */
#include "control/acd/instance/snapshot/task.h"

static const struct err canceled = {
	.code = -ECANCELED,
	.msg = "it was canceled, and nothing of it is kept",
};

const struct err *task_fault(const struct file_task *t, const struct err *err)
{
	return t->canceled ? &canceled : err;
}

static void cancel(struct file_task *t)
{
	if (t->final)
		return;
	t->canceled = true;
	treejob_cancel(t->job);
	task_settle_end(t);
}

void instance_task_cancel(struct instance *in, const void *arg)
{
	struct file_task *t;

	LIST_FOREACH (t, &in->tasks, link) {
		if (t->arg == arg)
			cancel(t);
	}
}

bool instance_tasks_cancel(struct instance *in)
{
	struct file_task *t;

	LIST_FOREACH (t, &in->tasks, link) {
		if (t->final)
			return false;
	}
	LIST_FOREACH (t, &in->tasks, link) {
		cancel(t);
	}
	return true;
}

bool instance_tasks_canceled(const struct instance *in)
{
	const struct file_task *t;

	LIST_FOREACH (t, &in->tasks, link) {
		if (!t->canceled)
			return false;
	}
	return true;
}
