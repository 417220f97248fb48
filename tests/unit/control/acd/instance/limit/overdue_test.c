/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overdue_test.c - paused, idle, expired, and too much output
 */
#include "tests/unit/control/acd/instance/instance_world.h"

struct breaches {
	int n;
	char limit[16];
	enum instance_state last;
};

static void note_breach(void *arg, struct instance *in, const char *limit,
			const char *text)
{
	struct breaches *b = arg;

	b->last = instance_record(in)->state;
	if (!limit)
		return;
	b->n++;
	snprintf(b->limit, sizeof(b->limit), "%s", limit);
	ok(text && *text, "the limit is told: %s", text);
}

/* Changes of the record that the next run has. */
static void limits_set(struct instance *in, uint64_t ttl_ms, uint64_t idle_ms,
		       uint64_t output)
{
	struct instance_record r = { 0 };
	struct err err = { 0 };

	if (instance_record_copy(&r, instance_record(in)) < 0)
		abort();
	r.ttl_ms = ttl_ms;
	r.idle_ms = idle_ms;
	r.output = output;
	ok(instance_update(in, &r, &err) == 0, "limits are set %s", err.msg);
	instance_record_done(&r);
}

static void test_pause(void)
{
	struct world w;
	struct watcher v, x = { 0 };
	struct outcome o = { 0 };
	struct instance *in;
	struct run *r;

	world_init(&w);
	in = world_create(&w, "one", false);
	is_int(pause_wait(&w, in, true), -ENOTCONN, "nothing runs");
	run_up(&w, &v, in, "sleep", NULL);
	is_int(pause_wait(&w, in, true), 0, "paused");
	is_int(state_of(in), INSTANCE_PAUSED, "so is its state");
	ok(instance_is_live(in) && instance_is_up(in), "it is alive");
	is_int(pause_wait(&w, in, true), 0, "twice is fine");
	is_int(w.rt->freezes, 1, "and asks nobody");
	is_int(exec_cmd(&x, in, "true", NULL, &r), INSTANCE_IS_PAUSED,
	       "no exec");
	is_int(run_cmd(&x, in, "true", NULL), INSTANCE_IS_PAUSED, "no run");
	ok(strstr(x.begun.err.msg, "ac resume one") != NULL,
	   "and the way out is told");
	is_int(pause_wait(&w, in, false), 0, "resumed");
	is_int(state_of(in), INSTANCE_RUNNING, "runs");
	is_int(exec_cmd(&x, in, "true", NULL, &r), 0, "exec");
	STEP_UNTIL(w.loop, x.exited);
	w.rt->freeze_error = -EIO;
	is_int(pause_wait(&w, in, true), -EIO, "the runtime cannot");
	is_int(state_of(in), INSTANCE_RUNNING, "it runs on");
	w.rt->freeze_error = 0;

	pause_wait(&w, in, true);
	is_int(instance_stop(in, 5000, note_outcome, &o), 0, "stop");
	STEP_UNTIL(w.loop, o.calls);
	ok(state_of(in) == INSTANCE_STOPPED && o.err.code == 0, "stopped");
	is_int(v.x.value, SIGTERM, "by the polite signal");
	is_int(w.rt->frozen_removes, 0, "thawed before it was removed");
	is_str(instance_record(in)->reason, "stopped", "why");
	world_done(&w);
}

/* The runtime is slow, or fails, just then. */
static void test_pause_races(void)
{
	struct world w;
	struct watcher v;
	struct outcome o = { 0 }, p = { 0 };
	struct err err = { 0 };
	struct instance *in;

	world_init(&w);
	in = world_create(&w, "one", false);
	run_up(&w, &v, in, "sleep", NULL);
	w.rt->hold = true;
	is_int(instance_pause(in, true, note_outcome, &p, &err), 0, "pause");
	is_int(instance_pause(in, false, note_outcome, &p, &err), -EBUSY,
	       "one at a time");
	instance_stop(in, 5000, note_outcome, &o);
	step_for(w.loop, 20);
	is_int(w.rt->removes, 0, "nothing is removed while it is asked");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, o.calls);
	is_int(state_of(in), INSTANCE_STOPPED, "stopped");
	ok(p.calls == 1 && p.err.code == -EBUSY, "the pause came too late");
	is_int(w.rt->frozen_removes, 0, "and was taken back");

	run_up(&w, &v, in, "sleep", NULL);
	pause_wait(&w, in, true);
	w.rt->freeze_error = -EIO;
	is_int(pause_wait(&w, in, false), -EIO, "it cannot be thawed");
	is_int(state_of(in), INSTANCE_PAUSED, "it stays as it is");
	o.calls = 0;
	instance_stop(in, 20, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls);
	is_int(state_of(in), INSTANCE_STOPPED, "but it can be stopped");
	w.rt->freeze_error = 0;
	w.rt->frozen = false;

	run_up(&w, &v, in, "sleep", NULL);
	is_int(state_of(in), INSTANCE_RUNNING, "and run again");
	is_int(pause_wait(&w, in, true), 0, "and be paused");
	fake_guest_kill(w.rt->guest);
	STEP_UNTIL(w.loop, v.exited);
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(state_of(in), INSTANCE_FAILED, "lost while it was paused");
	world_done(&w);
}

