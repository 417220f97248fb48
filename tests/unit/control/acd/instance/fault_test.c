/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_test.c - what may go wrong around a sandbox, and when calls
 * come at a bad moment
 */
#include <sys/resource.h>

#include "tests/unit/control/acd/instance/instance_world.h"

static void test_start_error(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct instance *in;

	in = world_one(&w);
	w.rt->start_error = -ENOSPC;
	run_through(&w, &v, in, "true", NULL);
	ok(v.begun.calls == 1 && v.begun.err.code == -ENOSPC,
	   "the runtime's error reaches the caller");
	is_int(state_of(in), INSTANCE_FAILED, "failed");
	is_str(instance_record(in)->reason, "no sandbox today", "reason");
	is_int(instance_record(in)->exit_code, -1, "no exit code");
	is_int(w.rt->removes, 0, "nothing to remove");
	ok(fake.released > 0, "mounts are released");

	w.rt->start_error = 0;
	w.rt->mood = FAKE_GUEST_REFUSES;
	run_through(&w, &v, in, "true", NULL);
	ok(strstr(v.begun.err.msg, "unsafe runtime") != NULL,
	   "a guest that refuses says why: %s", v.begun.err.msg);
	is_int(w.rt->removes, 1, "its sandbox is removed");

	w.rt->mood = FAKE_GUEST_SOUND;
	run_through(&w, &v, in, "true", NULL);
	is_int(state_of(in), INSTANCE_STOPPED, "the next run is fine");
	ok(v.begun.err.code == 0 && v.exited == 1, "in all respects");
	world_done(&w);
}

static void test_noexec(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct instance *in;

	in = world_one(&w);
	run_through(&w, &v, in, "noexec", NULL);
	ok(v.begun.calls == 1 && v.begun.err.code == 0,
	   "a command that cannot be run has begun");
	ok(v.exited == 1 && link_exit_code(&v.x) == 127, "and ended: 127");
	is_int(v.started, 0, "without a start");
	is_int(instance_record(in)->exit_code, 127, "in the record, too");
	ok(strstr(instance_record(in)->reason, "No such file") != NULL,
	   "with the reason: %s", instance_record(in)->reason);
	world_done(&w);
}

static void test_lost(void)
{
	struct world w;
	struct watcher v = { 0 }, x = { 0 };
	struct instance *in;
	struct instance_log *log;
	struct err err = { 0 };
	char text[16] = "";
	struct run *r;

	in = world_one(&w);
	snprintf(w.rt->end.text, sizeof(w.rt->end.text), "sentry panicked");
	run_through(&w, &v, in, "vanish", NULL);
	ok(v.exited == 1 && v.x.kind == LINK_LOST, "a lost link is LOST");
	is_int(v.notices, 1, "with a word to the user");
	is_int(state_of(in), INSTANCE_FAILED, "failed");
	ok(strstr(instance_record(in)->reason, "lost: ") != NULL &&
		   strstr(instance_record(in)->reason, "sentry panicked") !=
			   NULL,
	   "the runtime's last words are in the reason: %s",
	   instance_record(in)->reason);
	is_int(instance_record(in)->exit_code, 125, "code");
	is_str(v.text, "last", "what was written before was seen");
	is_int(instance_log_open(in, INSTANCE_LOG_ALL, 0, NULL, NULL, &log,
				 &err),
	       0, "and is kept");
	instance_log_read(log, text, sizeof(text) - 1, NULL);
	is_str(text, "last", "in the log");
	instance_log_close(log);

	w.rt->end.oom = true;
	run_up(&w, &v, in, "sleep", NULL);
	exec_cmd(&x, in, "sleep", NULL, &r);
	fake_guest_kill(w.rt->guest);
	STEP_UNTIL(w.loop, v.exited);
	ok(v.x.kind == LINK_OOM && link_exit_code(&v.x) == 137, "OOM");
	is_int(x.x.kind, LINK_OOM, "is that of its execs, too");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_str(instance_record(in)->reason, "out of memory", "reason");
	is_int(state_of(in), INSTANCE_STOPPED, "stopped");

	run_through(&w, &v, in, "signal", "9");
	is_int(v.x.kind, LINK_OOM, "a KILL by nobody may be OOM");
	w.rt->end.oom = false;
	run_through(&w, &v, in, "signal", "9");
	ok(v.x.kind == LINK_SIGNALED && v.x.value == 9, "or not");

	run_through(&w, &v, in, "garbage", NULL);
	ok(v.x.kind == LINK_LOST && state_of(in) == INSTANCE_FAILED,
	   "a guest that sends garbage is lost");
	ok(strstr(instance_record(in)->reason, "malformed") != NULL,
	   "and told on: %s", instance_record(in)->reason);
	is_int(w.rt->removes, w.rt->starts, "no sandbox is left");
	world_done(&w);
}

