/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clean.c - removes files, records and left-over sandboxes of instances
 *
 * Files are removed only while nothing runs that could write them, and the
 * record after the files: a removal that was cut short can be asked for again.
 */
#include "control/acd/instance/instance_impl.h"

#include <string.h>

#include "control/acd/storage/mounts.h"
#include "lib/log.h"

/* ---- clean and destroy ---- */

/* The next run begins a new one. */
static void layer_gone(struct instance *in)
{
	in->rec.layer_since_ns = in->rec.layer_dev = in->rec.layer_ino = 0;
}

static void tree_removed(void *arg, const struct err *err)
{
	struct instance *in = arg;
	enum instance_clean clean = in->clean;
	struct err failed = { 0 };
	bool discarded = in->discard;

	in->tree = NULL;
	in->phase = PHASE_IDLE;
	in->clean = CLEAN_NOT;
	in->discard = false;
	if (discarded && !err)
		layer_gone(in);
	if (err) {
		failed = *err;
		err_wrap(&failed, "'%s'", in->rec.name);
	} else if (clean == CLEAN_ALL) {
		if (store_delete(in->is->store, in->rec.name, &failed) == 0) {
			mounts_release(in->rec.name);
			instance_forget(in);
			return;
		}
	} else if (clean == CLEAN_EXPIRED || discarded) {
		if (clean == CLEAN_EXPIRED)
			instance_set_state(in, INSTANCE_EXPIRED);
		instance_save(in, &failed);
	}
	if (failed.code < 0)
		log_error("%s", failed.msg);
	instance_wake(in, failed.code < 0 ? &failed : NULL);
}

static int tree_begin(struct instance *in, struct err *err)
{
	int rc;

	if (in->clean != CLEAN_NOT)
		instance_log_drop(in, true);
	instance_memory_over(in);
	rc = instance_disk_remove(in, tree_removed, err);
	if (rc == 0)
		in->phase = PHASE_FILES;
	return rc;
}

void instance_clean_now(struct instance *in)
{
	struct err err = { 0 };

	if (in->clean <= CLEAN_EXPIRED && !in->discard && in->rec.auto_remove)
		in->clean = CLEAN_ALL;
	if (in->clean == CLEAN_NOT && !in->discard) {
		instance_wake(in, NULL);
		return;
	}
	/* A child reads them; its task calls this again, soon if it was
	 * canceled for this. */
	if (instance_files_busy(in)) {
		if (!instance_tasks_canceled(in))
			instance_wake(in, NULL);
		return;
	}
	if (tree_begin(in, &err) < 0) {
		log_error("%s: %s", in->rec.name, err.msg);
		in->clean = CLEAN_NOT;
		in->discard = false;
		instance_wake(in, &err);
	}
}

/* ---- after a start of acd or of the engine ---- */

/* The sandbox ended with the acd that ran it. A stop, also one before
 * reconciliation, must not wait for an end that never comes. */
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
	/* If this fails, the next start of acd finds the same again. */
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

/* Called when all listed sandboxes are gone. */
static void reconcile_one(const struct reconcile *all, struct instance *in)
{
	struct err err = { 0 };
	size_t i;

	for (i = 0; in->rec.container_id && i < all->ids.n; i++) {
		if (strcmp(all->ids.v[i], in->rec.container_id) != 0)
			continue;
		free(in->rec.container_id);
		in->rec.container_id = NULL;
		if (instance_save(in, &err) < 0)
			log_error("%s", err.msg);
	}
	/* An instance made with auto_remove has ended. */
	if (in->rec.auto_remove && !in->rec.container_id &&
	    in->rec.state != INSTANCE_CREATED)
		instance_clean_now(in);
}

static void reconcile_done(struct reconcile *all)
{
	struct instances *is = all->is;
	struct instance *in, *next;

	for (in = TAILQ_FIRST(&is->all); in; in = next) {
		next = TAILQ_NEXT(in, link);
		if (all->err.code == 0 && !instance_files_go(in) &&
		    !instance_is_live(in))
			reconcile_one(all, in);
	}
	all->fn(all->arg, all->err.code < 0 ? &all->err : NULL);
	strv_done(&all->ids);
	free(all);
}

static void reconcile_failed(struct reconcile *all, const struct err *err)
{
	if (all->err.code < 0)
		return;
	all->err = *err;
	err_wrap(&all->err, "cannot remove a left-over sandbox");
}

static void reconcile_removed(void *arg, const struct err *err)
{
	struct reconcile *all = arg;

	if (err)
		reconcile_failed(all, err);
	if (--all->pending == 0)
		reconcile_done(all);
}

/* Returns true if @id is the sandbox of a live instance or of the pool. The
 * runtime's name for it does not tell: a claimed sandbox keeps its member's
 * name. */
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
	struct reconcile *all = arg;
	const struct instance *in = instance_find(all->is, name);

	if (in_use(all->is, id))
		return;
	/* An instance that starts does not know its sandbox yet: it may be this
	 * one. If it has an id, any other sandbox of its name is left over. */
	if (in && instance_is_live(in) && !in->rec.container_id)
		return;
	log_info("removing the sandbox of '%s', left over%s", name,
		 running ? " and running" : "");
	if (strv_push(&all->ids, id) < 0 && all->err.code == 0)
		err_nomem(&all->err);
}

static void reconcile_listed(void *arg, const struct err *err)
{
	struct reconcile *all = arg;
	struct runtime *rt = all->is->rt;
	struct err failed = { 0 };
	size_t i;
	int rc;

	if (err)
		all->err = *err;
	for (i = 0; i < all->ids.n; i++) {
		rc = rt->ops->remove(rt, all->ids.v[i], reconcile_removed, all);
		if (rc == 0) {
			all->pending++;
		} else {
			err_set(&failed, rc, "%s", err_text(rc));
			reconcile_failed(all, &failed);
		}
	}
	if (all->pending == 0)
		reconcile_done(all);
}

int instances_reconcile(struct instances *is, instance_fn fn, void *arg)
{
	struct reconcile *all = calloc(1, sizeof(*all));
	int rc;

	if (!all)
		return -ENOMEM;
	*all = (struct reconcile){ .is = is, .fn = fn, .arg = arg };
	rc = is->rt->ops->list(is->rt, reconcile_found, reconcile_listed, all);
	if (rc < 0)
		free(all);
	return rc;
}
