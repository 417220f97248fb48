/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance.c - all instances: loaded from the store, until acd ends
 *
 * Theory of operation: every record of the store has one struct instance, from
 * the start of acd until the record is deleted. The record in memory is
 * authoritative, the store follows. Files call those below them:
 *
 *	transaction.c its options, changed alone or with a run
 *	start.c       requests: run, stop, clean
 *	overdue.c     ends without a request: ttl, idle time
 *	steps.c       the steps of a run, forwards and backwards
 *	place.c disk_limit.c policy_bind.c sandbox.c greeting.c end.c pause.c
 *	              a step or two each
 *	snapshot/     copies of its files: snapshots, restores, forks
 *	clean.c       removal of files; reconciliation
 *	run.c         a process in the sandbox and its watchers
 *	term_log.c    the terminal log and its readers
 *	set.c state.c one instance, by itself
 */
#include "control/acd/instance/instance.h"

#include "control/acd/instance/instance_impl.h"

#include "control/acd/instance/port/port_conn.h"
#include "control/acd/net/ports.h"
#include "control/shared/paths.h"

static int instance_loaded(void *arg, const struct instance_record *r)
{
	struct instances *is = arg;
	struct instance *in = instance_alloc(is, r);

	if (!in)
		return -ENOMEM;
	TAILQ_INSERT_TAIL(&is->all, in, link);
	return 0;
}

struct instances *instances_new(struct loop *loop, struct store *store,
				struct runtime *rt, struct builds *builds,
				struct err *err)
{
	struct instances *is = calloc(1, sizeof(*is));

	if (!is) {
		err_nomem(err);
		return NULL;
	}
	*is = (struct instances){
		.loop = loop,
		.store = store,
		.rt = rt,
		.builds = builds,
		.steps = instance_steps,
		.dir = AC_STATE_INSTANCES,
	};
	TAILQ_INIT(&is->all);
	LIST_INIT(&is->events);
	LIST_INIT(&is->transactions);
	LIST_INIT(&is->port_conns);
	LIST_INIT(&is->tasks_left);
	STAILQ_INIT(&is->later);
	is->later_timer = loop_timer_new(loop, instances_call_later, is);
	if (!is->later_timer) {
		err_nomem(err);
		instances_free(is);
		return NULL;
	}
	if (store_each(store, instance_loaded, is, err) < 0) {
		instances_free(is);
		return NULL;
	}
	instances_lost(is);
	instances_snapshots_begin(is);
	if (instances_life_begin(is) < 0) {
		err_nomem(err);
		instances_free(is);
		return NULL;
	}
	return is;
}

void instances_set_dir(struct instances *is, const char *dir)
{
	is->dir = dir;
}

int instances_set_egress(struct instances *is,
			 const struct instance_egress_ops *ops, void *arg,
			 struct err *err)
{
	is->egress = ops;
	is->egress_arg = arg;
	if (ops && ops->on_revoked &&
	    ops->on_revoked(arg, instances_revoked, is) < 0)
		return err_nomem(err);
	return 0;
}

void instances_set_pool(struct instances *is,
			const struct instance_pool_ops *ops, void *arg)
{
	is->pool = ops;
	is->pool_arg = arg;
}

bool instances_busy(const struct instances *is)
{
	const struct instance *in;

	TAILQ_FOREACH (in, &is->all, link) {
		if (instance_is_between(in))
			return true;
	}
	return false;
}

void instances_free(struct instances *is)
{
	const struct link_exit lost = { .kind = LINK_LOST };
	struct instance_event *e;
	struct instance *in;
	struct run *r;

	if (!is)
		return;
	while ((e = LIST_FIRST(&is->events)))
		instance_event_free(e);
	transactions_free(is);
	while ((in = TAILQ_FIRST(&is->all))) {
		TAILQ_REMOVE(&is->all, in, link);
		if (is->ports)
			ports_close(is->ports, in->rec.name);
		while ((r = LIST_FIRST(&in->execs)))
			run_finish(r, &lost);
		if (in->main)
			run_finish(in->main, &lost);
		session_free(in->session);
		instance_free(in);
	}
	port_conns_free(is);
	instances_tasks_free(is);
	instances_memory_free(is);
	instance_waiters_free(&is->later);
	loop_timer_free(is->later_timer);
	loop_timer_free(is->life_timer);
	loop_timer_free(is->room_timer);
	free(is);
}

void instances_each(struct instances *is,
		    void (*fn)(void *arg, struct instance *in), void *arg)
{
	struct instance *in;

	TAILQ_FOREACH (in, &is->all, link) {
		fn(arg, in);
	}
}

unsigned instances_live(const struct instances *is)
{
	const struct instance *in;
	unsigned n = 0;

	TAILQ_FOREACH (in, &is->all, link) {
		n += instance_is_live(in);
	}
	return n;
}

/* ---- one instance ---- */

int instance_stats(struct instance *in, runtime_stats_fn fn, void *arg)
{
	struct runtime *rt = in->is->rt;

	if (!instance_is_up(in) || !in->rec.container_id)
		return -ENOTCONN;
	if (!rt->ops->stats)
		return -ENOTSUP;
	return rt->ops->stats(rt, in->rec.container_id, fn, arg);
}
