/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause.c - a sandbox that stands still, and goes on
 *
 * Theory of operation: what is wanted and what the runtime last said are
 * kept apart; freeze_step() asks the runtime while they differ, one question
 * at a time. So an end that comes while the runtime freezes needs no case of
 * its own: it wants the sandbox thawed, and instance_teardown() waits until
 * nothing is being asked any more.
 *
 * A freeze that failed may have half happened, or happen late: the sandbox
 * counts as frozen and is thawed before anybody hears of the failure.
 *
 * In a frozen sandbox no time passes: the limits of its runs, their signals'
 * grace, init-guard's duty to answer and the idle limit stand still. Its ttl
 * does not, for that is about what is kept here.
 */
#include "control/acd/instance/instance_impl.h"

#include <string.h>

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
	const struct err why = in->freeze_why;
	instance_fn fn = in->freeze_fn;

	in->freeze_fn = NULL;
	in->freeze_why = (struct err){ 0 };
	if (fn)
		fn(in->freeze_arg, why.code < 0 ? &why : err);
}

static void state_follow(struct instance *in, enum instance_state st)
{
	struct err err = { 0 };

	instance_set_state(in, st);
	if (instance_save(in, &err) < 0)
		log_error("%s", err.msg);
}

static void freeze_step(struct instance *in);

/* The runtime did as it was told; what follows is by what is wanted now. */
static void freeze_done(struct instance *in)
{
	const struct err ending = { .code = -EBUSY,
				    .msg = "it is ending, so it goes on" };

	/* It has ended, or reached a limit, meanwhile. */
	if (in->frozen && (!in->main || in->main->cause != RUN_SELF))
		in->freeze_wanted = false;
	if (in->frozen != in->freeze_wanted) {
		if (!in->freeze_wanted)
			pause_reply(in, &ending);
		freeze_step(in);
		return;
	}
	if (in->rec.state == INSTANCE_RUNNING && in->frozen) {
		runs_hold(in, true);
		state_follow(in, INSTANCE_PAUSED);
	} else if (in->rec.state == INSTANCE_PAUSED && !in->frozen) {
		runs_hold(in, false);
		instance_moved(in);
		state_follow(in, INSTANCE_RUNNING);
		instance_life_arm(in);
	}
	pause_reply(in, NULL);
}

static void freeze_failed(struct instance *in, const struct err *err)
{
	log_error("%s: cannot %s: %s", in->rec.name,
		  in->frozen ? "resume" : "pause", err->msg);
	if (in->frozen) {
		in->freeze_wanted = true;
		pause_reply(in, err);
		return;
	}
	in->frozen = true;
	in->freeze_wanted = false;
	in->freeze_why = *err;
	freeze_step(in);
}

static void freeze_answered(void *arg, const struct err *err)
{
	struct instance *in = arg;

	in->freeze_busy = false;
	if (err) {
		freeze_failed(in, err);
	} else {
		in->frozen = !in->frozen;
		freeze_done(in);
	}
	if (in->waits == WAIT_THAW && !in->freeze_busy) {
		in->waits = WAIT_NONE;
		in->frozen = in->freeze_wanted = false; /* no second try */
		instance_teardown(in);
	}
}

static void freeze_refused(void *arg, const struct err *err)
{
	freeze_answered(arg, err);
}

static void freeze_step(struct instance *in)
{
	struct runtime *rt = in->is->rt;
	struct err err = { 0 };
	int ret;

	if (in->freeze_busy || in->frozen == in->freeze_wanted)
		return;
	in->freeze_busy = true;
	ret = rt->ops->freeze(rt, in->rec.container_id, in->freeze_wanted,
			      freeze_answered, in);
	if (ret == 0)
		return;
	err_set(&err, ret, "%s", err_text(ret));
	if (instances_later(in->is, freeze_refused, in, &err) < 0)
		freeze_answered(in, &err);
}

void instance_thaw(struct instance *in)
{
	/* Time passes again even if the runtime fails: it then is what ends
	 * the run. */
	runs_hold(in, false);
	in->freeze_wanted = false;
	freeze_step(in);
}

int instance_paused_error(const struct instance *in, struct err *err)
{
	return err_set(err, INSTANCE_IS_PAUSED,
		       "'%s' is paused; 'ac resume %s' lets it go on",
		       in->rec.name, in->rec.name);
}

static int pause_refusal(const struct instance *in, struct err *err)
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
	if (in->freeze_fn || in->freeze_busy)
		return err_set(err, -EBUSY,
			       "'%s' is being paused or resumed already", name);
	return 0;
}

int instance_pause(struct instance *in, bool paused, instance_fn fn, void *arg,
		   struct err *err)
{
	int ret = pause_refusal(in, err);

	if (ret < 0)
		return ret;
	/* Neither its freezing nor its thawing could be had: once more. */
	if (paused && in->frozen && in->rec.state == INSTANCE_RUNNING)
		in->frozen = false;
	if (in->frozen == paused) {
		if (instances_later(in->is, fn, arg, NULL) < 0)
			return err_nomem(err);
		return 0;
	}
	in->freeze_fn = fn;
	in->freeze_arg = arg;
	in->freeze_wanted = paused;
	freeze_step(in);
	return 0;
}
