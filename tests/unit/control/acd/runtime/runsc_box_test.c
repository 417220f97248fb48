/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_box_test.c - a sandbox whose removal fails at first
 *
 * The child that takes it away is played here.
 */
#include "control/acd/runtime/runsc_impl.h"

#include "tests/unit/tap.h"

static struct runsc rs;
static int undos, failures, told, told_code;
static struct {
	runsc_job_fn fn;
	void *arg;
} job;
static struct loop_timer *report;

int runsc_job_undo(struct loop *loop, const char *id,
		   const struct runsc_paths *paths, const struct veth *veth,
		   const char *state_dir, runsc_job_fn fn, void *arg,
		   struct runsc_job **ret, struct err *err)
{
	(void)loop;
	(void)id;
	(void)paths;
	(void)veth;
	(void)state_dir;
	(void)err;
	undos++;
	job.fn = fn;
	job.arg = arg;
	*ret = NULL;
	loop_timer_set(report, 50);
	return 0;
}

int runsc_job_make(struct loop *loop, const struct runsc_make *m,
		   runsc_job_fn fn, void *arg, struct runsc_job **ret,
		   pid_t *ret_pid, struct err *err)
{
	(void)loop;
	(void)m;
	(void)fn;
	(void)arg;
	(void)ret;
	(void)ret_pid;
	return err_nomem(err);
}

void runsc_job_forget(struct runsc_job *j)
{
	(void)j;
}

static void on_report(void *arg)
{
	const struct err err = { .code = -EIO, .msg = "killed" };

	(void)arg;
	job.fn(job.arg, failures-- > 0 ? &err : NULL);
	if (LIST_EMPTY(&rs.boxes))
		loop_stop(rs.loop, 0);
}

static void on_removed(void *arg, const struct err *err)
{
	(void)arg;
	told++;
	told_code = err ? err->code : 0;
}

static pid_t docker_writer(struct runtime *rt, const char *id)
{
	(void)rt;
	return strcmp(id, "0123") == 0 ? 815 : -1;
}

static void on_late(void *arg)
{
	loop_stop(arg, 1);
}

int main(void)
{
	static const struct runtime_ops docker_ops = {
		.writer = docker_writer,
	};
	struct runtime docker = { .ops = &docker_ops };
	struct loop_timer *late;
	struct err err = { 0 };
	struct box *b;

	rs.loop = loop_new();
	rs.docker = &docker;
	LIST_INIT(&rs.boxes);
	LIST_INIT(&rs.calls);
	rs.links = links_new(rs.loop, NULL, &err);
	report = loop_timer_new(rs.loop, on_report, NULL);
	late = loop_timer_new(rs.loop, on_late, rs.loop);
	loop_timer_set(late, 10000);

	b = box_new(&rs, "one");
	failures = 1;
	is_int(box_remove(b, on_removed, NULL, &err), 0, "a removal");
	is_int(loop_run(rs.loop), 0, "it goes in the end");
	is_int(undos, 2, "tried twice");
	ok(told == 1 && told_code == -EIO, "who asked heard of the first");

	b = box_new(&rs, "two");
	b->state = BOX_RUNNING;
	is_int(box_remove(b, NULL, NULL, &err), 0, "one that nobody waits for");
	is_int(box_remove(b, on_removed, NULL, &err), 0, "may be waited for");
	is_int(box_remove(b, on_removed, NULL, &err), -EBUSY, "by one: %s",
	       err.msg);
	is_int(loop_run(rs.loop), 0, "it goes");
	ok(told == 2 && told_code == 0, "and that is told");

	b = box_new(&rs, "three");
	is_int(runsc_op_writer(&rs.rt, b->id), 0, "no process writes yet");
	b->pid = 4711;
	is_int(runsc_op_writer(&rs.rt, b->id), 4711, "then gVisor's kernel");
	is_int(runsc_op_writer(&rs.rt, RUNSC_ID_PREFIX "gone"), 0,
	       "of no other sandbox");
	is_int(runsc_op_writer(&rs.rt, "0123"), 815,
	       "the engine's are asked of the other runtime");
	b->pid = 0;
	box_left(b);
	box_free(b);
	ok(LIST_EMPTY(&rs.boxes), "one that waits for its removal is freed");
	loop_timer_free(report);
	loop_timer_free(late);
	links_free(rs.links);
	loop_free(rs.loop);
	return done_testing();
}
