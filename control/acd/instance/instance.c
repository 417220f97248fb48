/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance.c - the set of instances: records, names, who hears of changes
 *
 * Theory of operation: every record of the store has one struct instance,
 * from the start of acd to the record's deletion; the record in memory is
 * what counts, the store follows it. What an instance does is in
 *
 *	instance/start.c  from instance_run() to the main process
 *	instance/policy_bind.c what it may reach, for as long as it runs
 *	instance/end.c    exit, stop, loss; the sandbox's removal
 *	instance/clean.c  removal of files; reconciliation, shutdown
 *	instance/pause.c  frozen, and thawed
 *	instance/overdue.c   ttl, idle time; limits that are reached
 *	instance/term_log.c    the terminal log and its readers
 *	run.c             a process in the sandbox and its watchers
 *
 * An instance is freed only while it is not live and nothing is under way
 * for it, so that its address serves as the argument of every callback.
 */
#include "control/acd/instance/instance.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control/acd/instance/instance_impl.h"
#include "control/acd/storage/mounts.h"
#include "control/shared/paths.h"
#include "lib/str.h"

struct instance_event {
	LIST_ENTRY(instance_event) link;
	struct instances *is;
	instance_event_fn fn; /* NULL: left */
	void *arg;
};

/* ---- calls from the loop ---- */

static void waiters_call(struct instance_waiters *list)
{
	struct instance_waiters now = STAILQ_HEAD_INITIALIZER(now);
	struct instance_waiter *w;

	STAILQ_CONCAT(&now, list); /* a callback may add others */
	while ((w = STAILQ_FIRST(&now))) {
		STAILQ_REMOVE_HEAD(&now, link);
		w->fn(w->arg, w->err.code < 0 ? &w->err : NULL);
		free(w);
	}
}

static void waiters_free(struct instance_waiters *list)
{
	struct instance_waiter *w;

	while ((w = STAILQ_FIRST(list))) {
		STAILQ_REMOVE_HEAD(list, link);
		free(w);
	}
}

static void instances_call_later(void *arg)
{
	struct instances *is = arg;

	waiters_call(&is->later);
}

static int waiter_add(struct instance_waiters *list, instance_fn fn, void *arg,
		      const struct err *err)
{
	struct instance_waiter *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->fn = fn;
	w->arg = arg;
	if (err)
		w->err = *err;
	STAILQ_INSERT_TAIL(list, w, link);
	return 0;
}

int instances_later(struct instances *is, instance_fn fn, void *arg,
		    const struct err *err)
{
	int ret = waiter_add(&is->later, fn, arg, err);

	if (ret == 0)
		loop_timer_set(is->later_timer, 0);
	return ret;
}

int instance_wait(struct instance *in, instance_fn fn, void *arg)
{
	return waiter_add(&in->waiters, fn, arg, NULL);
}

/* By way of the loop: the callers are in the middle of a change. */
void instance_wake(struct instance *in, const struct err *err)
{
	struct instance_waiter *w;

	STAILQ_FOREACH(w, &in->waiters, link)
	{
		if (err)
			w->err = *err;
	}
	if (STAILQ_EMPTY(&in->waiters))
		return;
	STAILQ_CONCAT(&in->is->later, &in->waiters);
	loop_timer_set(in->is->later_timer, 0);
}

/* ---- events ---- */

struct instance_event *instance_event_add(struct instances *is,
					  instance_event_fn fn, void *arg)
{
	struct instance_event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	*e = (struct instance_event){ .is = is, .fn = fn, .arg = arg };
	LIST_INSERT_HEAD(&is->events, e, link);
	return e;
}

void instance_event_free(struct instance_event *e)
{
	if (!e)
		return;
	e->fn = NULL;
	if (e->is->walking > 0)
		return; /* swept when the walk is over */
	LIST_REMOVE(e, link);
	free(e);
}

static void events_call(struct instance *in, const char *limit,
			const char *text)
{
	struct instances *is = in->is;
	struct instance_event *e, *next;

	is->walking++;
	LIST_FOREACH (e, &is->events, link) {
		if (e->fn)
			e->fn(e->arg, in, limit, text);
	}
	if (--is->walking > 0)
		return;
	for (e = LIST_FIRST(&is->events); e; e = next) {
		next = LIST_NEXT(e, link);
		if (!e->fn)
			instance_event_free(e);
	}
}

void instance_set_state(struct instance *in, enum instance_state st)
{
	in->rec.state = st;
	events_call(in, NULL, NULL);
}

void instance_tell_breach(struct instance *in, const char *limit,
			  const char *text)
{
	events_call(in, limit, text);
}

void instance_set_reason(struct instance *in, const char *fmt, ...)
{
	char text[sizeof(((struct err *)NULL)->msg)];
	char *copy;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	copy = strdup(text);
	if (!copy)
		return; /* the old reason is better than none */
	free(in->rec.reason);
	in->rec.reason = copy;
}

/* ---- the set ---- */

static struct instance *instance_alloc(struct instances *is,
				       const struct instance_record *r)
{
	struct instance *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	if (instance_record_copy(&in->rec, r) < 0) {
		free(in);
		return NULL;
	}
	in->is = is;
	LIST_INIT(&in->execs);
	LIST_INIT(&in->logs);
	STAILQ_INIT(&in->waiters);
	return in;
}

