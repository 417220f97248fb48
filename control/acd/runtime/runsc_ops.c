/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_ops.c - operations on a sandbox of the runsc runtime
 *
 * No callback comes before its call has returned: each is a struct call with a
 * timer, which waits for something or is due at once. A call has only the id of
 * its sandbox, since that may be removed meanwhile.
 */
#include "control/acd/runtime/runsc_impl.h"

#include <signal.h>
#include <string.h>

#include "control/acd/daemon/machine.h"

/* The link closes a moment before the process has ended. */
#define END_WAIT_MS 5000u
#define KILL_WAIT_MS 5000u
#define FREEZE_LIMIT_MS 2000u
#define FREEZE_LOOK_MS 1u

struct call {
	LIST_ENTRY(call) link;
	struct runsc *rs;
	struct loop_timer *timer;
	char id[RUNSC_ID_LEN + 1];
	/* Called when the timer is due, or what it waits for has come. */
	void (*step)(struct call *c, struct box *b);
	bool waits; /* for the end of the sandbox */
	bool killed, frozen;
	uint64_t until;
	runtime_done_fn done;
	runtime_wake_fn woken;
	runtime_stats_fn stats;
	runtime_end_fn end;
	void *arg;
	struct runtime_stats figures;
	struct err err;
};

struct cgroup_limits runsc_limits(uint64_t cpu_milli, uint64_t memory,
				  uint64_t pids)
{
	return (struct cgroup_limits){
		.cpu_milli = cpu_milli,
		.memory = memory,
		.pids = machine_tasks(pids, false).outside,
	};
}

/* Answers and frees the call. */
static void call_end(struct call *c, const struct runtime_end *end)
{
	struct call now = *c;
	const struct err *err = now.err.code < 0 ? &now.err : NULL;

	LIST_REMOVE(c, link);
	loop_timer_free(c->timer);
	free(c);
	if (now.done)
		now.done(now.arg, err);
	else if (now.woken)
		now.woken(now.arg, -1, err);
	else if (now.stats)
		now.stats(now.arg, err ? NULL : &now.figures, err);
	else
		now.end(now.arg, end, err);
}

static void on_call(void *arg)
{
	struct call *c = arg;

	c->step(c, box_find(c->rs, c->id));
}

static void step_answer(struct call *c, struct box *b)
{
	(void)b;
	call_end(c, NULL);
}

/* Makes a call that is due at once, with step_answer(), unless changed. */
static struct call *call_new(struct runsc *rs, const char *id, void *arg)
{
	struct call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->timer = loop_timer_new(rs->loop, on_call, c);
	if (!c->timer) {
		free(c);
		return NULL;
	}
	c->rs = rs;
	snprintf(c->id, sizeof(c->id), "%s", id);
	c->step = step_answer;
	c->arg = arg;
	LIST_INSERT_HEAD(&rs->calls, c, link);
	loop_timer_set(c->timer, 0);
	return c;
}

int runsc_answer_later(struct runsc *rs, const char *id, const struct err *err,
		       runtime_done_fn fn, void *arg)
{
	struct call *c = call_new(rs, id, arg);

	if (!c)
		return -ENOMEM;
	c->done = fn;
	if (err)
		c->err = *err;
	return 0;
}

int runsc_woken_later(struct runsc *rs, const char *id, const struct err *err,
		      runtime_wake_fn fn, void *arg)
{
	struct call *c = call_new(rs, id, arg);

	if (!c)
		return -ENOMEM;
	c->woken = fn;
	if (err)
		c->err = *err;
	return 0;
}

static int gone(struct err *err, const char *id)
{
	return err_set(err, -ENOENT, "there is no sandbox %s", id);
}

void runsc_calls_wake(struct runsc *rs, const char *id)
{
	struct call *c;

	LIST_FOREACH (c, &rs->calls, link) {
		if (c->waits && strcmp(c->id, id) == 0)
			loop_timer_set(c->timer, 0);
	}
}

void runsc_calls_cancel(struct runsc *rs)
{
	struct call *c;

	while ((c = LIST_FIRST(&rs->calls))) {
		err_set(&c->err, -ECANCELED, "acd ends");
		call_end(c, NULL);
	}
}

/* ---- stop ---- */

static void step_stop(struct call *c, struct box *b)
{
	if (!b || b->pid == 0) {
		call_end(c, NULL);
	} else if (!c->killed) {
		c->killed = true;
		cgroup_kill(b->id);
		loop_timer_set(c->timer, KILL_WAIT_MS);
	} else {
		err_set(&c->err, -ETIMEDOUT, "sandbox %s does not end", b->id);
		call_end(c, NULL);
	}
}

int runsc_op_stop(struct runtime *rt, const char *id, uint64_t grace_ms,
		  runtime_done_fn fn, void *arg)
{
	struct runsc *rs = runsc_of(rt);
	struct box *b;
	struct call *c;

	if (!runsc_is_ours(id))
		return rs->docker->ops->stop(rs->docker, id, grace_ms, fn, arg);
	c = call_new(rs, id, arg);
	if (!c)
		return -ENOMEM;
	c->done = fn;
	b = box_find(rs, id);
	if (!b || b->pid == 0)
		return 0;
	/* gVisor passes it on to the sandbox's PID 1. */
	kill(b->pid, SIGTERM);
	c->step = step_stop;
	c->waits = true;
	loop_timer_set(c->timer, grace_ms);
	return 0;
}

