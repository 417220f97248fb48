/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_test.c - the table of a run's steps, walked: what fails, is stopped or
 * cannot be undone at each of them
 *
 * The table is the real one, and so is all that its steps do but for the world
 * of instance_world.h; here it is noted what is begun and what is undone, and
 * one step does as the test says.
 */
#include "control/acd/instance/steps.h"

#include "tests/unit/control/acd/instance/instance_world.h"

enum mode {
	SOUND,
	REFUSES, /* begin fails at once */
	WAITS_FAILS, /* it waits, and its answer is an error */
	WAITS, /* until the test calls step_done() */
	STICKS, /* undo fails */
};

static struct {
	enum mode mode;
	enum step_id at; /* whose mode it is */
	enum step_id begun[STEPS], undone[STEPS];
	unsigned n_begun, n_undone;
} walk;

static struct step table[STEPS];

static void answer(void *arg, const struct err *err)
{
	step_done(arg, err);
}

static int begin_as_told(struct instance *in, struct err *err)
{
	const struct step *real = &instance_steps[in->steps.at];
	struct err late = { 0 };

	if (in->steps.at == walk.at && walk.mode == REFUSES)
		return err_set(err, -EIO, "not at '%s'", real->name);
	if (in->steps.at == walk.at && walk.mode == WAITS_FAILS) {
		err_set(&late, -EIO, "not later at '%s'", real->name);
		instances_later(in->is, answer, in, &late);
		return STEP_WAITS;
	}
	if (in->steps.at == walk.at && walk.mode == WAITS)
		return STEP_WAITS;
	return real->begin ? real->begin(in, err) : 0;
}

static int begin_noted(struct instance *in, struct err *err)
{
	int rc = begin_as_told(in, err);

	if (rc == 0 || rc == STEP_WAITS)
		walk.begun[walk.n_begun++ % STEPS] = in->steps.at;
	return rc;
}

static int undo_noted(struct instance *in, struct err *err)
{
	const struct step *real = &instance_steps[in->steps.at];
	bool sticks = walk.mode == STICKS && in->steps.at == walk.at;
	int rc;

	walk.undone[walk.n_undone++ % STEPS] = in->steps.at;
	rc = real->undo ? real->undo(in, err) : 0;
	if (rc == 0 && sticks)
		return err_set(err, -EIO, "'%s' stays", real->name);
	return rc;
}

static struct instance *walk_begin(struct world *w, enum mode mode,
				   enum step_id at)
{
	struct instance *in = world_one(w);
	size_t i;

	memset(&walk, 0, sizeof(walk));
	walk.mode = mode;
	walk.at = at;
	for (i = 0; i < STEPS; i++) {
		table[i] = instance_steps[i];
		table[i].begin = begin_noted;
		table[i].undo = undo_noted;
	}
	w->is->steps = table;
	return in;
}

/* What was begun, and nothing else, is undone, the last first. */
static bool is_reversed(void)
{
	unsigned i, n = walk.n_begun;

	if (n != walk.n_undone || n > STEPS)
		return false;
	for (i = 0; i < n; i++) {
		if (walk.begun[i] != walk.undone[n - 1 - i])
			return false;
	}
	return true;
}

/* Nothing is left of the run, and the next one is sound. */
static void is_as_before(struct world *w, struct instance *in)
{
	const char *name = instance_steps[walk.at].name;
	struct watcher v;

	ok(is_reversed(), "%s: what was begun is undone, backwards", name);
	ok(!in->rec.container_id && !in->session && !in->main && !in->paths &&
		   !in->ready_timer && in->link_fd < 0,
	   "%s: no sandbox is left", name);
	ok(w->rt->starts == w->rt->removes && fake.prepared <= fake.released &&
		   fake.binds <= fake.unbinds,
	   "%s: nor mounts, nor a policy", name);
	ok(in->phase == PHASE_IDLE && in->steps.begun == 0, "%s: idle", name);
	walk.mode = SOUND;
	run_through(w, &v, in, "true", NULL);
	ok(v.begun.err.code == 0 && v.exited == 1, "%s: the next one runs %s",
	   name, v.begun.err.msg);
}

static void test_table(void)
{
	size_t i;

	for (i = 0; i < STEPS; i++) {
		const struct step *s = &instance_steps[i];

		ok(s->name && (s->begin || s->undo), "step %zu: %s", i,
		   s->name ? s->name : "?");
		ok(!s->leave || s->waits != PHASE_IDLE,
		   "%s: what can be left waits", s->name);
	}
}

