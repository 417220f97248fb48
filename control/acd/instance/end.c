/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end.c - how the begin of a main run is reported, and how a run ends
 *
 * Theory of operation: a run ends in one of three ways,
 *
 *	its process reports EXIT            run.c
 *	it was killed and reports nothing   run.c
 *	the link is lost                    greeting.c
 *
 * and the conclusion is the same: the watchers are told at once and the record
 * is written; then the sandbox is removed (steps.c). Only the runtime knows
 * whether memory ran out. It is asked first if the link was lost, or if the
 * process was killed and acd did not do it.
 */
#include "control/acd/instance/instance_impl.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "control/acd/storage/mounts.h"
#include "lib/log.h"

/* ---- its beginning ---- */

/* Without this, a misspelt path would go unnoticed. */
static void blocked_notice(struct instance *in)
{
	SCOPED_STR list = mounts_uncovered(in->rec.name, &in->bp.blocked_paths);
	SCOPED_STR text = list ? str_printf("blocked_paths: not in the "
					    "workspace at the start, so not "
					    "hidden in this run: %s",
					    list) :
				 NULL;

	if (text)
		run_notice(in->main, LOG_LVL_INFO, text);
}

void instance_began(struct instance *in, const struct err *err)
{
	instance_fn fn = in->asked.fn;

	in->asked.fn = NULL;
	if (!fn) /* already called */
		return;
	instance_memory_over(in);
	fn(in->asked.arg, err);
	/* The option stays with the instance, so each run says it again. */
	if (!err && in->main && strcmp(in->rec.isolation, "crun") == 0)
		run_notice(in->main, LOG_LVL_INFO,
			   "isolation crun: the agent shares this machine's "
			   "kernel; '--isolation runsc' takes that back");
	if (!err && in->main) {
		instance_ports_notice(in);
		instance_egress_notice(in);
		instance_home_notice(in);
		instance_disk_notice(in);
		blocked_notice(in);
	}
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

static void log_judge(struct instance *in)
{
	SCOPED_STR text = instance_log_judge(in);

	if (!text)
		return;
	log_warn("%s: %s", in->rec.name, text);
	run_notice(in->main, LOG_LVL_WARN, text);
}

/* in->exit has how the main run ended. */
int instance_run_conclude(struct instance *in, struct err *err)
{
	struct link_exit *x = &in->exit;
	enum run_cause cause = in->main->cause;

	/* If acd was ending the run, its end is no loss. */
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
	log_judge(in);
	in->rec.exit_code = link_exit_code(x);
	in->rec.finished_at = time(NULL);
	in->final = x->kind == LINK_LOST ? INSTANCE_FAILED : INSTANCE_STOPPED;
	instance_set_state(in, INSTANCE_STOPPING);
	/* A program that ends before its first sign of life has begun, too. */
	instance_began(in, x->kind == LINK_LOST ? &in->why : NULL);
	if (x->kind == LINK_LOST)
		run_notice(in->main, LOG_LVL_ERROR, in->why.msg);
	if (x->kind == LINK_LIMIT)
		limit_notice(in, cause);
	run_finish(in->main, x);
	/* The record is written again when the sandbox is gone; a failure is
	 * reported only then. */
	if (instance_save(in, err) < 0)
		log_error("%s", err->msg);
	return 0;
}

void instance_start_failed(struct instance *in)
{
	bool stopped = in->why.code == -ECANCELED;

	instance_set_reason(in, "%s", in->why.msg);
	in->rec.exit_code = -1;
	in->rec.finished_at = time(NULL);
	in->final = stopped ? INSTANCE_STOPPED : INSTANCE_FAILED;
	instance_set_state(in, INSTANCE_STOPPING);
	instance_began(in, &in->why);
}

/* ---- what the runtime says about an end ---- */

static void end_known(void *arg, const struct runtime_end *end,
		      const struct err *err)
{
	struct instance *in = arg;

	end = instance_end_known(in, end, err);
	if (end && in->exit.kind == LINK_LOST)
		instance_add_last_words(in, end);
	if (end && end->oom)
		in->exit.kind = LINK_OOM;
	step_done(in, NULL);
}

/* Asks the runtime if the cause is unknown; without an answer the end goes
 * on. */
int instance_end_ask(struct instance *in, struct err *err)
{
	const struct link_exit *x = &in->exit;
	bool lost = x->kind == LINK_LOST;
	bool killed = x->kind == LINK_SIGNALED && x->value == SIGKILL &&
		      in->main->cause == RUN_SELF;

	(void)err;
	if (!lost && !killed)
		return 0;
	return instance_ask_end(in, lost, end_known) == 0 ? STEP_WAITS : 0;
}

/* ---- what ends it ---- */

void instance_end_hurry(struct instance *in, enum run_cause cause,
			uint64_t grace_ms)
{
	const struct link_exit killed = { .kind = LINK_SIGNALED,
					  .value = SIGKILL };

	if (instance_is_up(in))
		instance_set_state(in, INSTANCE_STOPPING);
	if (in->phase == PHASE_UP)
		in->phase = PHASE_ENDING;
	if (grace_ms == 0 && in->main && instance_hibernate_is_over(in)) {
		/* It is not woken only to be killed. */
		in->main->cause = cause;
		instance_main_over(in, &killed);
		return;
	}
	instance_hibernate_break(in, grace_ms == 0);
	if (in->freeze.frozen || in->freeze.busy)
		instance_thaw(in);
	if (in->main)
		run_terminate(in->main, cause, grace_ms);
}