static void test_pause_time(void)
{
	struct world w;
	struct watcher v;
	struct instance *in;

	world_init(&w);
	fake.timeout_ms = 150;
	in = world_create(&w, "one", false);
	run_up(&w, &v, in, "sleep", NULL);
	pause_wait(&w, in, true);
	step_for(w.loop, 300);
	ok(v.exited == 0 && state_of(in) == INSTANCE_PAUSED,
	   "no time passes in it");
	pause_wait(&w, in, false);
	STEP_UNTIL(w.loop, v.exited);
	is_int(v.x.kind, LINK_TIMEOUT, "then it goes on");
	world_done(&w);
}

/* The command waits in the link for a sandbox that takes its time. */
static void test_start_time(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct instance *in;

	world_init(&w);
	fake.timeout_ms = 100;
	w.rt->mood = FAKE_GUEST_LATE;
	in = world_create(&w, "one", false);
	run_cmd(&v, in, "sleep", NULL);
	STEP_UNTIL(w.loop, w.rt->guest);
	step_for(w.loop, 200);
	ok(v.begun.calls == 0 && w.rt->guest->execs == 0, "it is not there");
	fake_guest_freeze(w.rt->guest, false);
	STEP_UNTIL(w.loop, v.begun.calls);
	is_int(v.begun.err.code, 0, "its start is no part of its time: %s",
	       v.begun.err.msg);
	is_int(w.rt->guest->last_signal, 0, "nobody has told it to end");
	STEP_UNTIL(w.loop, v.exited);
	is_int(v.x.kind, LINK_TIMEOUT, "then that passes");
	fake.timeout_ms = 0;
	world_done(&w);
}

static void test_idle(void)
{
	struct breaches b = { 0 };
	struct instance_event *e;
	struct watcher v;
	struct world w;
	struct instance *in;

	world_init(&w);
	in = world_create(&w, "one", false);
	e = instance_event_add(w.is, note_breach, &b);
	limits_set(in, 0, 150, 0);
	run_up(&w, &v, in, "cat", NULL);
	for (int i = 0; i < 10; i++) {
		step_for(w.loop, 50);
		run_stdin(instance_main(in), "x", 1);
	}
	is_int(state_of(in), INSTANCE_RUNNING, "input keeps it");
	STEP_UNTIL(w.loop, v.exited);
	is_int(link_exit_code(&v.x), 124, "without, it is ended");
	is_int(v.notices, 1, "and its user told");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_str(instance_record(in)->reason, "idle", "why");
	is_int(state_of(in), INSTANCE_STOPPED, "stopped");
	ok(b.n == 1 && strcmp(b.limit, "idle") == 0, "one event");

	run_up(&w, &v, in, "sleep", NULL);
	pause_wait(&w, in, true);
	step_for(w.loop, 250);
	is_int(state_of(in), INSTANCE_PAUSED, "who is frozen is not idle");
	instance_event_free(e);
	world_done(&w);
}

/* acd's own commands there, as ps for `ac top`, keep nothing. */
static void test_idle_looked_at(void)
{
	struct run_options o = run_of("true", NULL);
	struct watcher v;
	struct world w;
	struct instance *in;
	struct run *r;
	struct err err = { 0 };
	int looks = 0;

	world_init(&w);
	in = world_create(&w, "one", false);
	limits_set(in, 0, 150, 0);
	run_up(&w, &v, in, "sleep", NULL);
	o.unnoticed = true;
	while (looks < 50 && instance_exec(in, &o, &r, &err) == 0) {
		step_for(w.loop, 50);
		looks++;
	}
	ok(looks < 20, "idle although it is looked at (%d times)", looks);
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_str(instance_record(in)->reason, "idle", "why");
	run_options_done(&o);
	world_done(&w);
}

