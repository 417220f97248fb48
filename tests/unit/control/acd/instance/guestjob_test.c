/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guestjob_test.c - a command of acd's own, and the end of its instance
 */
#include "control/acd/instance/guestjob.h"

#include "tests/unit/control/acd/instance/instance_world.h"

struct seen {
	int calls, code, exit;
	bool ended;
};

static void on_job(void *arg, const struct guestjob_result *result,
		   const struct err *err)
{
	struct seen *s = arg;

	s->calls++;
	s->code = err ? err->code : 0;
	s->exit = link_exit_code(result->exit);
	s->ended = result->ended;
}

static int job(struct world *w, struct instance *in, struct seen *s,
	       const char *cmd, const char *arg)
{
	const char *const argv[] = { cmd, arg, NULL };
	struct err err = { 0 };

	*s = (struct seen){ 0 };
	return guestjob_start(w->loop, in, argv, on_job, s, &err);
}

static void test_jobs(void)
{
	struct outcome o = { 0 };
	struct watcher v;
	struct seen s;
	struct world w;
	struct instance *in = world_one(&w);

	is_int(job(&w, in, &s, "true", NULL), -ENOTCONN, "nothing runs");
	run_up(&w, &v, in, "sleep", NULL);
	is_int(job(&w, in, &s, "exit", "3"), 0, "a job");
	STEP_UNTIL(w.loop, s.calls);
	ok(s.calls == 1 && s.code == 0 && s.exit == 3 && !s.ended,
	   "that fails by itself");
	is_int(job(&w, in, &s, "signal", "9"), 0, "another");
	STEP_UNTIL(w.loop, s.calls);
	ok(s.code == -EIO && !s.ended, "is killed, in an instance that runs");
	/* As kill(1) of the main process is: its sandbox goes at once. */
	is_int(job(&w, in, &s, "sleep", NULL), 0, "one more");
	instance_stop(in, 1000, note_outcome, &o);
	STEP_UNTIL(w.loop, s.calls);
	ok(s.calls == 1 && s.ended, "ends with the instance, and says so");
	STEP_UNTIL(w.loop, o.calls);
	world_done(&w);
}

int main(void)
{
	test_jobs();
	return done_testing();
}
