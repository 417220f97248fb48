/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_test.c - forks, snapshots and restores with what runs
 */
#include "control/acd/instance/snapshot/memory.h"
#include "tests/unit/control/acd/instance/instance_world.h"

#define WITH(of) (&(const struct snapshot_ask){ .tag = (of), .memory = true })

static json_t *grant_save(void *arg, const char *name)
{
	(void)arg;
	return json_pack("{s:s}", "of", name);
}

static char granted[64];

static int grant_load(void *arg, const struct instance_record *r,
		      const json_t *v, struct err *err)
{
	const char *of = json_string_value(json_object_get(v, "of"));

	(void)arg;
	snprintf(granted, sizeof(granted), "%s to %s", of ? of : "?", r->name);
	return strcmp(r->name, "poor") == 0 ?
		       err_set(err, -EINVAL, "nothing to grant") :
		       0;
}

static struct instance_egress_ops egress;

/* A world with "one", which runs `cat` in a terminal. */
static struct instance *world_up(struct world *w, struct watcher *v)
{
	struct instance *in = world_one(w);
	struct run_options o = run_of("cat", NULL);
	struct err err = { 0 };

	egress = fake_egress;
	egress.grant_save = grant_save;
	egress.grant_load = grant_load;
	instances_set_egress(w->is, &egress, NULL, NULL);
	*v = (struct watcher){ .in = in };
	o.tty = o.use_stdin = true;
	if (instance_run(in, &o, watch_begun, v, &err) < 0)
		ok(false, "%s", err.msg);
	STEP_UNTIL(w->loop, v->begun.calls);
	return in;
}

static int fork_one(struct world *w, struct instance *in, const char *tag,
		    const char *name)
{
	const char *const names[] = { name };
	struct outcome o = { 0 };
	int rc = instance_fork(in, WITH(tag), names, 1, note_outcome, &o,
			       &o.err);

	if (rc < 0)
		return rc;
	STEP_UNTIL(w->loop, o.calls);
	is_int(o.calls, 1, "fork: %s", o.err.msg);
	return o.err.code;
}

/* Runs @name from its memory. */
static int go_on(struct world *w, const char *name)
{
	struct run_options o = { .memory = true, .detached = true };
	struct outcome begun = { 0 };
	int rc = instance_run(instance_find(w->is, name), &o, note_outcome,
			      &begun, &begun.err);

	if (rc < 0)
		return rc;
	STEP_UNTIL(w->loop, begun.calls);
	return begun.err.code;
}

static void test_fork(void)
{
	struct watcher v, its = { 0 };
	struct world w;
	struct instance *in = world_up(&w, &v), *copy;

	is_int(fork_one(&w, in, NULL, "two"), 0, "a fork with memory");
	is_int(state_of(in), INSTANCE_RUNNING, "of what runs");
	ok(strstr(w.rt->written, "/.memory/:one"), "its memory was written");
	STEP_UNTIL(w.loop, !in->freeze.frozen);
	is_int(w.rt->resumes, 1, "and it goes on");
	ok(!exists(&w, ".memory", ":one"), "nothing is left where it was");
	ok(exists(&w, ".memory", "two"), "the other was given its memory");
	is_int(go_on(&w, "two"), 0, "and goes on");
	copy = instance_find(w.is, "two");
	is_int(state_of(copy), INSTANCE_RUNNING, "it runs");
	ok(strstr(w.rt->from_memory, "/.memory/two"), "from there");
	ok(!exists(&w, ".memory", "two"), "once");
	is_str(granted, "one to two", "with what was granted");
	is_str(copy->rec.cmd_json, "[\"cat\"]", "it says what runs");
	ok(copy->main->tty && copy->rec.detached, "in a terminal, detached");
	its.in = copy;
	its.watch = run_watch_add(instance_main(copy), &watch_ops, &its);
	is_int(run_stdin(instance_main(copy), "hello", 5), 0, "input");
	STEP_UNTIL(w.loop, its.bytes >= 5);
	ok(memcmp(its.text, "hello", 5) == 0, "reaches its process");
	world_done(&w);
}

