/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.c - one table of what a run takes, forwards and backwards
 *
 * Theory of operation: a start begins one step after the other. A step is done
 * at once, or waits until step_done() is called: for ac-edge, the child of the
 * disk limit or of the home, the gateway, the runtime, the sandbox. The last step
 * waits for the main run. When that has ended, a step has failed or an end is asked for, all
 * that was begun is undone, last to first; an undo may wait as well.
 *
 *	begin →  state … ports → disk … policy → home → sandbox → guest → run → end ┐
 *	undo  ←  state … ports ← disk … policy ← home ← sandbox ← guest ← run ← end ┘
 *
 * Each question gets exactly one answer, and nothing is undone before that: an
 * end that is asked for meanwhile waits with the step. Only a step with `leave`
 * is undone at once.
 *
 * Three ways lead back. They differ in what is told:
 *
 *	refused()    before anything has waited: the caller of the start gets
 *	             the error; an instance that says "starting" has failed
 *	turn_back()  later: the callback of the run, or its watchers
 *	again()      only to the sandbox: one of the pool is lost, and the
 *	             start goes on with a new one; nothing is told
 *
 * What a step does is in a file of its own, which calls nothing of this one but
 * step_done() and instance_end().
 */
#include "control/acd/instance/steps.h"

#include <string.h>
#include <time.h>

#include "control/acd/instance/instance_impl.h"
#include "control/shared/json.h"
#include "lib/log.h"

/* ---- what the record says ---- */

static int state_keep(struct instance *in, struct err *err)
{
	(void)err;
	in->final = in->rec.state;
	return 0;
}

static int state_settle(struct instance *in, struct err *err)
{
	if (in->rec.state == in->final)
		return 0;
	instance_set_state(in, in->final);
	return instance_save(in, err);
}

/* The blueprint is known only then. */
static int check(struct instance *in, struct err *err)
{
	int rc = instance_check(in, err);

	if (rc == 0 && in->asked.options.memory)
		rc = instance_memory_load(in, err);
	return rc < 0 ? rc :
			run_options_complete(&in->bp, &in->asked.options, err);
}

/* Behind the check: a refused start does not extend the ttl. */
static int time_begin(struct instance *in, struct err *err)
{
	(void)err;
	instance_life_start(in);
	return 0;
}

static int record_options(struct instance *in, const struct run_options *o,
			  struct err *err)
{
	SCOPED_JSON cmd = jsonx_from_strv(run_argv(in, o));
	char *text;

	text = cmd ? json_dumps(cmd, JSON_COMPACT) : NULL;
	if (!text)
		return err_nomem(err);
	free(in->rec.cmd_json);
	free(in->rec.reason);
	in->rec.cmd_json = text;
	in->rec.reason = NULL;
	in->rec.tty = o->tty;
	in->rec.detached = o->detached;
	in->rec.exit_code = -1;
	in->rec.started_at = in->rec.finished_at = 0;
	return 0;
}

static int record_starting(struct instance *in, struct err *err)
{
	int rc = record_options(in, &in->asked.options, err);

	if (rc < 0)
		return rc;
	instance_set_state(in, INSTANCE_STARTING);
	return instance_save(in, err);
}

/* Stored while the process starts: it need not wait for the store. */
static int record_running(struct instance *in, struct err *err)
{
	in->rec.started_at = time(NULL);
	in->rec.runs++;
	instance_set_state(in, INSTANCE_RUNNING);
	if (in->main)
		run_limit_begin(in->main);
	instance_life_start(in);
	return instance_save(in, err);
}

static int end_wait(struct instance *in, struct err *err)
{
	(void)in;
	(void)err;
	return STEP_WAITS;
}

/* A port is closed before the end of the run is told. */
static int run_end(struct instance *in, struct err *err)
{
	instance_ports_undo(in, err);
	return instance_run_conclude(in, err);
}

/* ---- the log ---- */

static int log_end(struct instance *in, struct err *err)
{
	(void)err;
	instance_log_end(in);
	return 0;
}

/* Before the sandbox is removed, for the readers of the log. If another sandbox
 * follows, the log goes on. */
static int output_end(struct instance *in, struct err *err)
{
	if (in->rec.state == INSTANCE_STARTING)
		return 0;
	return log_end(in, err);
}

/* ---- the table ---- */

/* What can be refused is refused before the record says "starting". So the
 * mounts come early, unless a child has to put the disk limit below them into
 * effect first. */
