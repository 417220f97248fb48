/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end.c - how a main run ends, and the removal of its sandbox
 *
 * Theory of operation: there are three ways to the end,
 *
 *	the main process reports EXIT       instance_main_exited()
 *	the link is lost                    instance_link_lost()
 *	it was killed and reports nothing   instance_force_end()
 *
 * and one conclusion: the watchers hear of it at once, the record is
 * written, then the sandbox is removed in the background. Whether memory ran
 * out only the runtime knows; it is asked before the conclusion when the
 * link was lost, or when the process was killed by nobody we know of.
 *
 * While an answer is waited for (in->waits), a second event waits with it:
 * who was asked answers exactly once.
 */
#include "control/acd/instance/instance_impl.h"

#include <signal.h>

#include "control/acd/storage/mounts.h"
#include "lib/log.h"

/* ---- removal ---- */

/* All is over: what follows depends on what was asked for meanwhile. */
static void sandbox_gone(struct instance *in, const struct err *err)
{
	struct err failed = { 0 };

	mounts_release(in->rec.name);
	instance_egress_end(in);
	instance_set_state(in, in->final);
	if (err)
		failed = *err;
	if (instance_save(in, &failed) < 0)
		log_error("%s", failed.msg);
	if (failed.code < 0) {
		in->clean = CLEAN_NOT;
		instance_wake(in, &failed);
		instance_start_next(in, &failed);
	} else if (in->next_fn) {
		instance_wake(in, NULL);
		instance_start_next(in, NULL);
	} else {
		instance_clean_now(in);
	}
}

static void sandbox_removed(void *arg, const struct err *err)
{
	struct instance *in = arg;
	struct err failed = { 0 };

	in->waits = WAIT_NONE;
	if (err) {
		failed = *err;
		err_wrap(&failed, "cannot remove the sandbox of '%s'",
			 in->rec.name);
		log_error("%s", failed.msg);
	} else {
		free(in->rec.container_id);
		in->rec.container_id = NULL;
	}
	sandbox_gone(in, err ? &failed : NULL);
}

static void removal_refused(void *arg, const struct err *err)
{
	sandbox_removed(arg, err);
}

/* Whatever its sandbox says or does from now on concerns nobody. */
static void sandbox_unlink(struct instance *in)
{
	struct link_exit x = { .kind = LINK_SIGNALED, .value = SIGKILL };
	struct run *r;

	/* Execs share the sandbox's fate. */
	if (in->exit.kind == LINK_OOM || in->exit.kind == LINK_LOST)
		x = in->exit;
	while ((r = LIST_FIRST(&in->execs)))
		run_finish(r, &x);
	in->warm = false;
	session_free(in->session);
	in->session = NULL;
	loop_timer_free(in->ready_timer);
	in->ready_timer = NULL;
}

static void sandbox_remove(struct instance *in)
{
	const struct runtime_ops *ops = in->is->rt->ops;
	struct err err = { 0 };
	int ret;

	instance_log_end(in);
	if (!in->rec.container_id) {
		sandbox_gone(in, NULL);
		return;
	}
	in->waits = WAIT_REMOVAL;
	ret = ops->remove(in->is->rt, in->rec.container_id, sandbox_removed,
			  in);
	if (ret < 0) {
		err_set(&err, ret, "%s", err_text(ret));
		if (instances_later(in->is, removal_refused, in, &err) < 0)
			sandbox_removed(in, &err);
	}
}

void instance_teardown(struct instance *in)
{
	/* While this waits no event of the link may begin another end. */
	sandbox_unlink(in);
	/* What is frozen cannot die, and the runtime has to answer all calls
	 * before the instance may go. */
	if (in->frozen || in->freeze_busy)
		instance_thaw(in);
	if (in->freeze_busy)
		in->waits = WAIT_THAW;
	else
		sandbox_remove(in);
}

void instance_teardown_left(struct instance *in)
{
	in->final = in->rec.state;
	instance_set_state(in, INSTANCE_STOPPING);
	instance_teardown(in);
}

/* ---- conclusion ---- */

