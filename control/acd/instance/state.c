/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.c - one instance: its state, and who is told when that changes
 *
 * The other files of this folder use this one, which calls none of them.
 */
#include "control/acd/instance/instance_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control/acd/instance/project_use.h"
#include "control/acd/instance/volume_use.h"
#include "lib/log.h"
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

void instance_waiters_free(struct instance_waiters *list)
{
	struct instance_waiter *w;

	while ((w = STAILQ_FIRST(list))) {
		STAILQ_REMOVE_HEAD(list, link);
		free(w);
	}
}

void instances_call_later(void *arg)
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
	int rc = waiter_add(&is->later, fn, arg, err);

	if (rc == 0)
		loop_timer_set(is->later_timer, 0);
	return rc;
}

void instances_not_later(struct instances *is, instance_fn fn, void *arg)
{
	struct instance_waiter *w;

	STAILQ_FOREACH(w, &is->later, link)
	{
		if (w->fn == fn && w->arg == arg)
			break;
	}
	if (!w)
		return;
	STAILQ_REMOVE(&is->later, w, instance_waiter, link);
	free(w);
}

int instance_wait(struct instance *in, instance_fn fn, void *arg)
{
	return waiter_add(&in->waiters, fn, arg, NULL);
}

void instance_wait_end(struct instance *in, instance_fn fn, void *arg)
{
	struct instance_waiter *w;

	STAILQ_FOREACH(w, &in->waiters, link)
	{
		if (w->fn == fn && w->arg == arg)
			break;
	}
	if (!w)
		return;
	STAILQ_REMOVE(&in->waiters, w, instance_waiter, link);
	STAILQ_INSERT_TAIL(&in->is->later, w, link);
	loop_timer_set(in->is->later_timer, 0);
}

/* From the loop: the callers are in the middle of a change. */
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
		return; /* freed by events_call() */
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

void instance_tell_change(struct instance *in)
{
	events_call(in, NULL, NULL);
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

void instance_breach(struct instance *in, const char *limit, const char *fmt,
		     ...)
{
	char text[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_warn("%s: %s limit reached: %s", in->rec.name, limit, text);
	instance_tell_breach(in, limit, text);
}

void instance_moved(struct instance *in)
{
	in->life.moved_ms = clock_ms();
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

/* ---- one instance ---- */

struct instance *instance_find(struct instances *is, const char *name)
{
	struct instance *in;

	TAILQ_FOREACH (in, &is->all, link) {
		if (strcmp(in->rec.name, name) == 0)
			return in;
	}
	return NULL;
}

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
	       instance_state_is_still(in->rec.state);
}

bool instance_is_leaving(const struct instance *in)
{
	return instance_files_go(in) || in->clean != CLEAN_NOT;
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
	int rc = store_update(in->is->store, &in->rec, err);

	if (rc < 0)
		err_wrap(err, "cannot record the state of '%s'", in->rec.name);
	return rc;
}

int instance_blueprint(const struct instance_record *r, struct blueprint *ret,
		       struct err *err)
{
	struct blueprint bp = { 0 };
	struct egress own = { 0 };
	int rc = project_use_load(r, &bp, err);

	if (rc == 0)
		rc = egress_load(r->egress_json, &own, err);
	if (rc == 0)
		rc = blueprint_use_model(&bp, own.model_url, err);
	if (rc == 0)
		rc = volume_use_add(r, &bp, err);
	egress_done(&own);
	if (rc < 0)
		blueprint_done(&bp);
	else
		*ret = bp;
	return rc;
}

int instance_load_blueprint(struct instance *in, struct err *err)
{
	struct blueprint bp = { 0 };
	char *image;
	int rc = instance_blueprint(&in->rec, &bp, err);

	if (rc < 0)
		return rc;
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

int instance_paused_error(const struct instance *in, struct err *err)
{
	return err_set(err, INSTANCE_IS_PAUSED,
		       "'%s' is paused; 'ac resume %s' lets it go on",
		       in->rec.name, in->rec.name);
}