static void instance_free(struct instance *in)
{
	instance_log_drop(in, false);
	loop_timer_free(in->ready_timer);
	treejob_forget(in->tree);
	instance_disk_free(in);
	waiters_free(&in->waiters);
	run_wish_done(&in->wish);
	run_wish_done(&in->next);
	instance_settled(in);
	blueprint_done(&in->bp);
	instance_egress_free(in);
	instance_record_done(&in->rec);
	free(in->image);
	free(in);
}

static void instance_insert(struct instances *is, struct instance *in)
{
	struct instance *at;

	TAILQ_FOREACH (at, &is->all, link) {
		if (strcmp(in->rec.name, at->rec.name) < 0) {
			TAILQ_INSERT_BEFORE(at, in, link);
			return;
		}
	}
	TAILQ_INSERT_TAIL(&is->all, in, link);
}

void instance_forget(struct instance *in)
{
	TAILQ_REMOVE(&in->is->all, in, link);
	instance_wake(in, NULL);
	instance_free(in);
}

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
		.dir = AC_STATE_INSTANCES,
	};
	TAILQ_INIT(&is->all);
	LIST_INIT(&is->events);
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
	    ops->on_revoked(arg, instance_egress_revoked, is) < 0)
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
		if (in->rec.state == INSTANCE_STARTING || in->waits)
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
	while ((in = TAILQ_FIRST(&is->all))) {
		TAILQ_REMOVE(&is->all, in, link);
		while ((r = LIST_FIRST(&in->execs)))
			run_finish(r, &lost);
		if (in->main)
			run_finish(in->main, &lost);
		session_free(in->session);
		instance_free(in);
	}
	waiters_free(&is->later);
	loop_timer_free(is->later_timer);
	loop_timer_free(is->life_timer);
	loop_timer_free(is->room_timer);
	free(is);
}

struct instance *instance_find(struct instances *is, const char *name)
{
	struct instance *in;

	TAILQ_FOREACH (in, &is->all, link) {
		if (strcmp(in->rec.name, name) == 0)
			return in;
	}
	return NULL;
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

const struct instance_record *instance_record(const struct instance *in)
{
	return &in->rec;
}

bool instance_is_live(const struct instance *in)
{
	return instance_state_is_live(in->rec.state);
}

bool instance_is_up(const struct instance *in)
{
	return in->rec.state == INSTANCE_RUNNING ||
	       in->rec.state == INSTANCE_PAUSED;
}

bool instance_is_leaving(const struct instance *in)
{
	return in->tree != NULL;
}

const char *instance_image(const struct instance *in)
{
	return in->image;
}

struct run *instance_main(struct instance *in)
{
	return in->main;
}

char *instance_path(const struct instance *in, const char *sub)
{
	return str_printf("%s/%s%s%s", in->is->dir, in->rec.name,
			  *sub ? "/" : "", sub);
}

int instance_save(struct instance *in, struct err *err)
{
	int ret = store_update(in->is->store, &in->rec, err);

	if (ret < 0)
		err_wrap(err, "cannot record the state of '%s'", in->rec.name);
	return ret;
}

int instance_load_blueprint(struct instance *in, struct err *err)
{
	struct blueprint bp = { 0 };
	char *image;
	int ret = blueprint_load(in->rec.blueprint, &bp, err);

	if (ret < 0)
		return ret;
	image = strdup(bp.image);
	if (!image) {
		blueprint_done(&bp);
		return err_nomem(err);
	}
	free(in->image);
	in->image = image;
	blueprint_done(&in->bp);
	in->bp = bp;
	return 0;
}

int instance_create(struct instances *is, const struct instance_record *r,
		    struct instance **ret, struct err *err)
{
	struct instance *in = instance_alloc(is, r);
	int code;

	if (!in)
		return err_nomem(err);
	in->rec.state = INSTANCE_CREATED;
	in->rec.exit_code = -1;
	in->rec.created_at = time(NULL);
	code = store_insert(is->store, &in->rec, err);
	if (code < 0) {
		instance_free(in);
		return code;
	}
	/* What was sent before was meant for another one of this name. */
	mounts_forget_external(in->rec.name);
	instance_insert(is, in);
	*ret = in;
	events_call(in, NULL, NULL);
	return 0;
}

/* NULL is a text of its own. */
static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

int instance_update(struct instance *in, const struct instance_record *r,
		    struct err *err)
{
	struct instance_record old = in->rec, new = { 0 };
	int ret;

	/* While it is stopping the next run may be prepared. */
	if (in->rec.state == INSTANCE_STARTING || instance_is_up(in) ||
	    in->tree)
		return err_set(err, -EBUSY, "'%s' is %s", in->rec.name,
			       in->tree ? "being cleaned" : "running");
	if (instance_record_copy(&new, r) < 0)
		return err_nomem(err);
	in->rec = new;
	in->rec.disk = old.disk; /* until the other holds */
	ret = instance_save(in, err);
	if (ret < 0) {
		in->rec = old;
		instance_record_done(&new);
		return ret;
	}
	if (!same_text(old.workspace, new.workspace))
		mounts_forget_external(new.name);
	instance_disk_wish(in, new.disk);
	instance_record_done(&old);
	instance_life_arm(in);
	return 0;
}

int instance_stats(struct instance *in, runtime_stats_fn fn, void *arg)
{
	struct runtime *rt = in->is->rt;

	if (!instance_is_up(in) || !in->rec.container_id)
		return -ENOTCONN;
	if (!rt->ops->stats)
		return -ENOTSUP;
	return rt->ops->stats(rt, in->rec.container_id, fn, arg);
}
