/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - a process in a sandbox, and its watchers
 *
 * Theory of operation: output is counted as a position. Each watcher has a
 * mark: it is done with all output before it. The sandbox gets credit for what
 * lies before the lowest mark (before the end, if there is no watcher). So it
 * is at most one window ahead of the slowest watcher.
 *
 * A run ends once, in run_finish(); for the main run instance/end.c decides
 * when. A watcher may leave in any callback, and may abandon its run: both take
 * effect when all watchers have been called.
 */
#include "control/acd/instance/instance_impl.h"

#include <signal.h>
#include <string.h>

#include "lib/log.h"
#include "lib/str.h"

struct run_watch {
	LIST_ENTRY(run_watch) link;
	struct run *run; /* NULL: over */
	const struct run_watch_ops *ops; /* NULL: left */
	void *arg;
	uint64_t mark; /* bytes of output that it is done with */
};

/* ---- watchers ---- */

static void run_free(struct run *r)
{
	loop_timer_free(r->timer);
	loop_timer_free(r->redraw);
	free(r);
}

static void walk_begin(struct run *r)
{
	r->walking++;
}

/* Returns false if the run was freed. */
static bool walk_end(struct run *r)
{
	struct run_watch *w, *next;

	if (--r->walking > 0)
		return true;
	for (w = LIST_FIRST(&r->watches); w; w = next) {
		next = LIST_NEXT(w, link);
		if (!w->ops)
			run_watch_free(w);
	}
	if (!r->doomed)
		return true;
	run_finish(r, &r->end);
	return false;
}

/* Gives credit for what the slowest watcher is done with. */
static void run_credit(struct run *r)
{
	uint64_t low = r->output;
	struct run_watch *w;
	uint32_t bytes;

	LIST_FOREACH (w, &r->watches, link) {
		if (w->ops && w->mark < low)
			low = w->mark;
	}
	bytes = (uint32_t)(low - r->credited); /* at most a window */
	r->credited = low;
	if (bytes > 0 && r->channel)
		channel_credit(r->channel, bytes);
}