static void test_lost_while_starting(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;

	in = world_one(&w);
	w.rt->mood = FAKE_GUEST_SILENT;
	snprintf(w.rt->end.text, sizeof(w.rt->end.text), "bad image");
	run_cmd(&v, in, "true", NULL);
	STEP_UNTIL(w.loop, w.rt->guest);
	fake_guest_kill(w.rt->guest);
	STEP_UNTIL(w.loop, v.begun.calls);
	ok(strstr(v.begun.err.msg, "bad image") != NULL,
	   "lost while starting: %s", v.begun.err.msg);
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(state_of(in), INSTANCE_FAILED, "failed");

	v = (struct watcher){ 0 };
	run_cmd(&v, in, "true", NULL);
	STEP_UNTIL(w.loop, w.rt->guest && w.rt->guest->fd >= 0);
	fake_guest_kill(w.rt->guest);
	step(w.loop);
	instance_stop(in, 0, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls);
	ok(v.begun.calls == 1 && !instance_is_live(in),
	   "stopped while it is being asked why");
	world_done(&w);
}

static void test_stop_while_starting(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;

	in = world_one(&w);
	w.rt->hold = true;
	run_cmd(&v, in, "true", NULL);
	STEP_UNTIL(w.loop, w.rt->starts);
	instance_stop(in, 1000, note_outcome, &o);
	step_for(w.loop, 10);
	ok(o.calls == 0 && v.begun.calls == 0, "the runtime is waited for");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, o.calls);
	is_int(v.begun.err.code, -ECANCELED, "the caller of run is told");
	is_int(state_of(in), INSTANCE_STOPPED, "stopped");
	is_int(w.rt->removes, 1, "what had been started is removed");

	v = (struct watcher){ 0 };
	w.rt->mood = FAKE_GUEST_SILENT;
	run_cmd(&v, in, "true", NULL);
	STEP_UNTIL(w.loop, w.rt->guest && w.rt->guest->fd >= 0);
	instance_stop(in, 1000, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls == 2);
	ok(v.begun.err.code == -ECANCELED && state_of(in) == INSTANCE_STOPPED,
	   "before its guest was ready");
	is_int(w.rt->removes, 2, "removed");

	v = (struct watcher){ 0 };
	run_cmd(&v, in, "true", NULL);
	STEP_UNTIL(w.loop, w.rt->starts == 3);
	instance_run_cancel(in, &v);
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(v.begun.calls, 0, "a caller that has gone is not called");
	is_int(w.rt->removes, 3, "and its run is undone");
	world_done(&w);
}

static void test_run_while_stopping(void)
{
	struct world w;
	struct watcher v = { 0 }, next = { 0 };
	struct outcome o = { 0 };
	struct instance *in;

	world_init(&w);
	in = world_create(&w, "one", true);
	run_up(&w, &v, in, "true", NULL);
	w.rt->hold = true;
	STEP_UNTIL(w.loop, v.exited);
	is_int(run_cmd(&next, in, "exit", "5"), 0, "a run while stopping");
	is_int(run_cmd(&next, in, "exit", "6"), -EALREADY, "but not two");
	step_for(w.loop, 10);
	ok(next.begun.calls == 0 && w.rt->starts == 1, "it waits");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, next.exited);
	is_int(link_exit_code(&next.x), 5, "and runs");
	STEP_UNTIL(w.loop, !instance_find(w.is, "one"));
	ok(!instance_find(w.is, "one"), "removed after the last run only");

	in = world_create(&w, "two", false);
	run_up(&w, &v, in, "stubborn", NULL);
	instance_stop(in, 60000, note_outcome, &o);
	next = (struct watcher){ 0 };
	run_cmd(&next, in, "true", NULL);
	run_signal(instance_main(in), 9);
	STEP_UNTIL(w.loop, next.exited);
	ok(next.exited == 1 && o.calls == 1, "stop, then run");

	STEP_UNTIL(w.loop, !instance_is_live(in));
	run_up(&w, &v, in, "true", NULL);
	w.rt->hold = true;
	STEP_UNTIL(w.loop, v.exited);
	next = (struct watcher){ 0 };
	run_cmd(&next, in, "true", NULL);
	instance_stop(in, 0, note_outcome, &o);
	is_int(next.begun.err.code, -ECANCELED, "a stop drops what waits");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, o.calls == 2);
	is_int(w.rt->starts, 5, "it never ran");
	world_done(&w);
}

