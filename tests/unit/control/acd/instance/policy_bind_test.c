/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_bind_test.c - a sandbox and its policy: bound before, changed
 * while it runs, gone after
 */
#include "tests/unit/control/acd/instance/instance_world.h"

#define OPEN "{\"mode\":\"open\",\"presets\":[],\"allow\":[],\"deny\":[]}"
#define HOST \
	"{\"mode\":\"\",\"presets\":[],\"allow\":[\"a.example\"],\"deny\":[]}"

static const char *stored(const struct instance *in)
{
	return instance_record(in)->egress_json;
}

static void test_run(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct instance *in;

	in = world_one(&w);
	fake.bind_slow = true;
	run_cmd(&v, in, "true", NULL);
	step_for(w.loop, 10);
	ok(fake.binds == 1 && w.rt->starts == 0,
	   "nothing starts before the policy holds");
	is_int(state_of(in), INSTANCE_STARTING, "it is starting");
	bind_answer(NULL);
	is_int(w.rt->starts, 1, "now it does");
	STEP_UNTIL(w.loop, v.begun.calls && !instance_is_live(in));
	ok(v.begun.err.code == 0 && fake.unbinds == 1,
	   "unbound when it is gone");
	world_done(&w);
}

static void test_refused(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct instance *in;

	in = world_one(&w);
	fake.bind_refused = true;
	run_cmd(&v, in, "true", NULL);
	STEP_UNTIL(w.loop, v.begun.calls && !instance_is_live(in));
	is_str(v.begun.err.msg, "x:1:1: no such preset", "the linter's words");
	is_int(state_of(in), INSTANCE_FAILED, "failed");
	is_int(w.rt->starts, 0, "nothing was started");
	fake.bind_refused = false;
	fake.bind_error = -ECONNREFUSED;
	v = (struct watcher){ 0 };
	is_int(run_cmd(&v, in, "true", NULL), -ECONNREFUSED, "no gateway");
	fake.bind_error = 0;
	instances_set_egress(w.is, NULL, NULL, NULL);
	is_int(run_cmd(&v, in, "true", NULL), -ENOTSUP, "none at all: %s",
	       v.begun.err.msg);
	instances_set_egress(w.is, &fake_egress, NULL, NULL);
	run_through(&w, &v, in, "true", NULL);
	is_int(v.begun.err.code, 0, "and now it runs %s", v.begun.err.msg);
	world_done(&w);
}

/* Stopped, or left by its client, while the gateway thinks. */
static void test_stop(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;

	in = world_one(&w);
	fake.bind_slow = true;
	run_cmd(&v, in, "true", NULL);
	instance_stop(in, 1000, note_outcome, &o);
	step_for(w.loop, 10);
	ok(o.calls == 0, "the gateway's answer is waited for");
	bind_answer(NULL);
	STEP_UNTIL(w.loop, o.calls);
	is_int(v.begun.err.code, -ECANCELED, "the caller of run is told");
	is_int(state_of(in), INSTANCE_STOPPED, "stopped");
	ok(w.rt->starts == 0 && fake.unbinds == 1,
	   "nothing was started, and the policy is gone");

	v = (struct watcher){ 0 };
	run_cmd(&v, in, "true", NULL);
	instance_run_cancel(in, &v);
	bind_answer(NULL);
	STEP_UNTIL(w.loop, !instance_is_live(in));
	ok(v.begun.calls == 0 && w.rt->starts == 0,
	   "a caller that has gone is not called");
	world_done(&w);
}

static void test_change(void)
{
	const struct err refused = { .code = -EINVAL, .msg = "x:1:1: no" };
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;
	struct err err = { 0 };
	int n;

	in = world_one(&w);
	is_int(instance_set_egress(in, HOST, note_outcome, &o, &err), 0,
	       "of one that does not run");
	ok(o.calls == 0, "told later");
	STEP_UNTIL(w.loop, o.calls);
	is_str(stored(in), HOST, "is stored");
	is_int(fake.binds, 0, "and bound with its next run");
	run_up(&w, &v, in, "sleep", NULL);
	is_str(fake.bound_json, HOST, "as it is");

	fake.bind_slow = true;
	is_int(instance_set_egress(in, OPEN, note_outcome, &o, &err), 0,
	       "of one that runs");
	is_str(stored(in), HOST, "not stored before it holds");
	is_int(instance_set_egress(in, NULL, note_outcome, &o, &err), -EBUSY,
	       "one by one: %s", err.msg);
	bind_answer(NULL);
	ok(o.calls == 2 && o.err.code == 0, "it holds");
	is_str(stored(in), OPEN, "and is stored");

	instance_set_egress(in, NULL, note_outcome, &o, &err);
	bind_answer(&refused);
	is_str(o.err.msg, "x:1:1: no", "refused: the linter's words");
	is_str(stored(in), OPEN, "the old one stays");
	instance_set_egress(in, NULL, note_outcome, &o, &err);
	bind_answer(NULL);
	ok(!stored(in), "taken back");
	fake.bind_slow = false;
	n = fake.binds;
	instance_stop(in, 0, note_outcome, &o);
	STEP_UNTIL(w.loop,
		   state_of(in) == INSTANCE_STOPPING || !instance_is_live(in));
	is_int(state_of(in), INSTANCE_STOPPING, "it stops");
	is_int(instance_set_egress(in, HOST, note_outcome, &o, &err), 0,
	       "a change while it stops %s", err.msg);
	is_str(stored(in), HOST, "is stored");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	ok(fake.binds == n, "and not bound");
	world_done(&w);
}

