/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause.c - freezes a sandbox and resumes it; so does hibernation
 *
 * Theory of operation: what is wanted and what the runtime last said are kept
 * apart. freeze_step() asks the runtime while they differ, one call at a time.
 * So an end during a freeze is no special case: it wants the sandbox resumed,
 * and instance_freeze_undo() waits for the last answer.
 *
 * A freeze that failed may have half happened, or happen late. So the sandbox
 * counts as frozen and is resumed before the failure is reported.
 *
 * A hold is a freeze of acd's own, while it reads the files of a sandbox: the
 * state stays `running`, and what is asked of the sandbox waits. If its memory is
 * read as well, the runtime writes that while it is held.
 *
 * A hibernation is a freeze by other means (hibernate.c), in a state of its own.
 *
 * In a frozen sandbox no time passes: the time limits of its runs, the grace
 * after TERM, init-guard's time to answer and the idle limit stand still. Its
 * ttl does not, since that limits how long files are kept.
 */
#include "control/acd/instance/instance_impl.h"

#include <string.h>

#include "lib/file.h"
#include "lib/log.h"

static void runs_hold(struct instance *in, bool held)
{
	struct run *r;

	if (in->main)
		run_hold(in->main, held);
	LIST_FOREACH (r, &in->execs, link) {
		run_hold(r, held);
	}
	if (in->session)
		session_hold(in->session, held);
}

static void pause_reply(struct instance *in, const struct err *err)
{
	const struct err why = in->freeze.why;
	instance_fn fn = in->freeze.fn;

	in->freeze.fn = NULL;
	in->freeze.why = (struct err){ 0 };
	if (fn)
		fn(in->freeze.arg, why.code < 0 ? &why : err);
}

static void state_follow(struct instance *in, enum instance_state st)
{
	struct err err = { 0 };

	instance_set_state(in, st);
	if (instance_save(in, &err) < 0)
		log_error("%s", err.msg);
}

static void freeze_step(struct instance *in);

/* The runtime has frozen or resumed it; what follows depends on what is wanted
 * now. */
static void freeze_done(struct instance *in)
{
	const struct err ending = { .code = -EBUSY,
				    .msg = "it is ending, so it goes on" };
	const struct err used = { .code = -EBUSY,
				  .msg = "it is in use, so it goes on" };

	/* It has ended, or reached a limit, meanwhile. */
	if (in->freeze.frozen && (!in->main || in->main->cause != RUN_SELF))
		in->freeze.wanted = false;
	if (in->freeze.frozen != in->freeze.wanted) {
		if (!in->freeze.wanted)
			pause_reply(in,
				    in->main && in->main->cause == RUN_SELF ?
					    &used :
					    &ending);
		freeze_step(in);
		return;
	}
	if (in->freeze.held) {
		in->freeze.held = in->freeze.frozen;
		runs_hold(in, in->freeze.frozen);
		instance_moved(in);
	} else if (in->rec.state == INSTANCE_RUNNING && in->freeze.frozen) {
		runs_hold(in, true);
		state_follow(in, in->freeze.asleep ? INSTANCE_HIBERNATED :
						     INSTANCE_PAUSED);
	} else if (instance_state_is_still(in->rec.state) &&
		   !in->freeze.frozen) {
		runs_hold(in, false);
		instance_moved(in);
		state_follow(in, INSTANCE_RUNNING);
		instance_life_arm(in);
	}
	if (!in->freeze.frozen && in->freeze.why.code < 0 &&
	    (in->freeze.asleep || in->freeze.memory))
		err_wrap(&in->freeze.why, "it runs on");
	if (!in->freeze.frozen)
		in->freeze.asleep = in->freeze.memory = false;
	pause_reply(in, NULL);
}

static void freeze_failed(struct instance *in, const struct err *err)
{
	log_error("%s: cannot %s: %s", in->rec.name,
		  in->freeze.frozen ? "resume" :
		  in->freeze.asleep ? "hibernate" :
		  in->freeze.memory ? "write its memory" :
				      "pause",
		  err->msg);
	if (in->freeze.frozen && in->freeze.asleep) {
		/* Its link closes, which ends it. */
		in->freeze.broken = in->freeze.why.code < 0 ? in->freeze.why :
							      *err;
		err_wrap(&in->freeze.broken,
			 in->freeze.why.code < 0 ?
				 "it has ended, as it was to hibernate" :
				 "it did not go on from hibernation");
		in->freeze.wanted = true;
		in->freeze.why = (struct err){ 0 };
		pause_reply(in, &in->freeze.broken);
		return;
	}
	if (in->freeze.frozen) {
		in->freeze.wanted = true;
		/* The user alone can resume it now. */
		if (in->freeze.held && in->freeze.why.code == 0 &&
		    in->rec.state == INSTANCE_RUNNING)
			state_follow(in, INSTANCE_PAUSED);
		in->freeze.held = false;
		pause_reply(in, err);
		return;
	}
	in->freeze.frozen = true;
	in->freeze.wanted = false;
	in->freeze.why = *err;
	freeze_step(in);
}