static void test_removal_fails(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;

	in = world_one(&w);
	w.rt->remove_error = -EIO;
	run_up(&w, &v, in, "sleep", NULL);
	instance_stop(in, 1000, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls);
	ok(o.err.code == -EIO && instance_record(in)->container_id,
	   "a sandbox that cannot be removed is no silent success");
	is_int(state_of(in), INSTANCE_STOPPED, "the run is over, though");
	v = (struct watcher){ 0 };
	is_int(run_cmd(&v, in, "true", NULL), 0, "the next run");
	STEP_UNTIL(w.loop, v.begun.calls);
	is_int(v.begun.err.code, -EIO, "does not start beside it");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(instance_destroy(in, true, note_outcome, &o), 0, "destroy");
	STEP_UNTIL(w.loop, o.calls == 2);
	ok(o.err.code == -EIO && exists(&w, "one", "workspace"),
	   "leaves the files alone");
	w.rt->remove_error = 0;
	run_through(&w, &v, in, "true", NULL);
	ok(v.exited == 1 && !instance_record(in)->container_id,
	   "when it can be removed, all is well");
	world_done(&w);
}

static void test_removal_again(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;

	in = world_one(&w);
	w.rt->remove_error = -EIO;
	run_through(&w, &v, in, "true", NULL);
	ok(instance_record(in)->container_id, "a sandbox is left");
	instance_stop(in, 1000, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls);
	is_int(o.err.code, -EIO, "a stop tries again, and says so");
	is_int(state_of(in), INSTANCE_STOPPED, "the state is as it was");
	w.rt->remove_error = 0;
	instance_stop(in, 1000, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls == 2);
	ok(o.err.code == 0 && !instance_record(in)->container_id,
	   "until it is gone");

	w.rt->remove_error = -EIO;
	run_through(&w, &v, in, "true", NULL);
	w.rt->remove_error = 0;
	w.rt->listed[0] = instance_record(in)->container_id;
	w.rt->listed_name = "one";
	instances_reconcile(w.is, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls == 3);
	ok(o.err.code == 0 && !instance_record(in)->container_id,
	   "an engine that is up again removes it, too");

	run_up(&w, &v, in, "sleep", NULL);
	w.rt->removes = 0;
	w.rt->listed[0] = instance_record(in)->container_id;
	instances_reconcile(w.is, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls == 4);
	ok(w.rt->removes == 0 && state_of(in) == INSTANCE_RUNNING,
	   "but none that is live");
	world_done(&w);
}

static void test_store_fails(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;
	struct err err = { 0 };

	in = world_one(&w);
	store_delete(w.store, "one", &err); /* behind its back */
	is_int(run_cmd(&v, in, "true", NULL), -ENOENT,
	       "what cannot be recorded is not started");
	is_int(w.rt->starts, 0, "indeed");
	is_int(state_of(in), INSTANCE_FAILED, "and says so");

	in = world_create(&w, "two", false);
	w.rt->hold = true;
	v = (struct watcher){ 0 };
	run_cmd(&v, in, "sleep", NULL);
	store_delete(w.store, "two", &err);
	w.rt->hold = false;
	STEP_UNTIL(w.loop, v.begun.calls);
	is_int(v.begun.err.code, -ENOENT, "nor goes it on");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(w.rt->removes, 1, "its sandbox is removed");

	in = world_create(&w, "three", false);
	run_up(&w, &v, in, "sleep", NULL);
	store_delete(w.store, "three", &err);
	instance_stop(in, 1000, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls);
	is_int(o.err.code, -ENOENT, "a stop that is not recorded is an error");
	is_int(v.exited, 1, "but a stop");
	world_done(&w);
}

