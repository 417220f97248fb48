/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.c - a runtime whose sandboxes are fake guests in this process
 *
 * Every call is answered a millisecond later, or when the test lets go.
 */
#include "tests/fake/runtime.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum fake_op_kind {
	OP_START,
	OP_REMOVE,
	OP_STATS,
	OP_END,
	OP_LIST,
	OP_FREEZE,
	OP_THAW,
	OP_WAKE,
	OP_WRITE,
	OP_RESUME
};

struct fake_op {
	struct fake_op *next;
	struct fake_runtime *f;
	struct loop_timer *timer;
	enum fake_op_kind kind;
	union {
		runtime_start_fn start;
		runtime_done_fn done;
		runtime_wake_fn woken;
		runtime_stats_fn stats;
		runtime_end_fn end;
	} fn;
	runtime_each_fn each;
	void *arg;
};

static void op_unlink(struct fake_op *op)
{
	struct fake_op **p = &op->f->ops;

	while (*p != op)
		p = &(*p)->next;
	*p = op->next;
	loop_timer_free(op->timer);
}

static void answer_start(struct fake_op *op)
{
	struct fake_runtime *f = op->f;
	struct err err = { 0 };
	struct fake_box *box;
	char id[32];
	int fds[2];

	if (f->start_error) {
		err_set(&err, f->start_error, "no sandbox today");
		op->fn.start(op->arg, -1, NULL, &err);
		return;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       fds) < 0)
		abort();
	snprintf(id, sizeof(id), "id-%u", f->starts);
	box = &f->boxes[f->starts % FAKE_RUNTIME_BOXES];
	fake_guest_free(box->guest);
	f->guest = box->guest = fake_guest_new(f->loop, fds[1],
					       !f->from_memory[0] ? f->mood :
					       f->exits ? FAKE_GUEST_EXITS :
					       f->dumb  ? FAKE_GUEST_DUMB :
							  FAKE_GUEST_RESUMED);
	snprintf(box->id, sizeof(box->id), "%s", id);
	op->fn.start(op->arg, fds[0], id, NULL);
}

static void answer_remove(struct fake_op *op)
{
	struct fake_runtime *f = op->f;
	struct err err = { 0 };

	if (f->remove_error) {
		err_set(&err, f->remove_error, "it sticks");
		op->fn.done(op->arg, &err);
		return;
	}
	for (size_t i = 0; i < FAKE_RUNTIME_BOXES; i++) {
		struct fake_box *box = &f->boxes[i];

		if (box->guest && strcmp(f->removed, box->id) == 0)
			fake_guest_kill(box->guest);
	}
	op->fn.done(op->arg, NULL);
}

static void answer_freeze(struct fake_op *op)
{
	struct fake_runtime *f = op->f;
	struct err err = { 0 };

	int rc = op->kind == OP_WRITE  ? f->write_error :
		 op->kind == OP_RESUME ? f->resume_error :
					 f->freeze_error;

	if (rc) {
		err_set(&err, rc, "no frost today");
		op->fn.done(op->arg, &err);
		return;
	}
	f->frozen = op->kind == OP_FREEZE || op->kind == OP_WRITE;
	fake_guest_freeze(f->guest, f->frozen);
	op->fn.done(op->arg, NULL);
}

static void answer_wake(struct fake_op *op)
{
	struct fake_runtime *f = op->f;
	struct err err = { 0 };

	f->frozen = false;
	fake_guest_freeze(f->guest, false);
	if (f->wake_error) {
		err_set(&err, f->wake_error, "the night is long");
		fake_guest_kill(f->guest);
	}
	op->fn.woken(op->arg, -1, f->wake_error ? &err : NULL);
}

static void answer_list(struct fake_op *op)
{
	size_t i;

	for (i = 0; i < FAKE_RUNTIME_LISTED && op->f->listed[i]; i++)
		op->each(op->arg, op->f->listed[i],
			 op->f->listed_name ? op->f->listed_name : "somebody",
			 true);
	op->fn.done(op->arg, NULL);
}