static void test_snapshot(void)
{
	char made[SNAPSHOT_TAG_MAX + 1];
	struct outcome o = { 0 }, back = { 0 }, end = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_up(&w, &v);

	is_int(instance_snapshot(in, WITH("warm"), note_outcome, &o, made,
				 &o.err),
	       0, "a snapshot with memory");
	STEP_UNTIL(w.loop, o.calls);
	is_int(o.err.code, 0, "is made %s", o.err.msg);
	ok(exists(&w, ".snapshots/one/warm", "memory/state.json"),
	   "and has what acd knew");
	instance_stop(in, 0, note_outcome, &end);
	STEP_UNTIL(w.loop, end.calls);
	is_int(instance_restore(in, WITH("warm"), note_outcome, &back,
				&back.err),
	       0, "a restore with memory");
	STEP_UNTIL(w.loop, back.calls);
	is_int(back.err.code, 0, "ends well %s", back.err.msg);
	is_int(go_on(&w, "one"), 0, "it goes on");
	is_int(fork_one(&w, in, "warm", "two"), 0, "so does a fork of it");
	is_int(go_on(&w, "two"), 0, "later");
	is_int(w.rt->writes, 1, "for which nothing is written");
	world_done(&w);
}

static void test_refused(void)
{
	char made[SNAPSHOT_TAG_MAX + 1];
	struct outcome o = { 0 }, end = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_up(&w, &v);

	w.rt->keep_error = -ENOTSUP;
	is_int(fork_one(&w, in, NULL, "two"), -ENOTSUP, "the runtime says no");
	STEP_UNTIL(w.loop, !in->freeze.frozen);
	ok(!instance_find(w.is, "two") && !exists(&w, ".memory", "two"),
	   "nothing is left of the fork, and what ran goes on");
	w.rt->keep_error = 0;
	w.rt->no_hibernation = true;
	is_int(fork_one(&w, in, NULL, "two"), -ENOTSUP, "of another kind");
	is_int(state_of(in), INSTANCE_RUNNING, "runs on");
	w.rt->no_hibernation = false;
	is_int(pause_wait(&w, in, true), 0, "paused");
	is_int(fork_one(&w, in, NULL, "two"), -EBUSY, "its user paused it");
	is_int(pause_wait(&w, in, false), 0, "resumed");
	is_int(instance_snapshot(in, &(const struct snapshot_ask){ .tag = "t" },
				 note_outcome, &o, made, &o.err),
	       0, "a snapshot of files");
	STEP_UNTIL(w.loop, o.calls);
	is_int(fork_one(&w, in, "t", "two"), -ENOENT, "has no memory");
	instance_stop(in, 0, note_outcome, &end);
	STEP_UNTIL(w.loop, end.calls);
	is_int(fork_one(&w, in, NULL, "two"), -ENOTCONN, "nor has what ended");
	is_int(go_on(&w, "one"), -EINVAL, "none was given to it");
	world_done(&w);
}

/* A fork that does not go on has its files, and runs as any other. */
static void test_fails(void)
{
	struct watcher v, again = { 0 }, own = { 0 };
	int unbinds;
	struct world w;
	struct instance *in = world_up(&w, &v), *copy;

	is_int(go_on(&w, "one"), -EALREADY, "what runs does not begin");
	is_int(fork_one(&w, in, NULL, "two"), 0, "a fork");
	is_int(fork_one(&w, in, NULL, "poor"), 0, "another");
	is_int(fork_one(&w, in, NULL, "three"), 0, "a third");
	w.rt->start_error = -EIO;
	is_int(go_on(&w, "two"), -EIO, "does not go on");
	copy = instance_find(w.is, "two");
	STEP_UNTIL(w.loop, state_of(copy) == INSTANCE_FAILED);
	ok(!exists(&w, ".memory", "two"), "its memory is gone");
	w.rt->start_error = 0;
	is_int(go_on(&w, "two"), -EINVAL, "and there is no other");
	run_up(&w, &again, copy, "cat", NULL);
	is_int(state_of(copy), INSTANCE_RUNNING, "it begins anew");
	is_str(w.rt->from_memory, "", "from nothing");
	unbinds = fake.unbinds;
	is_int(go_on(&w, "poor"), -EINVAL, "that is granted nothing");
	is_int(fake.unbinds, unbinds + 1, "is not bound");
	run_up(&w, &own, instance_find(w.is, "three"), "cat", NULL);
	ok(!exists(&w, ".memory", "three"), "a run of its own drops a memory");
	world_done(&w);
}

