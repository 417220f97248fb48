/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hibernate_test.c - a sandbox goes to the disk, and comes back when it is used
 */
#include "tests/unit/control/acd/instance/instance_world.h"

static int hibernate_wait(struct world *w, struct instance *in)
{
	struct outcome o = { 0 };
	struct err err = { 0 };
	int rc = instance_hibernate(in, note_outcome, &o, &err);

	if (rc < 0)
		return rc;
	STEP_UNTIL(w->loop, o.calls);
	return o.calls == 1 ? o.err.code : -EIO;
}

static void test_used(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "cat", NULL);
	is_int(hibernate_wait(&w, in), 0, "it hibernates");
	is_int(state_of(in), INSTANCE_HIBERNATED, "and says so");
	ok(instance_is_up(in), "it has not ended");
	ok(strstr(w.rt->asleep_in, "/.asleep"), "not among its own files");
	is_int(hibernate_wait(&w, in), 0, "again");
	is_int(w.rt->hibernations, 1, "asks nobody");
	is_int(pause_wait(&w, in, true), -EBUSY, "it cannot be paused");
	is_int(run_stdin(instance_main(in), "hello", 5), 0, "input");
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_RUNNING);
	is_int(w.rt->wakes, 1, "wakes it");
	STEP_UNTIL(w.loop, v.bytes >= 5);
	ok(memcmp(v.text, "hello", 5) == 0, "which gets what was typed");

	is_int(hibernate_wait(&w, in), 0, "and hibernates again");
	is_int(pause_wait(&w, in, false), 0, "resume");
	is_int(state_of(in), INSTANCE_RUNNING, "wakes it as well");
	is_int(w.rt->wakes, 2, "by the runtime");
	is_int(w.rt->thaws, 0, "not as one that is frozen");
	is_int(pause_wait(&w, in, true), 0, "it can be paused");
	is_int(hibernate_wait(&w, in), -EBUSY, "and not hibernate then");
	world_done(&w);
}

/* Something is sent while it is being written to the disk. */
static void test_used_meanwhile(void)
{
	struct outcome o = { 0 };
	struct err err = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "cat", NULL);
	w.rt->hold = true;
	is_int(instance_hibernate(in, note_outcome, &o, &err), 0, "hibernate");
	is_int(run_stdin(instance_main(in), "hello", 5), 0, "then input");
	step_for(w.loop, 20);
	is_int(w.rt->wakes, 0, "it is not woken before it is asleep");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, o.calls && w.rt->wakes && !w.rt->frozen);
	is_int(o.err.code, -EBUSY, "who asked hears that it is in use");
	STEP_UNTIL(w.loop, v.bytes >= 5);
	is_int(state_of(in), INSTANCE_RUNNING, "it runs");
	is_int(hibernate_wait(&w, in), 0, "and can hibernate");
	world_done(&w);
}

static void test_stopped(void)
{
	struct outcome o = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "sleep", NULL);
	is_int(hibernate_wait(&w, in), 0, "it hibernates");
	w.rt->hold = true;
	is_int(instance_stop(in, 30, note_outcome, &o), 0, "it is stopped");
	step_for(w.loop, 120);
	ok(!instance_main(in)->killed, "its grace begins when it is awake");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(v.x.value, SIGTERM, "a stop wakes it, for the polite signal");
	is_int(w.rt->wakes, 1, "once");
	is_int(w.rt->frozen_removes, 0, "and it is removed afterwards");
	world_done(&w);
}

/* Who stops it does not wait for what is of no use. */
static void test_stopped_meanwhile(void)
{
	struct outcome o = { 0 }, p = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "sleep", NULL);
	w.rt->hold = true;
	is_int(instance_hibernate(in, note_outcome, &o, &o.err), 0,
	       "hibernate");
	is_int(instance_stop(in, 1000, note_outcome, &p), 0, "then a stop");
	is_int(w.rt->breaks, 1, "which breaks it off");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, o.calls && p.calls);
	is_int(o.err.code, -EBUSY, "who asked hears of it");
	is_int(v.x.value, SIGTERM, "and it ends politely");
	world_done(&w);
}

/* All of them awake may be too many. */
static void test_stopped_with_all(bool destroyed)
{
	struct outcome o = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "sleep", NULL);
	is_int(hibernate_wait(&w, in), 0, "it hibernates");
	if (destroyed)
		is_int(instance_destroy(in, true, note_outcome, &o), 0,
		       "it is destroyed");
	else
		instances_stop_all(w.is, 1000, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls);
	is_int(o.err.code, 0, "it ends");
	is_int(w.rt->wakes, 0, "without being woken");
	is_int(v.x.value, SIGKILL, "as if it was killed");
	is_int((int)w.rt->removes, 1, "and is removed");
	world_done(&w);
}

/* The wake takes longer than the time limit of what woke it. */
static void test_exec_in_time(void)
{
	struct run_options o = run_of("sleep", NULL);
	struct err err = { 0 };
	struct watcher v, x = { 0 };
	struct world w;
	struct instance *in = world_one(&w);
	struct run *r;

	run_up(&w, &v, in, "sleep", NULL);
	is_int(hibernate_wait(&w, in), 0, "it hibernates");
	w.rt->hold = true;
	o.timeout_ms = 30;
	is_int(instance_exec(in, &o, &r, &err), 0, "exec");
	x.in = in;
	x.watch = run_watch_add(r, &watch_ops, &x);
	step_for(w.loop, 120);
	is_int(x.exited, 0, "its time does not pass while it is woken");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, x.exited);
	is_int(x.x.kind, LINK_TIMEOUT, "but then");
	run_options_done(&o);
	world_done(&w);
}

static void test_failed(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "cat", NULL);
	w.rt->no_hibernation = true;
	is_int(hibernate_wait(&w, in), -ENOTSUP, "not every sandbox can");
	w.rt->no_hibernation = false;
	w.rt->freeze_error = -ENOSPC;
	is_int(hibernate_wait(&w, in), -ENOSPC, "the disk is full");
	is_int(state_of(in), INSTANCE_RUNNING, "it runs on");
	w.rt->freeze_error = 0;
	is_int(pause_wait(&w, in, true), 0, "and can be paused:");
	is_int(w.rt->freezes, 1, "as one that is awake");
	is_int(pause_wait(&w, in, false), 0, "resumed");
	is_int(hibernate_wait(&w, in), 0, "and hibernate");
	w.rt->wake_error = -EIO;
	is_int(run_stdin(instance_main(in), "x", 1), 0, "input");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(state_of(in), INSTANCE_FAILED, "it does not come back");
	ok(strstr(instance_record(in)->reason,
		  "did not go on from hibernation"),
	   "it says so: %s", instance_record(in)->reason);
	world_done(&w);
}

int main(void)
{
	test_used();
	test_used_meanwhile();
	test_stopped();
	test_stopped_meanwhile();
	test_stopped_with_all(false);
	test_stopped_with_all(true);
	test_exec_in_time();
	test_failed();
	return done_testing();
}