/* What cannot be stored is refused, and not told as done later. */
static void test_not_stored(void)
{
	struct world w;
	struct outcome o = { 0 };
	struct instance *in;
	struct err err = { 0 };

	in = world_one(&w);
	store_delete(w.store, "one", &err); /* behind its back */
	ok(instance_set_egress(in, HOST, note_outcome, &o, &err) < 0,
	   "the change fails: %s", err.msg);
	ok(!stored(in), "the old one stays");
	step_for(w.loop, 10);
	is_int(o.calls, 0, "and nothing comes later");
	world_done(&w);
}

/* It ends, or is destroyed, while its change is under way. */
static void test_change_and_end(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 }, stop = { 0 };
	struct instance *in;
	struct err err = { 0 };

	world_init(&w);
	in = world_create(&w, "one", true);
	run_up(&w, &v, in, "sleep", NULL);
	fake.bind_slow = true;
	instance_set_egress(in, OPEN, note_outcome, &o, &err);
	instance_stop(in, 0, note_outcome, &stop);
	STEP_UNTIL(w.loop, stop.calls && !instance_find(w.is, "one"));
	ok(!instance_find(w.is, "one"), "it is gone");
	bind_answer(NULL);
	ok(o.calls == 1 && o.err.code == -ENOENT, "which is told: %s",
	   o.err.msg);
	world_done(&w);
}

static void test_notice(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;
	struct err err = { 0 };
	json_t *j, *e;

	in = world_one(&w);
	run_through(&w, &v, in, "flood", "300000");
	is_int(v.notices, 0, "balanced: nothing is said");
	instance_set_egress(in, OPEN, note_outcome, &o, &err);
	run_through(&w, &v, in, "flood", "300000");
	is_int(v.notices, 1, "open: each run says it");
	ok(strstr(v.notice, "'ac policy learn one'"), "and with its name: %s",
	   v.notice);
	j = instance_json(in);
	e = json_object_get(j, "egress");
	is_str(json_string_value(json_object_get(e, "mode")), "open",
	       "and so does its record");
	json_decref(j);
	instance_set_egress(in, NULL, note_outcome, &o, &err);
	fake.blueprint_mode = EGRESS_OPEN;
	run_through(&w, &v, in, "flood", "300000");
	is_int(v.notices, 1, "also when the blueprint says so");
	fake.blueprint_mode = EGRESS_BALANCED;
	fake.warnings = "'a': denied\n'b': denied";
	run_through(&w, &v, in, "flood", "300000");
	is_int(v.notices, 2, "what will not be reached: a notice each");
	fake.warnings = NULL;
	run_through(&w, &v, in, "flood", "300000");
	is_int(v.notices, 0, "of that run alone");
	world_done(&w);
}

static unsigned breaches;

static void note_breach(void *arg, struct instance *in, const char *limit,
			const char *text)
{
	(void)arg;
	(void)in;
	breaches += limit && strcmp(limit, "credential") == 0 &&
		    strstr(text, "vaultd has ended");
}

static void test_vault_over(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct instance_event *e;
	struct instance *in;

	in = world_one(&w);
	e = instance_event_add(w.is, note_breach, NULL);
	run_through(&w, &v, in, "unvaulted", "0");
	ok(v.notices == 0 && breaches == 0, "vaultd serves: nothing is said");
	run_through(&w, &v, in, "unvaulted", "3");
	ok(v.notices == 1 && strstr(v.notice, "ac stop-instance one"),
	   "it has ended: one notice says what to do: %s", v.notice);
	is_int(breaches, 1, "and one event");
	run_through(&w, &v, in, "unvaulted", "1");
	ok(v.notices == 1 && breaches == 2, "and so in the next run");
	instance_event_free(e);
	world_done(&w);
}

int main(void)
{
	test_run();
	test_refused();
	test_stop();
	test_change();
	test_not_stored();
	test_change_and_end();
	test_notice();
	test_vault_over();
	return done_testing();
}