/* ---- remove ---- */

int runsc_op_remove(struct runtime *rt, const char *id, runtime_done_fn fn,
		    void *arg)
{
	struct runsc *rs = runsc_of(rt);
	struct box *b;
	struct call *c;

	if (!runsc_is_ours(id))
		return rs->docker->ops->remove(rs->docker, id, fn, arg);
	b = box_find(rs, id);
	if (b)
		return box_remove(b, fn, arg, NULL);
	c = call_new(rs, id, arg);
	if (!c)
		return -ENOMEM;
	c->done = fn;
	return 0;
}

/* ---- stats ---- */

int runsc_op_stats(struct runtime *rt, const char *id, runtime_stats_fn fn,
		   void *arg)
{
	struct runsc *rs = runsc_of(rt);
	struct box *b;
	struct call *c;

	if (!runsc_is_ours(id))
		return rs->docker->ops->stats(rs->docker, id, fn, arg);
	c = call_new(rs, id, arg);
	if (!c)
		return -ENOMEM;
	c->stats = fn;
	b = box_find(rs, id);
	if (!b)
		gone(&c->err, id);
	else if (cgroup_stats(id, &c->figures, &c->err) == 0)
		/* Counters of a removed interface stay 0. */
		netns_counters(&b->veth, &c->figures.rx_bytes,
			       &c->figures.tx_bytes);
	return 0;
}

/* ---- writer ---- */

pid_t runsc_op_writer(struct runtime *rt, const char *id)
{
	struct runsc *rs = runsc_of(rt);
	const struct runtime_ops *docker = rs->docker->ops;
	const struct box *b;

	if (!runsc_is_ours(id))
		return docker->writer ? docker->writer(rs->docker, id) : 0;
	b = box_find(rs, id);
	return b ? b->pid : 0;
}

/* ---- end ---- */

static void step_end(struct call *c, struct box *b)
{
	struct runtime_end end = { 0 };

	if (!b) {
		gone(&c->err, c->id);
		call_end(c, NULL);
		return;
	}
	end.running = b->pid != 0;
	end.exit_code = b->exit_code;
	end.oom = cgroup_oom_kills(b->id) > 0;
	end.tasks = cgroup_tasks_refused(b->id) > 0;
	links_words(c->rs->links, b->id, end.text, sizeof(end.text));
	call_end(c, &end);
}

int runsc_op_end(struct runtime *rt, const char *id, bool lost,
		 runtime_end_fn fn, void *arg)
{
	struct runsc *rs = runsc_of(rt);
	const struct box *b;
	struct call *c;

	if (!runsc_is_ours(id))
		return rs->docker->ops->end(rs->docker, id, lost, fn, arg);
	c = call_new(rs, id, arg);
	if (!c)
		return -ENOMEM;
	c->end = fn;
	c->step = step_end;
	b = box_find(rs, id);
	if (lost && b && b->pid) {
		c->waits = true;
		loop_timer_set(c->timer, END_WAIT_MS);
	}
	return 0;
}

/* ---- update, freeze ---- */

int runsc_op_update(struct runtime *rt, const char *id,
		    const struct runtime_limits *limits, runtime_done_fn fn,
		    void *arg)
{
	struct runsc *rs = runsc_of(rt);
	const struct runtime_ops *docker = rs->docker->ops;
	const struct cgroup_limits l =
		runsc_limits(limits->cpu_milli, limits->memory, limits->pids);
	struct call *c;

	if (!runsc_is_ours(id))
		return docker->update ?
			       docker->update(rs->docker, id, limits, fn, arg) :
			       -ENOTSUP;
	c = call_new(rs, id, arg);
	if (!c)
		return -ENOMEM;
	c->done = fn;
	if (!box_find(rs, id))
		gone(&c->err, id);
	else
		cgroup_set(id, &l, &c->err);
	return 0;
}

static void step_freeze(struct call *c, struct box *b)
{
	if (!b)
		gone(&c->err, c->id);
	else if (cgroup_is_frozen(c->id) == c->frozen)
		c->err.code = 0;
	else if (clock_ms() >= c->until) {
		err_set(&c->err, -ETIMEDOUT, "sandbox %s does not %s", c->id,
			c->frozen ? "freeze" : "thaw");
		/* Undo a freeze, or it would come unexpectedly later. A late
		 * thaw is harmless. */
		if (c->frozen)
			cgroup_freeze(c->id, false, NULL);
	} else {
		loop_timer_set(c->timer, FREEZE_LOOK_MS);
		return;
	}
	call_end(c, NULL);
}

int runsc_op_freeze(struct runtime *rt, const char *id, bool frozen,
		    runtime_done_fn fn, void *arg)
{
	struct runsc *rs = runsc_of(rt);
	struct call *c;

	if (!runsc_is_ours(id))
		return rs->docker->ops->freeze(rs->docker, id, frozen, fn, arg);
	c = call_new(rs, id, arg);
	if (!c)
		return -ENOMEM;
	c->done = fn;
	if (!box_find(rs, id)) {
		gone(&c->err, id);
		return 0;
	}
	if (cgroup_freeze(id, frozen, &c->err) < 0)
		return 0;
	c->frozen = frozen;
	c->until = clock_ms() + FREEZE_LIMIT_MS;
	c->step = step_freeze;
	return 0;
}
