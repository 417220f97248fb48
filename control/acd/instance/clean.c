/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clean.c - removal of an instance's files, of its record, and of
 * what an earlier life of acd left behind
 *
 * Files go only while nothing runs that could write them, and the record
 * only when its files have gone: a removal that was cut short can be asked
 * for again.
 */
#include "control/acd/instance/instance_impl.h"

#include <string.h>

#include "control/acd/storage/mounts.h"
#include "lib/log.h"

/* ---- clean and destroy ---- */

static void tree_removed(void *arg, const struct err *err)
{
	struct instance *in = arg;
	enum instance_clean clean = in->clean;
	struct err failed = { 0 };

	in->tree = NULL;
	in->clean = CLEAN_NOT;
	if (err) {
		failed = *err;
		err_wrap(&failed, "'%s'", in->rec.name);
	} else if (clean == CLEAN_EXPIRED) {
		instance_set_state(in, INSTANCE_EXPIRED);
		instance_save(in, &failed);
	} else if (clean == CLEAN_ALL) {
		if (store_delete(in->is->store, in->rec.name, &failed) == 0) {
			mounts_release(in->rec.name);
			instance_forget(in);
			return;
		}
	}
	if (failed.code < 0)
		log_error("%s", failed.msg);
	instance_wake(in, failed.code < 0 ? &failed : NULL);
}

static int tree_begin(struct instance *in, struct err *err)
{
	instance_log_drop(in, true);
	return instance_disk_remove(in, in->clean == CLEAN_ALL, tree_removed,
				    err);
}

void instance_clean_now(struct instance *in)
{
	struct err err = { 0 };

	if (in->clean <= CLEAN_EXPIRED && in->rec.auto_remove)
		in->clean = CLEAN_ALL;
	if (in->clean == CLEAN_NOT) {
		instance_wake(in, NULL);
		return;
	}
	if (tree_begin(in, &err) < 0) {
		log_error("%s: %s", in->rec.name, err.msg);
		in->clean = CLEAN_NOT;
		instance_wake(in, &err);
	}
}

static int clean_ask(struct instance *in, enum instance_clean clean, bool force,
		     instance_fn fn, void *arg)
{
	const struct err canceled = {
		.code = -ECANCELED,
		.msg = "the instance is being cleaned",
	};
	int ret;

	/* What is stopping will be gone in a moment: no reason to refuse. */
	if (in->tree || (instance_is_live(in) && !force &&
			 in->rec.state != INSTANCE_STOPPING))
		return -EBUSY;
	ret = instance_wait(in, fn, arg);
	if (ret < 0)
		return ret;
	if (in->clean < clean)
		in->clean = clean;
	instance_start_next(in, &canceled);
	if (instance_is_live(in)) {
		if (force)
			instance_end(in, RUN_STOPPED, 0);
	} else if (in->rec.container_id) {
		/* Its removal had failed; files of a sandbox that may still
		 * write them are not touched. */
		instance_teardown_left(in);
	} else {
		instance_clean_now(in);
	}
	return 0;
}

int instance_clean(struct instance *in, bool force, instance_fn fn, void *arg)
{
	return clean_ask(in, CLEAN_HOME, force, fn, arg);
}

int instance_destroy(struct instance *in, bool force, instance_fn fn, void *arg)
{
	return clean_ask(in, CLEAN_ALL, force, fn, arg);
}

/* ---- after a start of acd or of the engine ---- */

/* The sandbox went with the acd that had it. Who asks for its end, before
 * reconciliation too, must not wait for one that will never come. */
static void record_lost(struct instance *in)
{
	bool live = instance_is_live(in);
	struct err err = { 0 };

	if (!live && !in->rec.container_id)
		return;
	free(in->rec.container_id);
	in->rec.container_id = NULL;
	if (live) {
		instance_set_reason(in, INSTANCE_REASON_LOST);
		in->rec.finished_at = time(NULL);
		instance_set_state(in, INSTANCE_FAILED);
	}
	/* The next start would only find the same again. */
	if (instance_save(in, &err) < 0)
		log_error("%s", err.msg);
}

void instances_lost(struct instances *is)
{
	struct instance *in;

	TAILQ_FOREACH (in, &is->all, link) {
		record_lost(in);
	}
}

struct reconcile {
	struct instances *is;
	struct strv ids;
	unsigned pending;
	struct err err; /* the first */
	instance_fn fn;
	void *arg;
};

