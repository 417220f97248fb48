/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_prune_test.c - what a prune takes away first, and what it names
 *
 * The child that removes a sandbox, the images' mounts and the docker runtime
 * are played here.
 */
#include "control/acd/runtime/runsc_impl.h"

#include <string.h>

#include "tests/unit/step.h"
#include "tests/unit/tap.h"

static struct runsc rs;
static struct {
	int undos, undo_error, layers_error, prunes, told;
	struct err err; /* of the prune */
	runsc_job_fn fn;
	void *arg;
	struct loop_timer *report;
} seen;

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
	seen.undos++;
	seen.fn = fn;
	seen.arg = arg;
	*ret = NULL;
	loop_timer_set(seen.report, 0);
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

int layers_drop(struct layers *ls)
{
	(void)ls;
	return seen.layers_error;
}

void layers_put(struct layers_image *img)
{
	(void)img;
}

static void on_report(void *arg)
{
	const struct err err = { .code = seen.undo_error, .msg = "it sticks" };

	(void)arg;
	seen.fn(seen.arg, seen.undo_error ? &err : NULL);
}

static int docker_prune(struct runtime *rt, bool images, runtime_done_fn fn,
			void *arg)
{
	(void)rt;
	(void)images;
	seen.prunes++;
	fn(arg, NULL);
	return 0;
}

static void on_pruned(void *arg, const struct err *err)
{
	(void)arg;
	seen.told++;
	seen.err = err ? *err : (struct err){ 0 };
}

static struct box *left(const char *name)
{
	struct box *b = box_new(&rs, name);

	if (!b)
		abort();
	b->state = BOX_LEFT;
	return b;
}

static void prune(void)
{
	seen.told = seen.prunes = seen.undos = 0;
	is_int(runsc_op_prune(&rs.rt, false, on_pruned, NULL), 0, "a prune");
	is_int(runsc_op_prune(&rs.rt, false, on_pruned, NULL), -EALREADY,
	       "one at a time");
	ok(seen.told == 0, "no answer before the call has returned");
	STEP_UNTIL(rs.loop, seen.told);
	ok(seen.told == 1 && !rs.prune, "one answer");
}

static void test_left(void)
{
	struct box *b;

	prune();
	ok(seen.err.code == 0 && seen.prunes == 1, "nothing is in the way");
	left("one");
	prune();
	ok(seen.undos == 1 && LIST_EMPTY(&rs.boxes),
	   "one whose removal had failed goes first");
	ok(seen.err.code == 0 && seen.prunes == 1, "then all else %s",
	   seen.err.msg);
	b = left("two");
	seen.undo_error = -EBUSY;
	prune();
	ok(seen.err.code == -EBUSY && strstr(seen.err.msg, "'two'") &&
		   strstr(seen.err.msg, "it sticks") && seen.prunes == 0,
	   "one that stays is named, with its reason: %s", seen.err.msg);
	seen.undo_error = 0;
	box_free(b);
}

static void test_held(void)
{
	struct box *b = box_new(&rs, "three");

	b->state = BOX_RUNNING;
	prune();
	ok(seen.err.code == -EBUSY && strstr(seen.err.msg, "'three'") &&
		   seen.undos == 0,
	   "one that runs is named, and left alone: %s", seen.err.msg);
	box_free(b);
	seen.layers_error = -EBUSY;
	prune();
	ok(seen.err.code == -EBUSY && seen.prunes == 0,
	   "an image that is in use: %s", seen.err.msg);
	seen.layers_error = 0;
}

static void test_end(void)
{
	seen.told = 0;
	is_int(runsc_op_prune(&rs.rt, false, on_pruned, NULL), 0, "a prune");
	runsc_prune_cancel(&rs);
	ok(seen.told == 1 && seen.err.code == -ECANCELED, "acd ends: told so");
	runsc_prune_cancel(&rs);
}

int main(void)
{
	static const struct runtime_ops docker_ops = { .prune = docker_prune };
	struct runtime docker = { .ops = &docker_ops };
	struct err err = { 0 };

	rs.loop = loop_new();
	rs.docker = &docker;
	LIST_INIT(&rs.boxes);
	LIST_INIT(&rs.calls);
	rs.links = links_new(rs.loop, NULL, &err);
	seen.report = loop_timer_new(rs.loop, on_report, NULL);
	test_left();
	test_held();
	test_end();
	loop_timer_free(seen.report);
	links_free(rs.links);
	loop_free(rs.loop);
	return done_testing();
}