static void limit_notice(struct instance *in, enum run_cause cause)
{
	const char *name = in->rec.name;
	char size[32], text[192];

	str_format_size(size, sizeof(size), in->rec.output);
	if (cause == RUN_TTL)
		snprintf(text, sizeof(text),
			 "%s was ended: its --ttl is over, and its home and "
			 "log go",
			 name);
	else if (cause == RUN_IDLE)
		snprintf(text, sizeof(text),
			 "%s was ended: nothing moved for as long as --idle "
			 "allows",
			 name);
	else
		snprintf(text, sizeof(text),
			 "%s was ended: it has written %s, as much as --output "
			 "allows",
			 name, size);
	run_notice(in->main, LOG_LVL_WARN, text);
}

static void reason_set(struct instance *in, enum run_cause cause)
{
	const struct link_exit *x = &in->exit;

	if (x->kind == LINK_TIMEOUT)
		instance_set_reason(in, "timeout");
	else if (x->kind == LINK_OOM)
		instance_set_reason(in, "out of memory");
	else if (x->kind == LINK_LIMIT)
		instance_set_reason(in, "%s",
				    cause == RUN_TTL  ? "ttl" :
				    cause == RUN_IDLE ? "idle" :
							"output limit");
	else if (x->kind == LINK_LOST)
		instance_set_reason(in, "lost: %s", in->why.msg);
	else if (cause == RUN_STOPPED)
		instance_set_reason(in, "stopped");
	else if (cause == RUN_ABANDONED)
		instance_set_reason(in, "its client went away");
	else if (x->kind == LINK_SIGNALED)
		instance_set_reason(in, "signal %u", (unsigned)x->value);
	else if (x->kind == LINK_NOEXEC)
		instance_set_reason(in, "cannot run the command: %s",
				    err_text(-(int)x->value));
	else if (x->kind == LINK_NOCWD)
		instance_set_reason(in, "cannot enter the directory: %s",
				    err_text(-(int)x->value));
	else
		instance_set_reason(in, "exited");
}

/* in->exit tells how the main run ended. */
static void conclude(struct instance *in)
{
	struct link_exit *x = &in->exit;
	enum run_cause cause = in->main->cause;
	struct err err = { 0 };

	/* What we had set about is no loss. */
	if (x->kind == LINK_OOM)
		instance_breach(in, "memory", "the sandbox was killed");
	else if (cause == RUN_TIMEOUT)
		x->kind = LINK_TIMEOUT;
	else if (cause == RUN_OUTPUT || cause == RUN_IDLE || cause == RUN_TTL)
		x->kind = LINK_LIMIT;
	else if (cause != RUN_SELF && x->kind == LINK_LOST)
		*x = (struct link_exit){ .kind = LINK_SIGNALED,
					 .value = SIGKILL };
	reason_set(in, cause);
	instance_log_judge(in);
	in->rec.exit_code = link_exit_code(x);
	in->rec.finished_at = time(NULL);
	in->final = x->kind == LINK_LOST ? INSTANCE_FAILED : INSTANCE_STOPPED;
	instance_set_state(in, INSTANCE_STOPPING);
	/* A program that ends before its first sign of life still began. */
	instance_began(in, x->kind == LINK_LOST ? &in->why : NULL);
	if (x->kind == LINK_LOST)
		run_notice(in->main, LOG_LVL_ERROR, in->why.msg);
	if (x->kind == LINK_LIMIT)
		limit_notice(in, cause);
	run_finish(in->main, x);
	/* Written once more when the sandbox is gone. */
	if (instance_save(in, &err) < 0)
		log_error("%s", err.msg);
	instance_teardown(in);
}

void instance_start_failed(struct instance *in)
{
	const struct link_exit lost = { .kind = LINK_LOST };
	bool stopped = in->why.code == -ECANCELED;

	instance_set_reason(in, "%s", in->why.msg);
	in->rec.exit_code = -1;
	in->rec.finished_at = time(NULL);
	in->final = stopped ? INSTANCE_STOPPED : INSTANCE_FAILED;
	instance_set_state(in, INSTANCE_STOPPING);
	instance_began(in, &in->why);
	if (in->main)
		run_finish(in->main, &lost);
	instance_teardown(in);
}

/* ---- what the runtime says about an end ---- */