/* What has expired cannot be removed. */
static void test_ttl_sticks(void)
{
	struct breaches b = { 0 };
	struct instance_event *e;
	struct watcher v;
	struct world w;
	struct instance *in;

	world_init(&w);
	in = world_create(&w, "one", false);
	e = instance_event_add(w.is, note_breach, &b);
	limits_set(in, 100, 0, 0);
	w.rt->remove_error = -EIO;
	run_up(&w, &v, in, "sleep", NULL);
	STEP_UNTIL(w.loop, w.rt->removes > 0);
	for (int i = 0; i < 20; i++) {
		step_for(w.loop, 20);
		instance_life_arm(in);
		w.is->look_at_ms = 0;
		loop_timer_set(w.is->life_timer, 0);
	}
	ok(w.rt->removes <= 2, "not tried again at each look (%u)",
	   w.rt->removes);
	w.rt->remove_error = 0;
	for (int i = 0; i < 400 && state_of(in) != INSTANCE_EXPIRED; i++) {
		step_for(w.loop, 20);
		w.is->look_at_ms = 0;
		instance_life_arm(in);
	}
	is_int(state_of(in), INSTANCE_EXPIRED, "but later");
	is_int(b.n, 1, "one breach");
	instance_event_free(e);
	world_done(&w);
}

static void test_ttl(void)
{
	struct breaches b = { 0 };
	struct instance_event *e;
	struct watcher v;
	struct world w;
	struct instance *in;
	struct err err = { 0 };

	world_init(&w);
	in = world_create(&w, "one", false);
	e = instance_event_add(w.is, note_breach, &b);
	limits_set(in, 150, 0, 0);
	step_for(w.loop, 200);
	is_int(state_of(in), INSTANCE_CREATED, "what never ran stays");
	run_up(&w, &v, in, "sleep", NULL);
	for (int i = 0; i < 4; i++) {
		step_for(w.loop, 50);
		ok(instance_touch(in, &err) == 0, "touched");
	}
	is_int(state_of(in), INSTANCE_RUNNING, "which resets it");
	STEP_UNTIL(w.loop, v.exited);
	is_int(link_exit_code(&v.x), 124, "ended");
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_EXPIRED);
	is_int(state_of(in), INSTANCE_EXPIRED, "expired");
	is_str(instance_record(in)->reason, "ttl", "why");
	ok(exists(&w, "one", "workspace") && !exists(&w, "one", "home") &&
		   !exists(&w, "one", "log"),
	   "the workspace is kept, home and log are not");
	ok(b.n == 1 && strcmp(b.limit, "ttl") == 0, "one event");

	run_through(&w, &v, in, "exit", "3");
	is_int(state_of(in), INSTANCE_STOPPED, "it can be run again");
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_EXPIRED);
	ok(state_of(in) == INSTANCE_EXPIRED &&
		   instance_record(in)->exit_code == 3,
	   "and expires when it has stopped long before");
	is_str(instance_record(in)->reason, "exited", "how it ended is kept");

	world_close(&w);
	world_open(&w);
	in = instance_find(w.is, "one");
	is_int(state_of(in), INSTANCE_EXPIRED, "it stays so");
	world_done(&w);
	(void)e; /* went with the set */
}

/* A run that is refused is none: the time left is that of the one before. */
static void test_ttl_refused(void)
{
	struct watcher v;
	struct world w;
	struct instance *in;
	uint64_t since;

	world_init(&w);
	in = world_create(&w, "one", false);
	limits_set(in, 3600 * 1000, 0, 0);
	run_through(&w, &v, in, "exit", "0");
	since = in->life.since_ms;
	step_for(w.loop, 5);
	fake.image_missing = true;
	is_int(run_cmd(&v, in, "true", NULL), INSTANCE_NO_IMAGE, "refused");
	ok(in->life.since_ms == since, "its ttl counts from the run before");
	fake.image_missing = false;
	step_for(w.loop, 5);
	run_through(&w, &v, in, "exit", "0");
	ok(in->life.since_ms > since, "and from the next");
	world_done(&w);
}