static void freeze_answered(void *arg, const struct err *err)
{
	struct instance *in = arg;

	in->freeze.busy = false;
	if (err) {
		freeze_failed(in, err);
	} else {
		in->freeze.frozen = !in->freeze.frozen;
		if (in->freeze.memory && !in->freeze.frozen && in->session)
			session_wake(in->session, -1);
		freeze_done(in);
	}
	if (in->phase == PHASE_THAW && !in->freeze.busy) {
		/* No second try. */
		in->freeze.frozen = in->freeze.wanted = false;
		in->freeze.held = in->freeze.memory = false;
		step_done(in, NULL);
	}
}

static void freeze_woken(void *arg, int link_fd, const struct err *err)
{
	instance_hibernate_answered(arg, link_fd);
	runs_hold(arg, false);
	freeze_answered(arg, err);
}

static void freeze_refused(void *arg, const struct err *err)
{
	struct instance *in = arg;

	if (in->freeze.asleep && in->freeze.frozen) {
		instance_hibernate_answered(in, -1);
		runs_hold(in, false);
	}
	freeze_answered(arg, err);
}

/* gVisor pauses it before it writes, which takes long. What is sent meanwhile is
 * for this sandbox alone. */
static void memory_begin(struct instance *in)
{
	runs_hold(in, true);
	if (in->session)
		session_sleep(in->session);
}

static int memory_call(struct instance *in)
{
	const struct runtime_ops *ops = in->is->rt->ops;
	SCOPED_STR dir = instance_memory_new(in);

	if (!in->freeze.wanted)
		return ops->memory_resume(in->is->rt, in->rec.container_id,
					  freeze_answered, in);
	return dir ? ops->memory_write(in->is->rt, in->rec.container_id, dir,
				       freeze_answered, in) :
		     -ENOMEM;
}

static void freeze_step(struct instance *in)
{
	struct runtime *rt = in->is->rt;
	struct err err = { 0 };
	int rc;

	if (in->freeze.busy || in->freeze.frozen == in->freeze.wanted)
		return;
	in->freeze.busy = true;
	if (in->freeze.memory && in->freeze.wanted)
		memory_begin(in);
	if (in->freeze.memory)
		rc = memory_call(in);
	else if (!in->freeze.asleep)
		rc = rt->ops->freeze(rt, in->rec.container_id,
				     in->freeze.wanted, freeze_answered, in);
	else if (in->freeze.wanted)
		rc = instance_hibernate_ask(in, freeze_answered, in);
	else
		rc = rt->ops->wake(rt, in->rec.container_id, freeze_woken, in);
	if (rc == 0)
		return;
	err_set(&err, rc, "%s", err_text(rc));
	if (instances_later(in->is, freeze_refused, in, &err) < 0)
		freeze_answered(in, &err);
}

void instance_thaw(struct instance *in)
{
	/* Time passes again even if the runtime fails: then the time limit ends
	 * the run. A wake takes long, and its answer begins the time. */
	runs_hold(in, in->freeze.asleep);
	in->freeze.kept = false;
	in->freeze.wanted = false;
	freeze_step(in);
}

/* A frozen process cannot die, and the runtime must have answered all calls
 * before the instance may go. */
int instance_freeze_undo(struct instance *in, struct err *err)
{
	(void)err;
	/* The runtime removes one that hibernates as it is. */
	if (instance_hibernate_is_over(in))
		in->freeze = (struct instance_freeze){ 0 };
	if (in->freeze.frozen || in->freeze.busy)
		instance_thaw(in);
	return in->freeze.busy ? STEP_WAITS : 0;
}

int instance_pause_refusal(const struct instance *in, struct err *err)
{
	const char *name = in->rec.name;

	if (!instance_is_up(in) || !in->main || !in->rec.container_id)
		return err_set(err, -ENOTCONN,
			       "'%s' is not running; `ac run %s` starts it",
			       name, name);
	if (!in->is->rt->ops->freeze)
		return err_set(err, -ENOTSUP,
			       "the runtime of '%s' cannot pause it", name);
	if (in->main->cause != RUN_SELF)
		return err_set(err, -EBUSY, "'%s' is ending", name);
	if (in->freeze.fn || in->freeze.busy)
		return err_set(err, -EBUSY,
			       "'%s' is being paused or resumed already", name);
	return 0;
}

