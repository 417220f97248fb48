/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause_test.c - ends of all kinds, just when a sandbox is frozen
 */
#include "tests/unit/control/acd/instance/instance_world.h"

/* Its client goes while it is paused. */
static void test_abandoned(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "sleep", NULL);
	is_int(pause_wait(&w, in, true), 0, "paused");
	run_abandon(instance_main(in));
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(state_of(in), INSTANCE_STOPPED, "its client went: it ends");
	is_int(v.x.value, SIGTERM, "thawed, by the polite signal");
	is_str(instance_record(in)->reason, "its client went away", "why");
	is_int(w.rt->frozen_removes, 0, "and is removed thawed");
	world_done(&w);
}

/* The main process ends while the runtime is asked to freeze; then the link
 * goes as well. */
static void test_ended(bool link_goes)
{
	struct outcome p = { 0 };
	struct err err = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "cat", NULL);
	w.rt->hold = true;
	is_int(instance_pause(in, true, note_outcome, &p, &err), 0, "pause");
	run_stdin_eof(instance_main(in));
	STEP_UNTIL(w.loop, v.exited);
	is_int(link_exit_code(&v.x), 0, "it ends meanwhile");
	if (link_goes) {
		fake_guest_kill(w.rt->guest);
		step_for(w.loop, 20);
	}
	is_int(w.rt->removes, 0, "the runtime's answer is waited for");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(state_of(in), INSTANCE_STOPPED, "stopped");
	is_int(p.calls, 1, "who paused it hears,");
	is_int(p.err.code, -EBUSY, "that it has ended");
	is_int(w.rt->thaws, 1, "it is thawed");
	is_int(w.rt->frozen_removes, 0, "before it is removed");
	world_done(&w);
}

/* A freeze that failed may yet come true. */
static void test_failed(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "sleep", NULL);
	w.rt->freeze_error = -ETIMEDOUT;
	is_int(pause_wait(&w, in, true), -ETIMEDOUT, "the freeze fails");
	is_int(w.rt->thaws, 1, "a thaw is asked for before this is told");
	is_int(state_of(in), INSTANCE_RUNNING, "it counts as running");
	w.rt->freeze_error = 0;
	is_int(pause_wait(&w, in, false), 0, "resume");
	is_int(w.rt->thaws, 2, "asks again, as the thaw failed too");
	is_int(pause_wait(&w, in, false), 0, "once more");
	is_int(w.rt->thaws, 2, "asks nobody");

	w.rt->freeze_error = -ETIMEDOUT;
	is_int(pause_wait(&w, in, true), -ETIMEDOUT, "fails again");
	w.rt->freeze_error = 0;
	is_int(pause_wait(&w, in, true), 0, "and is tried again");
	is_int(w.rt->freezes, 3, "by the runtime");
	is_int(state_of(in), INSTANCE_PAUSED, "paused");
	is_int(pause_wait(&w, in, false), 0, "resumed");
	is_int(state_of(in), INSTANCE_RUNNING, "runs");
	world_done(&w);
}

int main(void)
{
	test_abandoned();
	test_ended(false);
	test_ended(true);
	test_failed();
	return done_testing();
}