/* After a kill -9, before the engine is up. */
static void test_lost_before_reconcile(void)
{
	struct world w;
	struct outcome o = { 0 };
	struct instance_record r;
	struct instance *in;
	struct err err = { 0 };
	size_t i;

	world_init(&w);
	for (i = 0; i < 2; i++) {
		in = world_create(&w, i ? "stopping" : "running", false);
		instance_record_copy(&r, instance_record(in));
		r.state = i ? INSTANCE_STOPPING : INSTANCE_RUNNING;
		store_update(w.store, &r, &err);
		instance_record_done(&r);
	}
	world_close(&w);
	world_open(&w);
	is_int(instances_live(w.is), 0, "nothing lives before it is asked");
	instance_stop(instance_find(w.is, "running"), 0, note_outcome, &o);
	instance_destroy(instance_find(w.is, "stopping"), false, note_outcome,
			 &o);
	instances_stop_all(w.is, 60000, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls == 3);
	ok(o.calls == 3 && !instance_find(w.is, "stopping") &&
		   w.rt->removes == 0,
	   "stop, removal and shutdown wait for nothing");
	world_done(&w);
}

static const struct {
	const char *name;
	enum instance_state state;
	bool auto_remove;
} left[] = {
	{ "created", INSTANCE_CREATED, true },
	{ "starting", INSTANCE_STARTING, false },
	{ "running", INSTANCE_RUNNING, false },
	{ "stopping", INSTANCE_STOPPING, false },
	{ "stopped", INSTANCE_STOPPED, false },
	{ "throwaway", INSTANCE_RUNNING, true },
};

static void test_reconcile(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance_record r;
	struct instance *in;
	struct err err = { 0 };
	size_t i;

	world_init(&w);
	for (i = 0; i < ARRAY_SIZE(left); i++) {
		in = world_create(&w, left[i].name, left[i].auto_remove);
		instance_record_copy(&r, instance_record(in));
		r.state = left[i].state;
		store_update(w.store, &r, &err);
		instance_record_done(&r);
	}
	/* As after a kill -9. */
	world_close(&w);
	world_open(&w);
	w.rt->listed[0] = "stray-1";
	w.rt->listed[1] = "stray-2";
	is_int(instances_reconcile(w.is, note_outcome, &o), 0, "reconcile");
	STEP_UNTIL(w.loop, o.calls);
	is_int(o.err.code, 0, "done");
	is_int(w.rt->removes, 2, "what still ran was removed");
	is_int(instances_live(w.is), 0, "nothing lives");
	for (i = 1; i < 4; i++) {
		in = instance_find(w.is, left[i].name);
		ok(state_of(in) == INSTANCE_FAILED &&
			   strstr(instance_record(in)->reason, "lost: ") !=
				   NULL,
		   "%s is lost", left[i].name);
	}
	is_int(state_of(instance_find(w.is, "stopped")), INSTANCE_STOPPED,
	       "what had ended is as it was");
	STEP_UNTIL(w.loop, !instance_find(w.is, "throwaway"));
	ok(!instance_find(w.is, "throwaway"), "a throw-away is gone");
	ok(instance_find(w.is, "created") != NULL, "one that never ran not");
	run_through(&w, &v, instance_find(w.is, "running"), "true", NULL);
	is_int(v.exited, 1, "a lost one runs again");
	world_done(&w);
}

static void test_stop_all(void)
{
	struct world w;
	struct watcher v[3] = { { 0 } };
	struct outcome o = { 0 };
	struct instance *in;

	world_init(&w);
	instances_stop_all(w.is, 10, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls);
	is_int(o.calls, 1, "nothing to stop");
	in = world_create(&w, "one", false);
	run_up(&w, &v[0], in, "stubborn", NULL);
	in = world_create(&w, "two", false);
	run_cmd(&v[1], in, "sleep", NULL);
	STEP_UNTIL(w.loop, w.rt->starts == 2);
	is_int(instances_live(w.is), 2, "two live");
	instances_stop_all(w.is, 10, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls == 2);
	ok(instances_live(w.is) == 0 && o.err.code == 0, "all stopped");
	is_int(w.rt->removes, 2, "all removed");
	world_done(&w);
}

