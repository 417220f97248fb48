/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guestjob.c - a short command in a sandbox, on behalf of acd
 */
#include "control/acd/instance/guestjob.h"

#include <string.h>

struct guestjob {
	struct run *run;
	struct run_watch *watch;
	struct loop_timer *timer;
	struct buf out, errors;
	bool cut, late;
	guestjob_fn fn;
	void *arg;
};

static void guestjob_free(struct guestjob *j)
{
	run_watch_free(j->watch);
	loop_timer_free(j->timer);
	buf_done(&j->out);
	buf_done(&j->errors);
	free(j);
}

static void job_started(void *arg, uint32_t pid)
{
	(void)arg;
	(void)pid;
}

static void job_output(void *arg, enum link_type stream, struct slice data)
{
	struct guestjob *j = arg;
	struct buf *to = stream == LINK_STDOUT ? &j->out : &j->errors;

	run_watch_credit(j->watch, (uint32_t)data.len);
	if (j->cut)
		return;
	j->cut = data.len > buf_room(to);
	if (j->cut)
		data.len = buf_room(to);
	if (data.len > 0 && buf_append(to, data.ptr, data.len) < 0)
		j->cut = true;
	if (j->cut)
		run_abandon(j->run);
}

static void job_stdin_credit(void *arg)
{
	(void)arg;
}

static void job_exited(void *arg, const struct link_exit *x)
{
	struct guestjob *j = arg;
	const struct guestjob_result result = {
		.exit = x,
		.out = buf_slice(&j->out),
		.errors = buf_slice(&j->errors),
		.cut = j->cut,
		.ended = !j->late && x->kind != LINK_EXITED &&
			 !instance_is_up(run_instance(j->run)),
	};
	struct err err = { 0 };

	if (j->late)
		err_set(&err, -ETIMEDOUT, "the sandbox did not answer in time");
	else if (x->kind == LINK_NOEXEC)
		/* The image lacks it, or the process limit is reached. */
		err_set(&err, x->value == ENOENT ? -ENOTSUP : -EBUSY,
			"the sandbox cannot start the command: %s",
			err_text(-(int)x->value));
	else if (x->kind != LINK_EXITED && !j->cut)
		err_set(&err, -EIO, "the command in the sandbox was ended");
	j->fn(j->arg, &result, err.code < 0 ? &err : NULL);
	guestjob_free(j);
}

static const struct run_watch_ops job_ops = {
	.started = job_started,
	.output = job_output,
	.stdin_credit = job_stdin_credit,
	.exited = job_exited,
};

static void job_late(void *arg)
{
	struct guestjob *j = arg;
	const struct instance *in = run_instance(j->run);

	/* It is being woken for this. */
	if (instance_state_is_still(instance_record(in)->state)) {
		loop_timer_set(j->timer, GUESTJOB_TIME_MS);
		return;
	}
	j->late = true;
	run_abandon(j->run);
}

static int job_options(const char *const *argv, struct run_options *o)
{
	int rc = strv_push(&o->env, "LC_ALL=C");

	for (; rc == 0 && *argv; argv++)
		rc = strv_push(&o->argv, *argv);
	o->cwd = strdup("/");
	o->detached = o->unnoticed = true;
	return o->cwd ? rc : -ENOMEM;
}

int guestjob_start(struct loop *loop, struct instance *in,
		   const char *const *argv, guestjob_fn fn, void *arg,
		   struct err *err)
{
	struct guestjob *j = calloc(1, sizeof(*j));
	struct run_options o = { 0 };
	int rc;

	if (!j)
		return err_nomem(err);
	*j = (struct guestjob){ .fn = fn, .arg = arg };
	buf_init(&j->out, GUESTJOB_OUT_MAX);
	buf_init(&j->errors, GUESTJOB_OUT_MAX);
	j->timer = loop_timer_new(loop, job_late, j);
	rc = j->timer ? job_options(argv, &o) : -ENOMEM;
	rc = rc < 0 ? err_nomem(err) : instance_exec(in, &o, &j->run, err);
	run_options_done(&o);
	if (rc < 0) {
		guestjob_free(j);
		return rc;
	}
	j->watch = run_watch_add(j->run, &job_ops, j);
	if (!j->watch) {
		run_abandon(j->run);
		guestjob_free(j);
		return err_nomem(err);
	}
	loop_timer_set(j->timer, GUESTJOB_TIME_MS);
	return 0;
}