/* Of a life before. */
static void test_ttl_later(void)
{
	struct watcher v;
	struct world w;
	struct instance *in;

	world_init(&w);
	in = world_create(&w, "one", false);
	limits_set(in, 1000, 0, 0);
	run_through(&w, &v, in, "true", NULL);
	world_close(&w);
	world_open(&w);
	in = instance_find(w.is, "one");
	is_int(state_of(in), INSTANCE_STOPPED, "not at once");
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_EXPIRED);
	is_int(state_of(in), INSTANCE_EXPIRED, "but not never");

	in = world_create(&w, "two", true);
	limits_set(in, 100, 0, 0);
	run_up(&w, &v, in, "sleep", NULL);
	STEP_UNTIL(w.loop, !instance_find(w.is, "two"));
	ok(!instance_find(w.is, "two") && !exists(&w, "two", ""),
	   "one made with --rm goes whole");
	world_done(&w);
}

static void test_output(void)
{
	struct breaches b = { 0 };
	struct instance_event *e;
	struct instance_log *log;
	struct err err = { 0 };
	static char block[65536];
	uint64_t logged = 0;
	struct watcher v, x = { 0 };
	struct world w;
	struct instance *in;
	struct run *r;
	ssize_t n;

	world_init(&w);
	in = world_create(&w, "one", false);
	e = instance_event_add(w.is, note_breach, &b);
	limits_set(in, 0, 0, 100000);
	run_up(&w, &v, in, "flood", "100000");
	STEP_UNTIL(w.loop, v.exited);
	is_int(link_exit_code(&v.x), 0, "exactly so much is allowed");
	is_int(b.n, 0, "and no event");
	STEP_UNTIL(w.loop, !instance_is_live(in));

	run_up(&w, &v, in, "flood", "90000000");
	STEP_UNTIL(w.loop, v.exited);
	is_int(link_exit_code(&v.x), 124, "more is not");
	is_int(v.bytes, 100000, "what is allowed is seen");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_str(instance_record(in)->reason, "output limit", "why");
	ok(b.n == 1 && strcmp(b.limit, "output") == 0, "one event");
	is_int(instance_log_open(in, INSTANCE_LOG_ALL, 0, NULL, NULL, &log,
				 &err),
	       0, "the log");
	while ((n = instance_log_read(log, block, sizeof(block), NULL)) > 0)
		logged += (uint64_t)n;
	is_int(logged, 100000, "has as much");
	instance_log_close(log);

	run_up(&w, &v, in, "sleep", NULL);
	exec_cmd(&x, in, "flood", "300000", &r);
	STEP_UNTIL(w.loop, x.exited);
	is_int(x.bytes, 300000, "an exec is not counted");
	instance_event_free(e);
	world_done(&w);
}

/* A limit below what was written already allows nothing more. */
static void test_output_lower(void)
{
	struct instance_record *r;
	struct watcher v;
	struct world w;
	struct instance *in;
	uint64_t bytes;

	world_init(&w);
	in = world_create(&w, "one", false);
	r = (struct instance_record *)(uintptr_t)instance_record(in);
	run_up(&w, &v, in, "flood", "90000000");
	STEP_UNTIL(w.loop, v.bytes > 0);
	bytes = v.bytes;
	r->output = 1;
	STEP_UNTIL(w.loop, v.exited);
	is_int(link_exit_code(&v.x), 124, "it is ended");
	is_int(v.bytes, bytes, "and no more is seen");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	world_done(&w);
}

/* A sandbox that was refused a task of the host dies of it. */
static void test_tasks(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct instance *in;

	world_init(&w);
	in = world_create(&w, "one", false);
	w.rt->end.tasks = true;
	run_up(&w, &v, in, "sleep", NULL);
	fake_guest_kill(w.rt->guest);
	STEP_UNTIL(w.loop, v.exited && !instance_is_live(in));
	ok(state_of(in) == INSTANCE_FAILED &&
		   strstr(instance_record(in)->reason,
			  "the machine refused more host tasks"),
	   "it is lost, and says why: %s", instance_record(in)->reason);
	world_done(&w);
}

int main(void)
{
	test_pause();
	test_pause_races();
	test_pause_time();
	test_start_time();
	test_idle();
	test_idle_looked_at();
	test_ttl();
	test_ttl_sticks();
	test_ttl_refused();
	test_ttl_later();
	test_output();
	test_output_lower();
	test_tasks();
	return done_testing();
}