const struct step instance_steps[STEPS] = {
	[STEP_STATE] = { .name = "state",
			 .begin = state_keep,
			 .undo = state_settle },
	[STEP_CHECK] = { .name = "check", .begin = check },
	[STEP_TIME] = { .name = "time", .begin = time_begin },
	[STEP_PLACE] = { .name = "place", .begin = instance_place_begin },
	[STEP_DISK] = { .name = "disk", .begin = instance_disk_begin },
	[STEP_POOL] = { .name = "pool", .begin = instance_pool_begin },
	[STEP_MOUNTS] = { .name = "mounts",
			  .begin = instance_mounts_begin,
			  .undo = instance_mounts_undo },
	[STEP_LOG] = { .name = "log",
		       .begin = instance_log_start,
		       .undo = log_end },
	[STEP_RECORD] = { .name = "record", .begin = record_starting },
	/* Of the steps that wait the first: a port that is taken costs nothing
	 * but this. */
	[STEP_PORTS] = { .name = "ports",
			 .begin = instance_ports_begin,
			 .undo = instance_ports_undo,
			 .waits = PHASE_PORTS,
			 .leave = true },
	[STEP_DISK_HOLD] = { .name = "disk, held",
			     .begin = instance_disk_hold,
			     .waits = PHASE_DISK,
			     .hurry = instance_disk_cancel },
	[STEP_MOUNTS_HELD] = { .name = "mounts, held",
			       .begin = instance_mounts_held_begin,
			       .undo = instance_mounts_undo },
	[STEP_POLICY] = { .name = "policy",
			  .begin = instance_egress_begin,
			  .undo = instance_egress_undo,
			  .waits = PHASE_POLICY },
	[STEP_HOME] = { .name = "home",
			.begin = instance_home_begin,
			.undo = instance_home_undo,
			.waits = PHASE_HOME },
	[STEP_SANDBOX] = { .name = "sandbox",
			   .begin = instance_sandbox_begin,
			   .undo = instance_sandbox_undo,
			   .waits = PHASE_SANDBOX,
			   .undo_waits = PHASE_REMOVAL },
	[STEP_OUTPUT] = { .name = "output", .undo = output_end },
	[STEP_FREEZE] = { .name = "freeze",
			  .undo = instance_freeze_undo,
			  .undo_waits = PHASE_THAW },
	[STEP_GUEST] = { .name = "guest",
			 .begin = instance_guest_begin,
			 .undo = instance_guest_undo,
			 .waits = PHASE_GUEST,
			 .leave = true },
	[STEP_RUN] = { .name = "run",
		       .begin = record_running,
		       .undo = run_end },
	[STEP_END] = { .name = "end",
		       .begin = end_wait,
		       .undo = instance_end_ask,
		       .waits = PHASE_UP,
		       .undo_waits = PHASE_ASKED,
		       .hurry = instance_end_hurry },
};

/* ---- forwards ---- */

/* Returns 0 if all are done, STEP_WAITS, or the failure of the current step. */
static int forward(struct instance *in, struct err *err)
{
	struct instance_steps *s = &in->steps;
	const struct step *step;
	int rc;

	for (; s->at < STEPS; s->at++) {
		if (step_is_begun(in, s->at))
			continue; /* before the sandbox was replaced */
		step = &in->is->steps[s->at];
		rc = step->begin ? step->begin(in, err) : 0;
		if (rc < 0)
			return rc;
		if (rc == STEP_NOTHING)
			continue;
		s->begun |= 1u << s->at;
		if (rc == STEP_WAITS) {
			in->phase = step->waits;
			return rc;
		}
	}
	return 0;
}

/* ---- backwards ---- */

static void undone(struct instance *in, const struct err *err)
{
	struct instance_steps *s = &in->steps;

	s->begun &= ~(1u << s->at);
	if (!err)
		return;
	log_error("%s", err->msg);
	if (s->failed.code == 0)
		s->failed = *err;
}

/* Returns false if an undo waits. */
static bool backward(struct instance *in)
{
	struct instance_steps *s = &in->steps;
	const struct step *step;
	int rc = 0;

	for (;; s->at--) {
		struct err err = { 0 };

		step = &in->is->steps[s->at];
		if (step_is_begun(in, s->at)) {
			rc = step->undo ? step->undo(in, &err) : 0;
			if (rc == STEP_WAITS) {
				in->phase = s->floor > 0 ? PHASE_REPLACED :
							   step->undo_waits;
				return false;
			}
			undone(in, rc < 0 ? &err : NULL);
		}
		if (s->at == s->floor)
			return true;
	}
}

static void back_begin(struct instance *in, enum step_id floor)
{
	struct instance_steps *s = &in->steps;

	/* A sandbox of the pool brought both, before these steps. */
	if (in->rec.container_id)
		s->begun |= 1u << STEP_SANDBOX;
	if (in->session)
		s->begun |= 1u << STEP_GUEST;
	s->failed = (struct err){ 0 };
	s->floor = floor;
	s->at = STEPS - 1;
	s->back = true;
}

static void through(struct instance *in);

static void go_back(struct instance *in)
{
	if (backward(in))
		through(in);
}

static void turn_back(struct instance *in)
{
	back_begin(in, 0);
	in->phase = PHASE_ENDING;
	if (!step_is_begun(in, STEP_RUN))
		instance_start_failed(in);
	go_back(in);
}