static void test_sound(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = walk_begin(&w, SOUND, STEP_STATE);

	run_through(&w, &v, in, "exit", "3");
	is_int(link_exit_code(&v.x), 3, "a run that ends by itself");
	is_int(walk.begun[walk.n_begun - 1], STEP_END, "has begun them all");
	is_as_before(&w, in);
	world_done(&w);
}

static void test_refuses(void)
{
	struct watcher v;
	struct world w;
	enum step_id i;

	for (i = STEP_STATE; i < STEP_END; i++) {
		struct instance *in = walk_begin(&w, REFUSES, i);
		const char *name = instance_steps[i].name;
		int rc;

		v = (struct watcher){ 0 };
		rc = run_cmd(&v, in, "true", NULL);
		if (rc == 0)
			STEP_UNTIL(w.loop, v.begun.calls);
		ok(v.begun.err.code == -EIO && v.begun.calls == (rc == 0),
		   "%s fails: its caller hears so once: %s", name,
		   v.begun.err.msg);
		STEP_UNTIL(w.loop, in->phase == PHASE_IDLE);
		is_int(state_of(in),
		       i <= STEP_RECORD ? INSTANCE_CREATED : INSTANCE_FAILED,
		       "%s: the record", name);
		is_as_before(&w, in);
		world_done(&w);
	}
}

static void test_fails_later(void)
{
	struct watcher v;
	struct world w;
	enum step_id i;

	for (i = STEP_PORTS; i <= STEP_GUEST; i++) {
		struct instance *in = walk_begin(&w, WAITS_FAILS, i);
		const char *name = instance_steps[i].name;

		v = (struct watcher){ 0 };
		is_int(run_cmd(&v, in, "true", NULL), 0, "%s waits", name);
		STEP_UNTIL(w.loop, v.begun.calls && in->phase == PHASE_IDLE);
		ok(v.begun.err.code == -EIO && v.begun.calls == 1,
		   "%s fails later: %s", name, v.begun.err.msg);
		is_int(state_of(in), INSTANCE_FAILED, "%s: failed", name);
		is_as_before(&w, in);
		world_done(&w);
	}
}

static void test_stopped(void)
{
	struct outcome o;
	struct watcher v;
	struct world w;
	enum step_id i;

	for (i = STEP_PORTS; i <= STEP_GUEST; i++) {
		struct instance *in = walk_begin(&w, WAITS, i);
		const struct step *s = &instance_steps[i];

		v = (struct watcher){ 0 };
		o = (struct outcome){ 0 };
		is_int(run_cmd(&v, in, "true", NULL), 0, "%s waits", s->name);
		STEP_UNTIL(w.loop, in->steps.at == i);
		is_int(in->phase, s->waits, "%s: and says so", s->name);
		instance_stop(in, 0, note_outcome, &o);
		ok(s->leave || v.begun.calls == 0,
		   "%s: a stop waits with it, unless it can be left", s->name);
		if (!s->leave)
			step_done(in, NULL);
		STEP_UNTIL(w.loop, o.calls);
		ok(v.begun.err.code == -ECANCELED && v.begun.calls == 1,
		   "%s: %s", s->name, v.begun.err.msg);
		ok(o.err.code == 0 && state_of(in) == INSTANCE_STOPPED,
		   "%s: stopped", s->name);
		is_as_before(&w, in);
		world_done(&w);
	}
}

/* It does not keep the rest from being undone. */
static void test_sticks(void)
{
	struct outcome o;
	struct watcher v;
	struct world w;
	enum step_id i;

	for (i = STEP_STATE; i < STEPS; i++) {
		struct instance *in = walk_begin(&w, STICKS, i);
		const char *name = instance_steps[i].name;

		if (!instance_steps[i].undo || instance_steps[i].undo_waits ||
		    i == STEP_MOUNTS_HELD || i == STEP_PORTS) {
			world_done(&w);
			continue; /* not undone, or the runtime's to say */
		}
		o = (struct outcome){ 0 };
		/* Without a file it has nothing to do, nor to undo. */
		fake.prompt = i == STEP_HOME ? "be" : NULL;
		run_up(&w, &v, in, "sleep", NULL);
		instance_stop(in, 0, note_outcome, &o);
		STEP_UNTIL(w.loop, o.calls);
		fake.prompt = NULL;
		is_int(o.err.code, -EIO, "%s: who stops it hears: %s", name,
		       o.err.msg);
		is_as_before(&w, in);
		world_done(&w);
	}
}

int main(void)
{
	test_table();
	test_sound();
	test_refuses();
	test_fails_later();
	test_stopped();
	test_sticks();
	return done_testing();
}