/* It was being used, and asked for more than once. */
static void test_meanwhile(void)
{
	const char *const names[] = { "two", "three" };
	struct outcome o = { 0 }, end = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_up(&w, &v);

	w.rt->hold = true;
	is_int(instance_fork(in, WITH(NULL), names, 2, note_outcome, &o,
			     &o.err),
	       0, "two forks at once");
	is_int(run_stdin(instance_main(in), "typed", 5), 0, "something typed");
	step_for(w.loop, 10);
	w.rt->hold = false;
	STEP_UNTIL(w.loop, o.calls);
	is_int(o.err.code, 0, "does not end it %s", o.err.msg);
	STEP_UNTIL(w.loop, v.bytes >= 5);
	ok(memcmp(v.text, "typed", 5) == 0, "and comes where it should");
	o = (struct outcome){ 0 };
	w.rt->hold = true;
	is_int(instance_fork(in, WITH(NULL), &(const char *){ "four" }, 1,
			     note_outcome, &o, &o.err),
	       0, "a fork");
	instance_task_cancel(in, &o);
	w.rt->hold = false;
	STEP_UNTIL(w.loop, o.calls);
	is_int(o.err.code, -ECANCELED, "can be canceled");
	STEP_UNTIL(w.loop, !in->freeze.frozen);
	ok(!exists(&w, ".memory", "four"), "nothing is left");
	ok(!exists(&w, ".memory", ":one"), "nor of what was written");

	o = (struct outcome){ 0 };
	w.rt->hold = true;
	is_int(instance_fork(in, WITH(NULL), &(const char *){ "four" }, 1,
			     note_outcome, &o, &o.err),
	       0, "a fork");
	instance_stop(in, 0, note_outcome, &end);
	w.rt->hold = false;
	STEP_UNTIL(w.loop, o.calls && end.calls);
	ok(o.err.code < 0, "that was stopped meanwhile fails: %s", o.err.msg);
	ok(!instance_find(w.is, "four"), "and makes none");
	is_int(go_on(&w, "two"), 0, "one of the two goes on");
	is_int(go_on(&w, "three"), 0, "and the other");
	world_done(&w);
}

/* One that hibernates has written it already, and is not woken. */
static void test_asleep(void)
{
	struct outcome o = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_up(&w, &v);

	is_int(instance_hibernate(in, note_outcome, &o, &o.err), 0, "asleep");
	STEP_UNTIL(w.loop, o.calls);
	is_int(fork_one(&w, in, NULL, "two"), 0, "a fork");
	is_int(w.rt->writes, 0, "of what is written");
	is_int(state_of(in), INSTANCE_HIBERNATED, "wakes nothing");
	is_int(go_on(&w, "two"), 0, "and goes on");
	world_done(&w);
}

/* The one before has let it go on a moment ago. */
static void test_at_once(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = world_up(&w, &v);

	for (unsigned i = 0; i < 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "fork%u", i);
		is_int(fork_one(&w, in, NULL, name), 0, "one after the other");
	}
	STEP_UNTIL(w.loop, w.rt->resumes == 5);
	is_int(w.rt->resumes, 5, "each has let it go on");
	world_done(&w);
}

/* It ended before its sandbox counted as started. */
static void test_exits(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = world_up(&w, &v), *copy;

	is_int(fork_one(&w, in, NULL, "two"), 0, "a fork");
	w.rt->exits = true;
	is_int(go_on(&w, "two"), 0, "goes on");
	copy = instance_find(w.is, "two");
	STEP_UNTIL(w.loop, state_of(copy) == INSTANCE_STOPPED);
	is_int(state_of(copy), INSTANCE_STOPPED, "and ends at once");
	is_int(copy->rec.exit_code, 3, "with its own code");
	world_done(&w);
}