void instance_freeze_end(struct instance *in)
{
	in->freeze.wanted = false;
	freeze_step(in);
}

int instance_freeze_ask(struct instance *in, bool paused, instance_fn fn,
			void *arg, struct err *err)
{
	/* Both the freeze and its undoing failed: try again. */
	if (paused && in->freeze.frozen && in->rec.state == INSTANCE_RUNNING)
		in->freeze.frozen = false;
	if (in->freeze.frozen == paused) {
		if (instances_later(in->is, fn, arg, NULL) < 0)
			return err_nomem(err);
		return 0;
	}
	in->freeze.fn = fn;
	in->freeze.arg = arg;
	in->freeze.wanted = paused;
	freeze_step(in);
	return 0;
}

static int hibernated_error(const struct instance *in, struct err *err)
{
	return err_set(err, -EBUSY,
		       "'%s' hibernates; `ac resume %s` lets it go on",
		       in->rec.name, in->rec.name);
}

/* Its memory is written where nothing is. */
static int memory_prepare(const struct instance *in, struct err *err)
{
	const struct runtime_ops *ops = in->is->rt->ops;
	SCOPED_STR dir = instance_memory_new(in);
	int rc;

	if (!ops->memory_write ||
	    !ops->hibernates(in->is->rt, in->rec.container_id))
		return err_set(err, -ENOTSUP,
			       "'%s' has no memory that can be copied: only a "
			       "sandbox of runsc that the engine does not run "
			       "has (not with isolation crun, runtime docker "
			       "or GPUs)",
			       in->rec.name);
	if (in->bp.root_rw)
		return err_set(err, -ENOTSUP,
			       "'%s' may write over the files of its image "
			       "(filesystem: { root: writable }), of which "
			       "there is no copy",
			       in->rec.name);
	if (!dir)
		return err_nomem(err);
	instance_memory_new_drop(in);
	rc = file_mkdir_p(dir, 0700);
	return rc < 0 ? err_set(err, rc, "make %s: %s", dir, err_text(rc)) : 0;
}

static int hold(struct instance *in, bool memory, instance_fn fn, void *arg,
		struct err *err)
{
	int rc = instance_pause_refusal(in, err);

	if (rc == 0 && in->freeze.asleep)
		rc = hibernated_error(in, err);
	if (rc == 0 && in->freeze.held)
		rc = err_set(err, -EBUSY,
			     "the files of '%s' are being copied: try again in "
			     "a moment",
			     in->rec.name);
	if (rc == 0 && memory)
		rc = memory_prepare(in, err);
	if (rc < 0)
		return rc;
	in->freeze.held = true; /* freeze_done() ends both */
	in->freeze.memory = memory;
	rc = instance_freeze_ask(in, true, fn, arg, err);
	if (rc < 0)
		in->freeze.held = in->freeze.memory = false;
	return rc;
}

int instance_hold(struct instance *in, instance_fn fn, void *arg,
		  struct err *err)
{
	return hold(in, false, fn, arg, err);
}

int instance_hold_memory(struct instance *in, instance_fn fn, void *arg,
			 struct err *err)
{
	return hold(in, true, fn, arg, err);
}

int instance_hold_end(struct instance *in, instance_fn fn, void *arg,
		      struct err *err)
{
	int rc = instance_pause_refusal(in, err);

	if (rc == 0 && in->freeze.asleep)
		rc = hibernated_error(in, err);
	return rc < 0 ? rc : instance_freeze_ask(in, false, fn, arg, err);
}

bool instance_is_held(const struct instance *in)
{
	return in->freeze.held && in->freeze.frozen && in->phase == PHASE_UP;
}

int instance_pause(struct instance *in, bool paused, instance_fn fn, void *arg,
		   struct err *err)
{
	int rc = instance_pause_refusal(in, err);

	if (rc == 0 && paused && in->freeze.asleep)
		rc = hibernated_error(in, err);
	if (rc == 0 &&
	    (in->freeze.held || (!paused && instance_files_busy(in))))
		rc = err_set(err, -EBUSY,
			     "the files of '%s' are being copied: try again in "
			     "a moment",
			     in->rec.name);
	if (rc < 0)
		return rc;
	if (paused && !in->freeze.frozen)
		in->freeze.memory = false;
	return instance_freeze_ask(in, paused, fn, arg, err);
}
