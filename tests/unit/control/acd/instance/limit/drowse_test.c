/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drowse_test.c - what is still hibernates by itself, what works does not
 */
#include "tests/unit/control/acd/instance/instance_world.h"

#define LIMIT_MS 200

static struct instance *still_one(struct world *w, struct watcher *v)
{
	struct instance *in;

	world_init(w);
	in = world_create(w, "one", false);
	in->rec.hibernate_ms = LIMIT_MS;
	run_up(w, v, in, "cat", NULL);
	return in;
}

static void test_still(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = still_one(&w, &v);

	w.rt->stats.cpu_ns = 5000000000;
	for (int i = 0; i < 10; i++) {
		step_for(w.loop, LIMIT_MS / 4);
		run_stdin(instance_main(in), "x", 1);
	}
	is_int(w.rt->hibernations, 0, "input keeps it awake");
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_HIBERNATED);
	is_int(w.rt->hibernations, 1, "without, it hibernates");
	step_for(w.loop, 2 * LIMIT_MS);
	is_int(w.rt->wakes, 0, "until it is used");
	run_stdin(instance_main(in), "x", 1);
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_RUNNING);
	step_for(w.loop, LIMIT_MS / 2);
	is_int(w.rt->hibernations, 1, "then its time begins again");
	STEP_UNTIL(w.loop, w.rt->hibernations == 2);
	is_int(w.rt->hibernations, 2, "and it hibernates again");
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_HIBERNATED);
	world_done(&w);
}

static void test_busy(bool network)
{
	struct watcher v;
	struct world w;
	struct instance *in = still_one(&w, &v);

	for (int i = 0; i < 20; i++) {
		step_for(w.loop, LIMIT_MS / 8);
		if (network)
			w.rt->stats.rx_bytes += 10000;
		else
			w.rt->stats.cpu_ns += (uint64_t)LIMIT_MS * 1000000 / 16;
	}
	is_int(w.rt->hibernations, 0, "who uses the %s is awake",
	       network ? "network" : "processor");
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_HIBERNATED);
	is_int(w.rt->hibernations, 1, "and hibernates afterwards");
	world_done(&w);
}

/* It cannot, now or ever. */
static void test_cannot(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = still_one(&w, &v);

	w.rt->freeze_error = -ENOSPC;
	STEP_UNTIL(w.loop, w.rt->hibernations == 1);
	step_for(w.loop, 20);
	is_int(state_of(in), INSTANCE_RUNNING, "it runs on");
	w.rt->freeze_error = 0;
	STEP_UNTIL(w.loop, w.rt->hibernations == 2);
	is_int(w.rt->hibernations, 2, "and is tried later");
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_HIBERNATED);
	is_int(pause_wait(&w, in, false), 0, "resumed");
	w.rt->no_hibernation = true;
	step_for(w.loop, 2 * LIMIT_MS);
	is_int(state_of(in), INSTANCE_RUNNING, "one that cannot runs on");
	world_done(&w);
}

int main(void)
{
	test_still();
	test_busy(false);
	test_busy(true);
	test_cannot();
	return done_testing();
}
