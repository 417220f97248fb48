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

int main(void)
{
	test_start();
	test_thaw();
	return done_testing();
}