static void why_add_last_words(struct instance *in,
			       const struct runtime_end *end)
{
	char text[sizeof(in->why.msg)];

	if (end->oom)
		err_nomem(&in->why);
	else if (end->tasks)
		err_set(&in->why, -EAGAIN,
			"the machine refused more host tasks, of which the "
			"sandbox had as many as its limit of pids allows");
	else if (end->text[0] && in->why.code != -EPERM) {
		snprintf(text, sizeof(text), "%s", in->why.msg);
		err_set(&in->why, in->why.code, "%.200s: %s", text, end->text);
	}
}

static void end_known(void *arg, const struct runtime_end *end,
		      const struct err *err)
{
	struct instance *in = arg;

	in->waits = WAIT_NONE;
	if (err) {
		log_warn("%s: how the sandbox ended is not known: %s",
			 in->rec.name, err->msg);
		end = NULL;
	}
	if (in->rec.state == INSTANCE_STARTING) {
		if (end && !in->end_wanted)
			why_add_last_words(in, end);
		instance_start_failed(in);
		return;
	}
	if (end && in->exit.kind == LINK_LOST)
		why_add_last_words(in, end);
	if (end && end->oom)
		in->exit.kind = LINK_OOM;
	conclude(in);
}

/* Asks, or goes on without an answer. */
static void end_ask(struct instance *in)
{
	struct runtime *rt = in->is->rt;
	bool lost = in->exit.kind == LINK_LOST;

	if (in->rec.container_id && rt->ops->end &&
	    rt->ops->end(rt, in->rec.container_id, lost, end_known, in) == 0)
		in->waits = WAIT_END;
	else if (in->rec.state == INSTANCE_STARTING)
		instance_start_failed(in);
	else
		conclude(in);
}

void instance_main_exited(struct instance *in, const struct link_exit *x)
{
	in->exit = *x;
	if (x->kind == LINK_SIGNALED && x->value == SIGKILL &&
	    in->main->cause == RUN_SELF)
		end_ask(in);
	else
		conclude(in);
}

void instance_link_lost(struct instance *in, const struct err *err)
{
	session_free(in->session);
	in->session = NULL;
	loop_timer_free(in->ready_timer);
	in->ready_timer = NULL;
	if (in->waits)
		return; /* the end is being asked for already */
	in->why = *err;
	in->exit = (struct link_exit){ .kind = LINK_LOST };
	end_ask(in);
}

void instance_force_end(struct instance *in)
{
	if (in->waits)
		return;
	in->exit =
		(struct link_exit){ .kind = LINK_SIGNALED, .value = SIGKILL };
	conclude(in);
}

/* ---- stop ---- */

void instance_end(struct instance *in, enum run_cause cause, uint64_t grace_ms)
{
	if (in->rec.state == INSTANCE_STARTING) {
		in->end_wanted = true;
		err_set(&in->why, -ECANCELED, "stopped while it started");
		instance_disk_cancel(in);
		if (!in->waits)
			instance_start_failed(in);
		return;
	}
	if (instance_is_up(in))
		instance_set_state(in, INSTANCE_STOPPING);
	if (in->frozen || in->freeze_busy)
		instance_thaw(in);
	if (in->main) {
		run_terminate(in->main, cause, grace_ms);
	} else if (!in->waits) {
		/* Nothing is there whose end could be waited for. */
		in->final = INSTANCE_FAILED;
		instance_teardown(in);
	}
}

int instance_stop(struct instance *in, uint64_t grace_ms, instance_fn fn,
		  void *arg)
{
	const struct err canceled = {
		.code = -ECANCELED,
		.msg = "the instance was stopped",
	};
	int ret;

	if (!instance_is_live(in) && !in->tree && !in->rec.container_id)
		return instances_later(in->is, fn, arg, NULL);
	ret = instance_wait(in, fn, arg);
	if (ret < 0)
		return ret;
	/* A run that waits for this end is not wanted either. */
	instance_start_next(in, &canceled);
	if (instance_is_live(in))
		instance_end(in, RUN_STOPPED, grace_ms);
	else if (!in->tree)
		instance_teardown_left(in);
	return 0;
}