struct run_watch *run_watch_add(struct run *r, const struct run_watch_ops *ops,
				void *arg)
{
	struct run_watch *w;

	if (r->n_watches >= RUN_WATCHES_MAX) {
		errno = EMFILE;
		return NULL;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->run = r;
	w->ops = ops;
	w->arg = arg;
	w->mark = r->output;
	LIST_INSERT_HEAD(&r->watches, w, link);
	r->n_watches++;
	return w;
}

void run_watch_credit(struct run_watch *w, uint32_t bytes)
{
	if (!w->run)
		return;
	if (bytes > w->run->output - w->mark)
		w->mark = w->run->output;
	else
		w->mark += bytes;
	run_credit(w->run);
}

void run_watch_free(struct run_watch *w)
{
	struct run *r;

	if (!w)
		return;
	r = w->run;
	if (r) {
		w->ops = NULL;
		if (r->walking > 0)
			return; /* freed by walk_end() */
		LIST_REMOVE(w, link);
		r->n_watches--;
		run_credit(r);
	}
	free(w);
}

void run_notice(struct run *r, uint8_t level, const char *text)
{
	struct run_watch *w;

	walk_begin(r);
	LIST_FOREACH (w, &r->watches, link) {
		if (w->ops && w->ops->notice)
			w->ops->notice(w->arg, level, text);
	}
	walk_end(r);
}

void run_finish(struct run *r, const struct link_exit *x)
{
	struct link_exit end = *x;
	struct run_watch *w;

	if (r->walking > 0) {
		r->doomed = true;
		r->end = end;
		return;
	}
	if (r->is_main)
		r->in->main = NULL;
	else
		LIST_REMOVE(r, link);
	channel_close(r->channel);
	r->channel = NULL;
	while ((w = LIST_FIRST(&r->watches))) {
		LIST_REMOVE(w, link);
		w->run = NULL; /* its owner frees it */
		w->ops->exited(w->arg, &end);
	}
	run_free(r);
}

/* ---- what the process does ---- */

void run_moved(const struct run *r)
{
	if (!r->unnoticed)
		instance_moved(r->in);
}

/* A frozen process gets no signal, so the sandbox is resumed first. */
static void run_put_end(struct run *r, enum run_cause cause)
{
	struct instance *in = r->in;

	if (r->is_main && (in->freeze.frozen || in->freeze.busy))
		instance_end(in, cause, KILL_GRACE_MS);
	else
		run_terminate(r, cause, KILL_GRACE_MS);
}

static void run_has_begun(struct run *r)
{
	if (r->begun)
		r->begun(r->in, NULL);
}

static void run_started(void *arg, uint32_t pid)
{
	struct run *r = arg;
	struct run_watch *w;

	r->pid = pid;
	run_has_begun(r);
	walk_begin(r);
	LIST_FOREACH (w, &r->watches, link) {
		if (w->ops)
			w->ops->started(w->arg, pid);
	}
	walk_end(r);
}

/* Returns the part of @data that it may still write. The rest is dropped and
 * credited, so that its end does not wait for a watcher. */
static struct slice output_allowed(struct run *r, struct slice data)
{
	uint64_t limit = r->in->rec.output;
	uint64_t left = limit > r->output ? limit - r->output : 0;
	struct slice allowed = data;
	char size[32];

	if (limit == 0 || data.len <= left)
		return data;
	allowed.len = (size_t)left;
	if (r->channel)
		channel_credit(r->channel, (uint32_t)(data.len - allowed.len));
	if (r->cause == RUN_SELF) {
		str_format_size(size, sizeof(size), limit);
		instance_breach(r->in, "output", "it wrote more than %s", size);
		run_put_end(r, RUN_OUTPUT);
	}
	return allowed;
}

static void run_output(void *arg, enum link_type stream, struct slice data)
{
	struct run *r = arg;
	struct run_watch *w;

	run_has_begun(r); /* output may come before STARTED */
	run_moved(r);
	if (r->is_main)
		data = output_allowed(r, data);
	if (data.len == 0)
		return;
	r->output += data.len;
	if (r->is_main && r->tty)
		screen_feed(&r->screen, data.ptr, data.len);
	if (r->is_main)
		instance_log_write(r->in, data);
	walk_begin(r);
	LIST_FOREACH (w, &r->watches, link) {
		if (w->ops)
			w->ops->output(w->arg, stream, data);
	}
	if (walk_end(r))
		run_credit(r);
}

static void run_stdin_credit(void *arg)
{
	struct run *r = arg;
	struct run_watch *w;

	walk_begin(r);
	LIST_FOREACH (w, &r->watches, link) {
		if (w->ops)
			w->ops->stdin_credit(w->arg);
	}
	walk_end(r);
}

static void run_exited(void *arg, const struct link_exit *x)
{
	struct run *r = arg;
	struct link_exit seen = *x;

	r->channel = NULL;
	/* The cause is not known yet: the steps of the end find out, and end
	 * all runs. */
	if (x->kind == LINK_LOST)
		return;
	if (r->cause == RUN_TIMEOUT)
		seen.kind = LINK_TIMEOUT;
	run_moved(r);
	if (!r->is_main) {
		run_finish(r, &seen);
	} else if (r->in->phase == PHASE_GUEST) {
		r->over = true;
		r->end = seen;
	} else {
		instance_main_over(r->in, &seen);
	}
}

const struct channel_ops run_channel_ops = {
	.started = run_started,
	.output = run_output,
	.stdin_credit = run_stdin_credit,
	.exited = run_exited,
};

/* ---- its end by force ---- */

static void timer_set(struct run *r, uint64_t ms)
{
	uint64_t now = clock_ms();

	r->due_ms = ms < UINT64_MAX - now ? now + ms : UINT64_MAX;
	r->left_ms = ms;
	if (!r->held)
		loop_timer_set(r->timer, ms);
}

void run_limit_begin(struct run *r)
{
	if (r->limit_ms > 0 && r->due_ms == 0)
		timer_set(r, r->limit_ms);
}

static void timer_hold(struct run *r, bool held)
{
	uint64_t now = clock_ms();

	if (r->due_ms == 0)
		return;
	if (held) {
		r->left_ms = r->due_ms > now ? r->due_ms - now : 1;
		loop_timer_clear(r->timer);
		return;
	}
	timer_set(r, r->left_ms);
	if (r->kill_at > 0)
		r->kill_at = r->due_ms;
}

void run_hold(struct run *r, bool held)
{
	struct run_watch *w;

	if (r->held == held)
		return;
	r->held = held;
	timer_hold(r, held);
	LIST_FOREACH (w, &r->watches, link) {
		if (!held && w->ops && w->ops->resumed)
			w->ops->resumed(w->arg);
	}
}

static void run_kill(struct run *r)
{
	if (!r->killed && r->channel)
		channel_signal(r->channel, SIGKILL);
	r->killed = true;
	timer_set(r, KILL_LIMIT_MS);
}

/* The sandbox has not reported the end that KILL must bring. */
static void run_force(struct run *r)
{
	struct link_exit x = { .kind = LINK_SIGNALED, .value = SIGKILL };

	if (r->is_main) {
		instance_main_over(r->in, &x);
		return;
	}
	if (r->cause == RUN_TIMEOUT)
		x.kind = LINK_TIMEOUT;
	run_finish(r, &x);
}

void run_terminate(struct run *r, enum run_cause cause, uint64_t grace_ms)
{
	uint64_t now = clock_ms(), deadline;

	if (r->cause == RUN_SELF)
		r->cause = cause;
	if (r->killed)
		return;
	if (grace_ms == 0) {
		run_kill(r);
		return;
	}
	deadline = grace_ms < UINT64_MAX - now ? now + grace_ms : UINT64_MAX;
	if (r->channel) {
		/* An interactive shell ignores TERM but not its terminal's end;
		 * a stopped process must run to see either. */
		channel_signal(r->channel, SIGTERM);
		if (r->tty)
			channel_signal(r->channel, SIGHUP);
		channel_signal(r->channel, SIGCONT);
	}
	/* A later call with more patience does not move the deadline. */
	if (r->kill_at > 0 && r->kill_at <= deadline)
		return;
	r->kill_at = deadline;
	timer_set(r, grace_ms);
}

static void run_time_over(struct run *r)
{
	instance_breach(r->in, "timeout", "process %u ran for too long",
			(unsigned)r->pid);
	run_put_end(r, RUN_TIMEOUT);
}

static void run_timer(void *arg)
{
	struct run *r = arg;

	if (r->killed)
		run_force(r);
	else if (r->cause != RUN_SELF)
		run_kill(r);
	else
		run_time_over(r);
}

void run_abandon(struct run *r)
{
	const struct link_exit x = { .kind = LINK_SIGNALED, .value = SIGKILL };

	if (r->is_main)
		run_put_end(r, RUN_ABANDONED);
	else
		run_finish(r, &x); /* CLOSE hangs up, then kills */
}

void run_detach(struct run *r)
{
	struct err err = { 0 };

	/* Nothing will write to a pipe again; a terminal may be attached to. */
	if (!r->tty && r->use_stdin)
		run_stdin_eof(r);
	if (!r->is_main || r->in->rec.detached)
		return;
	r->in->rec.detached = true;
	if (instance_save(r->in, &err) < 0)
		log_error("%s", err.msg);
}

/* ---- beginning ---- */

static int exec_error(int rc, struct err *err)
{
	switch (rc) {
	case -EMFILE:
		return err_set(err, rc, "%u processes run there already",
			       LINK_CHANNELS_MAX);
	case -EMSGSIZE:
		return err_set(err, rc, "command and environment are too long");
	case -ENOBUFS:
		return err_set(err, rc, "the sandbox does not answer");
	default:
		return err_set(err, rc, "cannot start a process: %s",
			       err_text(rc));
	}
}

int run_start(struct instance *in, const struct run_options *o, bool is_main,
	      struct run **ret, struct err *err)
{
	static const struct strv none;
	const struct strv *argv = o->files ? &none : run_argv(in, o);
	struct strv filled = { 0 };
	struct link_exec x = {
		.rows = o->rows ? o->rows : 24,
		.cols = o->cols ? o->cols : 80,
		.cwd = run_cwd(in, o),
		.argv = (const char *const *)argv->v,
		.env = (const char *const *)o->env.v,
	};
	struct run *r = calloc(1, sizeof(*r));
	int code;

	if (!r || (o->prompt && run_argv_fill(argv, o->prompt, &filled) < 0)) {
		free(r);
		return err_nomem(err);
	}
	if (o->prompt)
		x.argv = (const char *const *)filled.v;
	x.flags = (o->tty ? LINK_EXEC_PTY : 0u) |
		  (o->use_stdin ? LINK_EXEC_STDIN : 0u) |
		  (o->files     ? LINK_EXEC_FILES :
		   o->connect   ? LINK_EXEC_CONNECT :
		   argv->n == 0 ? LINK_EXEC_LOGIN :
				  0u);
	*r = (struct run){
		.in = in,
		.is_main = is_main,
		.tty = o->tty,
		.use_stdin = o->use_stdin,
		.unnoticed = o->unnoticed,
		.limit_ms = o->timeout_ms || !is_main ? o->timeout_ms :
							in->rec.timeout_ms,
		.rows = x.rows,
		.cols = x.cols,
		.timer = loop_timer_new(in->is->loop, run_timer, r),
	};
	LIST_INIT(&r->watches);
	code = r->timer ? session_exec(in->session, &x, &run_channel_ops, r,
				       &r->channel) :
			  -ENOMEM;
	strv_done(&filled);
	if (code < 0) {
		run_free(r);
		return exec_error(code, err);
	}
	if (session_is_ready(in->session))
		run_limit_begin(r);
	run_hold(r, instance_state_is_still(in->rec.state));
	*ret = r;
	return 0;
}

/* init-guard of a sandbox that went on from a memory has the variables of the
 * instance that it was. */
static int exec_start(struct instance *in, const struct run_options *o,
		      struct run **ret, struct err *err)
{
	struct run_options named = *o; /* borrows all but env */
	int rc = 0;

	if (!in->resumed || o->files || o->connect)
		return run_start(in, o, false, ret, err);
	named.env = (struct strv){ 0 };
	if (strv_pushf(&named.env, "AC_INSTANCE=%s", in->rec.name) < 0)
		rc = -ENOMEM;
	for (size_t i = 0; i < o->env.n && rc == 0; i++)
		rc = strv_push(&named.env, o->env.v[i]);
	rc = rc < 0 ? err_nomem(err) : run_start(in, &named, false, ret, err);
	strv_done(&named.env);
	return rc;
}

int instance_exec(struct instance *in, const struct run_options *o,
		  struct run **ret, struct err *err)
{
	int code;

	if (in->rec.state == INSTANCE_PAUSED)
		return instance_paused_error(in, err);
	if (!instance_is_up(in) || !in->main || !in->session ||
	    !session_is_ready(in->session))
		return err_set(err, -ENOTCONN, "'%s' is not running",
			       in->rec.name);
	code = exec_start(in, o, ret, err);
	if (code < 0)
		return err_wrap(err, "%s", in->rec.name);
	LIST_INSERT_HEAD(&in->execs, *ret, link);
	run_moved(*ret);
	return 0;
}

/* ---- going on from a memory ---- */

struct run *run_resumed(struct instance *in, const json_t *v)
{
	const struct run_options *o = &in->asked.options;
	const char *modes = json_string_value(json_object_get(v, "modes"));
	struct run *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct run){
		.in = in,
		.is_main = true,
		.tty = o->tty,
		.use_stdin = o->use_stdin,
		.limit_ms = in->rec.timeout_ms,
		.pid = (uint32_t)json_integer_value(json_object_get(v, "pid")),
		.rows = o->rows,
		.cols = o->cols,
		.timer = loop_timer_new(in->is->loop, run_timer, r),
	};
	LIST_INIT(&r->watches);
	if (!r->timer) {
		run_free(r);
		return NULL;
	}
	/* A terminal that joins gets the modes; then the program draws. */
	if (modes)
		screen_feed(&r->screen, (const uint8_t *)modes, strlen(modes));
	r->screen.seen = r->screen.start = 0;
	return r;
}

void run_drop(struct run *r)
{
	run_free(r);
}
