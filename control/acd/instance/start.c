/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.c - requests for an instance: run, stop, clean
 *
 * A run that comes while the last one is stopping waits for that. A stop or a
 * removal that comes meanwhile cancels it.
 */
#include "control/acd/instance/instance_impl.h"

#include <stdlib.h>

/* ---- to run ---- */

/* Keeps the run until the old sandbox is removed. */
static void start_later(struct instance *in, struct run_options *o,
			instance_fn fn, void *arg)
{
	run_options_move(&in->next.options, o);
	in->next.fn = fn;
	in->next.arg = arg;
}

int instance_run_refusal(const struct instance *in, struct err *err)
{
	const char *name = in->rec.name;

	if (instance_is_leaving(in))
		return err_set(err, -EBUSY,
			       "the files of '%s' are being removed; try "
			       "again in a moment",
			       name);
	if (!instance_is_up(in) && instance_files_busy(in))
		return err_set(
			err, -EBUSY,
			"the files of '%s' are being copied or restored; "
			"try again in a moment",
			name);
	if (in->rec.state == INSTANCE_PAUSED)
		return instance_paused_error(in, err);
	if (in->rec.state == INSTANCE_STARTING || instance_is_up(in))
		return err_set(err, -EALREADY,
			       "'%s' runs already; 'ac attach %s' joins it, "
			       "'ac stop-instance %s' stops it",
			       name, name, name);
	if (in->next.fn)
		return err_set(err, -EALREADY,
			       "'%s' is stopping, and another run waits "
			       "for that",
			       name);
	return instance_restore_refusal(in, err);
}

/* Takes what @o has if it succeeds. */
static int run_ask(struct instance *in, struct run_options *o, instance_fn fn,
		   void *arg, struct err *err)
{
	int rc = instance_run_refusal(in, err);

	if (rc < 0)
		return rc;
	if (in->rec.state == INSTANCE_STOPPING) {
		start_later(in, o, fn, arg);
		return 0;
	}
	if (in->rec.container_id) {
		/* The old sandbox's removal failed; no other can start beside
		 * it. */
		start_later(in, o, fn, arg);
		instance_end(in, RUN_STOPPED, 0);
		return 0;
	}
	return instance_start_now(in, o, fn, arg, err);
}

int instance_run(struct instance *in, struct run_options *o, instance_fn fn,
		 void *arg, struct err *err)
{
	int rc = run_ask(in, o, fn, arg, err);

	run_options_done(o);
	return rc;
}

void instance_run_cancel(struct instance *in, const void *arg)
{
	if (in->next.fn && in->next.arg == arg) {
		in->next.fn = NULL;
		run_options_done(&in->next.options);
	}
	if (in->asked.fn && in->asked.arg == arg) {
		in->asked.fn = NULL;
		instance_end(in, RUN_STOPPED, 0);
	}
}

/* ---- its end ---- */

int instance_stop(struct instance *in, uint64_t grace_ms, instance_fn fn,
		  void *arg)
{
	const struct err canceled = {
		.code = -ECANCELED,
		.msg = "the instance was stopped",
	};
	int rc;

	if (!instance_is_live(in) && !instance_files_go(in) &&
	    !in->rec.container_id)
		return instances_later(in->is, fn, arg, NULL);
	rc = instance_wait(in, fn, arg);
	if (rc < 0)
		return rc;
	/* A run that waits for this end is canceled. */
	instance_start_next(in, &canceled);
	if (!instance_files_go(in))
		instance_end(in, RUN_STOPPED, grace_ms);
	return 0;
}

/* ---- clean and destroy ---- */

static int clean_ask(struct instance *in, enum instance_clean clean,
		     bool discard, bool force, instance_fn fn, void *arg)
{
	const struct err canceled = {
		.code = -ECANCELED,
		.msg = "the instance is being cleaned",
	};
	int rc;

	/* A stopping instance needs no force. */
	if (instance_files_go(in) || (instance_is_live(in) && !force &&
				      in->rec.state != INSTANCE_STOPPING))
		return -EBUSY;
	/* A copy of what is to be removed is of no use. */
	if (instance_files_busy(in) &&
	    (clean != CLEAN_ALL || !instance_tasks_cancel(in)))
		return -EBUSY;
	rc = instance_wait(in, fn, arg);
	if (rc < 0)
		return rc;
	if (in->clean < clean)
		in->clean = clean;
	in->discard = in->discard || discard;
	instance_start_next(in, &canceled);
	/* A sandbox whose removal has failed may still write its files: it is
	 * removed first. */
	if (instance_is_live(in) ? force : in->rec.container_id != NULL)
		instance_end(in, RUN_STOPPED, 0);
	else if (!instance_is_live(in))
		instance_clean_now(in);
	return 0;
}

int instance_clean(struct instance *in, bool force, instance_fn fn, void *arg)
{
	return clean_ask(in, CLEAN_HOME, false, force, fn, arg);
}

int instance_discard(struct instance *in, instance_fn fn, void *arg)
{
	return clean_ask(in, CLEAN_NOT, true, false, fn, arg);
}

int instance_destroy(struct instance *in, bool force, instance_fn fn, void *arg)
{
	return clean_ask(in, CLEAN_ALL, false, force, fn, arg);
}

/* ---- before acd ends ---- */

struct stop_all {
	unsigned pending;
	struct err err; /* the first */
	instance_fn fn;
	void *arg;
};

static void stop_all_one(void *arg, const struct err *err)
{
	struct stop_all *sa = arg;

	if (err && sa->err.code == 0)
		sa->err = *err;
	if (--sa->pending > 0)
		return;
	sa->fn(sa->arg, sa->err.code < 0 ? &sa->err : NULL);
	free(sa);
}

void instances_stop_all(struct instances *is, uint64_t grace_ms, instance_fn fn,
			void *arg)
{
	struct stop_all *sa = calloc(1, sizeof(*sa));
	const struct err no_memory = { .code = -ENOMEM,
				       .msg = "out of memory" };
	struct instance *in;
	int rc;

	if (!sa || instances_later(is, stop_all_one, sa, NULL) < 0) {
		free(sa);
		fn(arg, &no_memory);
		return;
	}
	*sa = (struct stop_all){ .pending = 1, .fn = fn, .arg = arg };
	TAILQ_FOREACH (in, &is->all, link) {
		if (!instance_is_live(in))
			continue;
		/* All at once they may not fit into the memory. */
		rc = instance_stop(
			in, in->rec.state == INSTANCE_HIBERNATED ? 0 : grace_ms,
			stop_all_one, sa);
		if (rc == 0)
			sa->pending++;
		else if (sa->err.code == 0)
			err_set(&sa->err, rc, "stop '%s': %s", in->rec.name,
				err_text(rc));
	}
}