static void op_answer(void *arg)
{
	struct fake_op *op = arg;
	struct fake_runtime *f = op->f;

	if (f->hold) {
		loop_timer_set(op->timer, 1);
		return;
	}
	op_unlink(op);
	switch (op->kind) {
	case OP_START:
		answer_start(op);
		break;
	case OP_REMOVE:
		answer_remove(op);
		break;
	case OP_STATS:
		op->fn.stats(op->arg, &f->stats, NULL);
		break;
	case OP_END:
		op->fn.end(op->arg, &f->end, NULL);
		break;
	case OP_LIST:
		answer_list(op);
		break;
	case OP_FREEZE:
	case OP_THAW:
	case OP_WRITE:
	case OP_RESUME:
		answer_freeze(op);
		break;
	case OP_WAKE:
		answer_wake(op);
		break;
	}
	free(op);
}

static struct fake_op *op_new(struct runtime *rt, enum fake_op_kind kind,
			      void *arg)
{
	struct fake_runtime *f = (struct fake_runtime *)rt;
	struct fake_op *op = calloc(1, sizeof(*op));

	if (!op)
		abort();
	op->f = f;
	op->kind = kind;
	op->arg = arg;
	op->next = f->ops;
	f->ops = op;
	op->timer = loop_timer_new(f->loop, op_answer, op);
	loop_timer_set(op->timer, 1);
	return op;
}

static int fake_start(struct runtime *rt, const struct runtime_spec *spec,
		      runtime_start_fn fn, void *arg)
{
	struct fake_runtime *f = (struct fake_runtime *)rt;

	f->starts++;
	snprintf(f->name, sizeof(f->name), "%s", spec->name);
	snprintf(f->image, sizeof(f->image), "%s", spec->image);
	snprintf(f->address, sizeof(f->address), "%s", spec->address);
	snprintf(f->workspace, sizeof(f->workspace), "%s", spec->workspace);
	snprintf(f->skills, sizeof(f->skills), "%s",
		 spec->skills ? spec->skills : "");
	f->mounts[0] = '\0';
	if (spec->n_mounts > 0)
		snprintf(f->mounts, sizeof(f->mounts), "%s:%s at %s %s",
			 spec->mnt, spec->mounts[0].from, spec->mounts[0].to,
			 spec->mounts[0].ro ? "ro" : "rw");
	f->memory = spec->memory;
	snprintf(f->from_memory, sizeof(f->from_memory), "%s",
		 spec->from_memory ? spec->from_memory : "");
	op_new(rt, OP_START, arg)->fn.start = fn;
	return 0;
}

static int fake_remove(struct runtime *rt, const char *id, runtime_done_fn fn,
		       void *arg)
{
	struct fake_runtime *f = (struct fake_runtime *)rt;

	if (f->remove_refused)
		return f->remove_refused;
	f->removes++;
	f->frozen_removes += f->frozen;
	snprintf(f->removed, sizeof(f->removed), "%s", id);
	op_new(rt, OP_REMOVE, arg)->fn.done = fn;
	return 0;
}

static int fake_stats(struct runtime *rt, const char *id, runtime_stats_fn fn,
		      void *arg)
{
	(void)id;
	op_new(rt, OP_STATS, arg)->fn.stats = fn;
	return 0;
}

static int fake_end(struct runtime *rt, const char *id, bool lost,
		    runtime_end_fn fn, void *arg)
{
	struct fake_runtime *f = (struct fake_runtime *)rt;

	(void)id;
	f->ends++;
	f->lost_ends += lost;
	op_new(rt, OP_END, arg)->fn.end = fn;
	return 0;
}

static int fake_list(struct runtime *rt, runtime_each_fn each,
		     runtime_done_fn fn, void *arg)
{
	struct fake_op *op = op_new(rt, OP_LIST, arg);

	op->fn.done = fn;
	op->each = each;
	return 0;
}