/* All that was listed is gone. */
static void reconcile_one(const struct reconcile *rc, struct instance *in)
{
	struct err err = { 0 };
	size_t i;

	for (i = 0; in->rec.container_id && i < rc->ids.n; i++) {
		if (strcmp(rc->ids.v[i], in->rec.container_id) != 0)
			continue;
		free(in->rec.container_id);
		in->rec.container_id = NULL;
		if (instance_save(in, &err) < 0)
			log_error("%s", err.msg);
	}
	/* What was to be removed at its end has ended. */
	if (in->rec.auto_remove && !in->rec.container_id &&
	    in->rec.state != INSTANCE_CREATED)
		instance_clean_now(in);
}

static void reconcile_done(struct reconcile *rc)
{
	struct instances *is = rc->is;
	struct instance *in, *next;

	for (in = TAILQ_FIRST(&is->all); in; in = next) {
		next = TAILQ_NEXT(in, link);
		if (rc->err.code == 0 && !in->tree && !instance_is_live(in))
			reconcile_one(rc, in);
	}
	rc->fn(rc->arg, rc->err.code < 0 ? &rc->err : NULL);
	strv_done(&rc->ids);
	free(rc);
}

static void reconcile_failed(struct reconcile *rc, const struct err *err)
{
	if (rc->err.code < 0)
		return;
	rc->err = *err;
	err_wrap(&rc->err, "cannot remove a left-over sandbox");
}

static void reconcile_removed(void *arg, const struct err *err)
{
	struct reconcile *rc = arg;

	if (err)
		reconcile_failed(rc, err);
	if (--rc->pending == 0)
		reconcile_done(rc);
}

/* Is @id the sandbox of an instance that lives, or of a pool? The name that
 * the runtime has for it does not tell: one from the pool keeps its member's
 * name when an instance has claimed it. */
static bool in_use(const struct instances *is, const char *id)
{
	const struct instance *in;

	TAILQ_FOREACH (in, &is->all, link) {
		if (instance_is_live(in) && in->rec.container_id &&
		    strcmp(in->rec.container_id, id) == 0)
			return true;
	}
	return is->pool && is->pool->has(is->pool_arg, id);
}

static void reconcile_found(void *arg, const char *id, const char *name,
			    bool running)
{
	struct reconcile *rc = arg;
	const struct instance *in = instance_find(rc->is, name);

	if (in_use(rc->is, id))
		return;
	/* One that starts does not know its sandbox yet: it may be this. With
	 * an id it has that one, and any other of its name is left over. */
	if (in && instance_is_live(in) && !in->rec.container_id)
		return;
	log_info("removing the sandbox of '%s', left over%s", name,
		 running ? " and running" : "");
	if (strv_push(&rc->ids, id) < 0 && rc->err.code == 0)
		err_nomem(&rc->err);
}

static void reconcile_listed(void *arg, const struct err *err)
{
	struct reconcile *rc = arg;
	struct runtime *rt = rc->is->rt;
	struct err failed = { 0 };
	size_t i;
	int ret;

	if (err)
		rc->err = *err;
	for (i = 0; i < rc->ids.n; i++) {
		ret = rt->ops->remove(rt, rc->ids.v[i], reconcile_removed, rc);
		if (ret == 0) {
			rc->pending++;
		} else {
			err_set(&failed, ret, "%s", err_text(ret));
			reconcile_failed(rc, &failed);
		}
	}
	if (rc->pending == 0)
		reconcile_done(rc);
}

int instances_reconcile(struct instances *is, instance_fn fn, void *arg)
{
	struct reconcile *rc = calloc(1, sizeof(*rc));
	int ret;

	if (!rc)
		return -ENOMEM;
	*rc = (struct reconcile){ .is = is, .fn = fn, .arg = arg };
	ret = is->rt->ops->list(is->rt, reconcile_found, reconcile_listed, rc);
	if (ret < 0)
		free(rc);
	return ret;
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

	if (!sa || instances_later(is, stop_all_one, sa, NULL) < 0) {
		free(sa);
		fn(arg, &no_memory);
		return;
	}
	*sa = (struct stop_all){ .pending = 1, .fn = fn, .arg = arg };
	TAILQ_FOREACH (in, &is->all, link) {
		if (!instance_is_live(in))
			continue;
		if (instance_stop(in, grace_ms, stop_all_one, sa) == 0)
			sa->pending++;
	}
}
