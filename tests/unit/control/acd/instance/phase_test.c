/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_test.c - how far an instance is, and who is waited for
 */
#include "control/shared/json.h"
#include "tests/unit/control/acd/instance/instance_world.h"

static void is_phase(const struct instance *in, const char *phase)
{
	is_str(instance_phase(in), phase, "%s", phase);
}

static void test_start(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);
	SCOPED_JSON shown = NULL;

	is_phase(in, "idle");
	fake.bind_slow = true;
	w.rt->hold = true;
	is_int(run_cmd(&v, in, "cat", NULL), 0, "run");
	is_phase(in, "policy");
	bind_answer(NULL);
	is_phase(in, "sandbox");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_RUNNING);
	is_phase(in, "running");
	shown = instance_json(in);
	is_str(jsonx_text_at(shown, "phase"), "running", "the API says so");
	is_int(pause_wait(&w, in, true), 0, "pause");
	is_phase(in, "paused");
	world_done(&w);
}

/* The runtime has not answered yet whether it froze the sandbox: whoever asks
 * for the end waits for that, the second as well as the first. */
static void test_thaw(void)
{
	struct outcome p = { 0 }, first = { 0 }, second = { 0 };
	struct err err = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "cat", NULL);
	w.rt->hold = true;
	is_int(instance_pause(in, true, note_outcome, &p, &err), 0, "pause");
	run_stdin_eof(instance_main(in));
	STEP_UNTIL(w.loop, v.exited);
	is_phase(in, "thaw");
	is_int(instance_stop(in, 0, note_outcome, &first), 0, "stop");
	is_int(instance_stop(in, 0, note_outcome, &second), 0, "and again");
	is_phase(in, "thaw");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, first.calls + second.calls == 2);
	is_int(state_of(in), INSTANCE_STOPPED, "it has ended by itself");
	is_phase(in, "idle");
	world_done(&w);
}

/* Each word that a guest is waited for with, and the end of one. */
static void test_guest(void)
{
	struct outcome o = { 0 };
	struct watcher v = { 0 };
	struct world w;
	struct instance *in = world_one(&w);

	w.rt->mood = FAKE_GUEST_SILENT;
	run_cmd(&v, in, "true", NULL);
	STEP_UNTIL(w.loop, w.rt->guest && w.rt->guest->fd >= 0);
	is_phase(in, "guest");
	ok(instances_busy(w.is), "a run is starting");
	w.rt->hold = true;
	fake_guest_kill(w.rt->guest);
	STEP_UNTIL(w.loop, strcmp(instance_phase(in), "guest") != 0);
	is_phase(in, "asked");
	instance_stop(in, 0, note_outcome, &o);
	is_phase(in, "asked");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, o.calls);
	is_int(v.begun.err.code, -ECANCELED, "stopped while it is asked");
	is_phase(in, "idle");
	world_done(&w);
}

static void test_end(void)
{
	struct outcome stop = { 0 }, clean = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "stubborn", NULL);
	ok(!instances_busy(w.is), "one that runs keeps nobody waiting");
	instance_stop(in, 600000, note_outcome, &stop);
	is_phase(in, "ending");
	w.rt->hold = true;
	run_signal(instance_main(in), SIGKILL);
	STEP_UNTIL(w.loop, v.exited);
	is_phase(in, "removal");
	ok(instances_busy(w.is), "its sandbox is being removed");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, stop.calls);
	is_phase(in, "idle");
	is_int(instance_clean(in, false, note_outcome, &clean), 0, "clean");
	is_phase(in, "files");
	ok(instance_is_leaving(in), "which is told");
	STEP_UNTIL(w.loop, clean.calls);
	is_phase(in, "idle");
	world_done(&w);
}

int main(void)
{
	test_start();
	test_thaw();
	test_guest();
	test_end();
	return done_testing();
}