static void test_causes(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;
	unsigned waited;

	world_init(&w);
	fake.timeout_ms = 1;
	in = world_create(&w, "one", false);
	w.rt->end.oom = true;
	run_up(&w, &v, in, "stubborn", NULL);
	STEP_UNTIL(w.loop, w.rt->guest->last_signal == SIGCONT);
	is_int(w.rt->guest->last_signal, SIGCONT, "its time is over");
	fake_guest_kill(w.rt->guest);
	STEP_UNTIL(w.loop, v.exited);
	is_int(v.x.kind, LINK_OOM, "but memory ran out first");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	waited = w.rt->lost_ends;
	is_int(waited, 1, "a lost sandbox is waited for");

	fake.timeout_ms = 0;
	in = world_create(&w, "two", false);
	run_through(&w, &v, in, "signal", "9");
	ok(w.rt->lost_ends == waited && w.rt->ends > waited,
	   "one that is fine is not");

	run_up(&w, &v, in, "stubborn", NULL);
	instance_stop(in, 20, note_outcome, &o);
	instance_stop(in, 600000, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls == 2);
	ok(o.calls == 2 && v.x.value == SIGKILL,
	   "a second, patient stop does not put off the first");
	world_done(&w);
}

/* A disk that is full; the store is smaller than the limit. */
static void test_log_not_written(void)
{
	struct rlimit was, low;
	struct world w;
	struct watcher v = { 0 };
	struct instance *in;

	in = world_one(&w);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	low = was;
	low.rlim_cur = 2u << 20;
	setrlimit(RLIMIT_FSIZE, &low);
	run_through(&w, &v, in, "flood", "2000000");
	is_int(v.notices, 0, "a log that holds it all is no news");
	run_through(&w, &v, in, "flood", "3000000");
	setrlimit(RLIMIT_FSIZE, &was);
	is_int(v.bytes, 3000000, "what the log cannot hold is seen");
	ok(v.exited == 1 && v.notices == 1, "and said to be missing there");
	world_done(&w);
}

static void test_other_workspace(void)
{
	char first[] = "/srv/first", second[] = "/srv/second";
	struct world w;
	struct instance *in;
	struct instance_record r;
	struct err err = { 0 };

	world_init(&w);
	fake.external_here = true;
	in = world_create(&w, "one", false);
	ok(!fake.external_here, "a new instance has no workspace of before");
	r = *instance_record(in);
	r.workspace = first;
	is_int(instance_update(in, &r, &err), 0, "it gets one");
	fake.external_here = true;
	r = *instance_record(in);
	r.pids++;
	is_int(instance_update(in, &r, &err), 0, "a change beside it");
	ok(fake.external_here, "keeps what was sent");
	r = *instance_record(in);
	r.workspace = second;
	is_int(instance_update(in, &r, &err), 0, "another directory");
	ok(!fake.external_here, "has to be sent itself");
	world_done(&w);
}

static void note_stats(void *arg, const struct runtime_stats *st,
		       const struct err *err)
{
	if (!err)
		*(struct runtime_stats *)arg = *st;
}

/* The end of acd while things are under way: nothing leaks. */
static void test_free_midway(void)
{
	struct world w;
	struct watcher v = { 0 }, x = { 0 };
	struct runtime_stats st = { 0 };
	struct instance *in;
	struct run *r;

	in = world_one(&w);
	is_int(instance_stats(in, note_stats, &st), -ENOTCONN, "no figures");
	run_up(&w, &v, in, "sleep", NULL);
	w.rt->stats.memory = 77;
	is_int(instance_stats(in, note_stats, &st), 0, "figures");
	STEP_UNTIL(w.loop, st.memory);
	is_int(st.memory, 77, "of the runtime");
	exec_cmd(&x, in, "sleep", NULL, &r);
	in = world_create(&w, "two", false);
	run_cmd(&x, in, "sleep", NULL);
	world_done(&w);
	ok(v.exited == 1 && v.x.kind == LINK_LOST, "watchers hear of it");
}

int main(void)
{
	test_start_error();
	test_noexec();
	test_lost();
	test_lost_while_starting();
	test_stop_while_starting();
	test_run_while_stopping();
	test_removal_fails();
	test_removal_again();
	test_store_fails();
	test_lost_before_reconcile();
	test_reconcile();
	test_stop_all();
	test_causes();
	test_log_not_written();
	test_other_workspace();
	test_free_midway();
	return done_testing();
}