/* The runtime cannot write it, or cannot let it go on. */
static void test_runtime_fails(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = world_up(&w, &v);

	w.rt->write_error = -EIO;
	is_int(fork_one(&w, in, NULL, "two"), -EIO, "a write that fails");
	is_int(state_of(in), INSTANCE_RUNNING, "ends nothing");
	ok(!in->freeze.memory && !in->freeze.held && !in->freeze.frozen,
	   "nor does it leave anything");
	is_int(pause_wait(&w, in, true), 0, "it can be paused");
	is_int(w.rt->writes, 1, "without a write");
	is_int(pause_wait(&w, in, false), 0, "and resumed");
	w.rt->write_error = 0;
	w.rt->resume_error = -EIO;
	is_int(fork_one(&w, in, NULL, "two"), 0, "a fork");
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_PAUSED);
	is_int(state_of(in), INSTANCE_PAUSED, "that is not resumed says so");
	w.rt->resume_error = 0;
	is_int(pause_wait(&w, in, false), 0, "its user can resume it");
	is_int(state_of(in), INSTANCE_RUNNING, "then it runs");
	world_done(&w);
}

/* The time of what is asked of it stands still while it is written. */
static void test_slow_write(void)
{
	const struct session_limits l = { .sign_ms = 20, .pong_ms = 20 };
	struct outcome o = { 0 };
	struct watcher v, x = { 0 };
	struct run *r;
	struct world w;
	struct instance *in = world_up(&w, &v);

	session_set_limits(in->session, &l);
	w.rt->hold = true;
	is_int(instance_fork(in, WITH(NULL), &(const char *){ "two" }, 1,
			     note_outcome, &o, &o.err),
	       0, "a fork");
	fake_guest_freeze(w.rt->guest, true); /* gVisor pauses it first */
	is_int(exec_cmd(&x, in, "true", NULL, &r), 0, "an exec meanwhile");
	step_for(w.loop, 200);
	is_int(state_of(in), INSTANCE_RUNNING, "is not waited for");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, o.calls && x.exited);
	is_int(o.err.code, 0, "the fork is made %s", o.err.msg);
	is_int(x.exited, 1, "and the exec has run");
	world_done(&w);
}

static void test_given_once(void)
{
	char made[SNAPSHOT_TAG_MAX + 1];
	struct outcome o = { 0 }, end = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_up(&w, &v);

	instance_snapshot(in, WITH("warm"), note_outcome, &o, made, &o.err);
	STEP_UNTIL(w.loop, o.calls);
	STEP_UNTIL(w.loop, !in->freeze.frozen);
	instance_stop(in, 0, note_outcome, &end);
	STEP_UNTIL(w.loop, end.calls);
	o.calls = 0;
	instance_restore(in, WITH("warm"), note_outcome, &o, &o.err);
	STEP_UNTIL(w.loop, o.calls);
	ok(exists(&w, ".memory", "one"), "a restore gives a memory");
	o.calls = 0;
	instance_restore(in, &(const struct snapshot_ask){ .tag = "warm" },
			 note_outcome, &o, &o.err);
	STEP_UNTIL(w.loop, o.calls);
	ok(!exists(&w, ".memory", "one"), "which one of files alone takes");
	world_done(&w);
}

static void test_dumb(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = world_up(&w, &v);

	is_int(fork_one(&w, in, NULL, "two"), 0, "a fork");
	w.rt->dumb = true;
	{
		struct run_options o = { .memory = true, .detached = true };
		struct outcome begun = { 0 }, end = { 0 };
		struct instance *copy = instance_find(w.is, "two");

		is_int(instance_run(copy, &o, note_outcome, &begun, &begun.err),
		       0, "one that gives no sign of life");
		step_for(w.loop, 50);
		is_int(begun.calls, 0, "has not begun");
		instance_stop(copy, 0, note_outcome, &end);
		STEP_UNTIL(w.loop, begun.calls && end.calls);
		is_int(begun.err.code, -ECANCELED, "and can be stopped");
		is_int(state_of(copy), INSTANCE_STOPPED, "as any start");
	}
	world_done(&w);
}

int main(void)
{
	test_fork();
	test_snapshot();
	test_refused();
	test_fails();
	test_meanwhile();
	test_asleep();
	test_at_once();
	test_exits();
	test_runtime_fails();
	test_slow_write();
	test_given_once();
	test_dumb();
	return done_testing();
}