static int fake_freeze(struct runtime *rt, const char *id, bool frozen,
		       runtime_done_fn fn, void *arg)
{
	struct fake_runtime *f = (struct fake_runtime *)rt;

	(void)id;
	f->freezes += frozen;
	f->thaws += !frozen;
	op_new(rt, frozen ? OP_FREEZE : OP_THAW, arg)->fn.done = fn;
	return 0;
}

static bool fake_hibernates(struct runtime *rt, const char *id)
{
	(void)id;
	return !((struct fake_runtime *)rt)->no_hibernation;
}

static int fake_hibernate(struct runtime *rt, const char *id, const char *dir,
			  runtime_done_fn fn, void *arg)
{
	struct fake_runtime *f = (struct fake_runtime *)rt;

	(void)id;
	f->hibernations++;
	snprintf(f->asleep_in, sizeof(f->asleep_in), "%s", dir);
	op_new(rt, OP_FREEZE, arg)->fn.done = fn;
	return 0;
}

static int fake_wake(struct runtime *rt, const char *id, runtime_wake_fn fn,
		     void *arg)
{
	struct fake_runtime *f = (struct fake_runtime *)rt;

	(void)id;
	f->wakes++;
	op_new(rt, OP_WAKE, arg)->fn.woken = fn;
	return 0;
}

static int fake_memory_write(struct runtime *rt, const char *id,
			     const char *dir, runtime_done_fn fn, void *arg)
{
	struct fake_runtime *f = (struct fake_runtime *)rt;

	(void)id;
	f->writes++;
	snprintf(f->written, sizeof(f->written), "%s", dir);
	op_new(rt, OP_WRITE, arg)->fn.done = fn;
	return 0;
}

static int fake_memory_resume(struct runtime *rt, const char *id,
			      runtime_done_fn fn, void *arg)
{
	struct fake_runtime *f = (struct fake_runtime *)rt;

	(void)id;
	f->resumes++;
	op_new(rt, OP_RESUME, arg)->fn.done = fn;
	return 0;
}

static int fake_memory_keep(struct runtime *rt, const char *id, const char *dir,
			    struct buf *unread, struct err *err)
{
	struct fake_runtime *f = (struct fake_runtime *)rt;
	char path[600];

	(void)id;
	(void)unread;
	if (f->keep_error)
		return err_set(err, f->keep_error, "it is forgetful");
	f->keeps++;
	snprintf(path, sizeof(path), "%s/pages.img", dir);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	return 0;
}

static void fake_break(struct runtime *rt, const char *id)
{
	(void)id;
	((struct fake_runtime *)rt)->breaks++;
}

/* One GPU, "0". */
static int fake_has_gpus(struct runtime *rt, const char *gpus, struct err *err)
{
	(void)rt;
	return strcmp(gpus, "0") == 0 ? 0 :
					err_set(err, -ENODEV, "no such GPU");
}

static const struct runtime_ops fake_runtime_ops = {
	.name = "fake",
	.start = fake_start,
	.remove = fake_remove,
	.stats = fake_stats,
	.has_gpus = fake_has_gpus,
	.end = fake_end,
	.list = fake_list,
	.freeze = fake_freeze,
	.hibernates = fake_hibernates,
	.hibernate = fake_hibernate,
	.wake = fake_wake,
	.hibernate_break = fake_break,
	.memory_write = fake_memory_write,
	.memory_resume = fake_memory_resume,
	.memory_keep = fake_memory_keep,
};

struct fake_runtime *fake_runtime_new(struct loop *loop)
{
	struct fake_runtime *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	f->rt.ops = &fake_runtime_ops;
	f->loop = loop;
	return f;
}

void fake_runtime_free(struct fake_runtime *f)
{
	struct fake_op *op;

	while ((op = f->ops)) {
		op_unlink(op);
		free(op);
	}
	for (size_t i = 0; i < FAKE_RUNTIME_BOXES; i++)
		fake_guest_free(f->boxes[i].guest);
	free(f);
}