static void again(struct instance *in)
{
	back_begin(in, STEP_SANDBOX);
	go_back(in);
}

static void go_forward(struct instance *in)
{
	struct err err = { 0 };
	int rc = forward(in, &err);

	if (rc == STEP_WAITS)
		return;
	if (rc == STEP_AGAIN) {
		again(in);
		return;
	}
	if (rc < 0)
		in->why = err;
	turn_back(in);
}

/* Nothing runs any more: does what was asked for meanwhile. */
static void ended(struct instance *in)
{
	struct err failed = in->steps.failed;

	in->steps = (struct instance_steps){ 0 };
	in->phase = PHASE_IDLE;
	instance_memory_over(in);
	if (failed.code < 0) {
		in->clean = CLEAN_NOT;
		in->discard = false;
		instance_wake(in, &failed);
		instance_start_next(in, &failed);
	} else if (in->next.fn) {
		instance_wake(in, NULL);
		instance_start_next(in, NULL);
	} else {
		instance_clean_now(in);
	}
}

static void replaced(struct instance *in)
{
	struct instance_steps *s = &in->steps;

	s->back = false;
	s->floor = 0;
	if (s->failed.code < 0 && !s->end_wanted)
		in->why = s->failed;
	if (s->failed.code < 0 || s->end_wanted) {
		turn_back(in);
		return;
	}
	s->begun &= ~(1u << STEP_POOL);
	s->at = STEP_MOUNTS_HELD;
	go_forward(in);
}

/* All was undone down to the floor. */
static void through(struct instance *in)
{
	if (in->steps.floor > 0)
		replaced(in);
	else
		ended(in);
}

/* ---- what moves it ---- */

void step_done(struct instance *in, const struct err *err)
{
	struct instance_steps *s = &in->steps;

	if (s->back) {
		undone(in, err);
		go_back(in);
		return;
	}
	if (err && !s->end_wanted)
		in->why = *err;
	if (err && err->code == STEP_AGAIN && !s->end_wanted) {
		again(in);
	} else if (err || s->end_wanted) {
		turn_back(in);
	} else {
		s->at++;
		go_forward(in);
	}
}

/* Removes a sandbox whose removal has failed before. */
static void remove_left(struct instance *in)
{
	in->steps = (struct instance_steps){ .begun = 1u << STEP_STATE };
	in->final = in->rec.state;
	instance_set_state(in, INSTANCE_STOPPING);
	back_begin(in, 0);
	go_back(in);
}

void instance_end(struct instance *in, enum run_cause cause, uint64_t grace_ms)
{
	const struct step *step = &in->is->steps[in->steps.at];
	bool starting = in->rec.state == INSTANCE_STARTING;

	if (!instance_is_live(in)) {
		remove_left(in);
		return;
	}
	if (starting) {
		in->steps.end_wanted = true;
		err_set(&in->why, -ECANCELED, "stopped while it started");
	}
	if (step->hurry)
		step->hurry(in, cause, grace_ms);
	if (starting && step->leave && in->phase == step->waits)
		turn_back(in);
}

/* ---- the runs ---- */

/* Undoes a start in which nothing has waited. The caller gets @err; a failing
 * store adds nothing to it. */
static void refused(struct instance *in, const struct err *err)
{
	struct err ignored = { 0 };

	if (in->rec.state == INSTANCE_STARTING) {
		instance_set_reason(in, "%s", err->msg);
		in->rec.finished_at = time(NULL);
		in->final = INSTANCE_FAILED;
		instance_set_state(in, INSTANCE_FAILED);
		instance_save(in, &ignored);
	}
	back_begin(in, 0);
	if (in->rec.container_id)
		instance_set_state(in, INSTANCE_STOPPING); /* that waits */
	if (backward(in))
		in->steps = (struct instance_steps){ 0 };
}

int instance_start_now(struct instance *in, struct run_options *o,
		       instance_fn fn, void *arg, struct err *err)
{
	int rc;

	run_options_move(&in->asked.options, o);
	in->steps = (struct instance_steps){ 0 };
	in->freeze = (struct instance_freeze){ 0 };
	in->resumed = false;
	in->why = (struct err){ 0 };
	in->exit = (struct link_exit){ 0 };
	rc = forward(in, err);
	if (rc < 0) {
		refused(in, err);
		return rc;
	}
	in->asked.fn = fn;
	in->asked.arg = arg;
	return 0;
}

void instance_start_next(struct instance *in, const struct err *err)
{
	struct run_asked next = in->next;
	struct err failed = { 0 };

	if (!next.fn)
		return;
	in->next = (struct run_asked){ 0 };
	if (err)
		failed = *err;
	else if (instance_start_now(in, &next.options, next.fn, next.arg,
				    &failed) == 0)
		return;
	run_options_done(&next.options);
	next.fn(next.arg, &failed);
}
