/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transaction.c - the options of an instance, set alone or with a run
 */
#include "control/acd/instance/transaction.h"

#include <string.h>

#include "control/acd/instance/instance_impl.h"
#include "control/acd/net/ports.h"
#include "lib/log.h"

struct transaction {
	LIST_ENTRY(transaction) link;
	struct instances *is;
	struct instance *in;
	struct instance_record before; /* the options to be put back */
	bool is_new, auto_remove;
	bool leaving; /* the instance is being removed */
	bool policy_set; /* by its user meanwhile: it is not put back */
	int64_t runs; /* that the record counted before */
	transaction_fn fn; /* NULL: the client has gone */
	void *arg;
	struct err err; /* why it failed, while the instance is removed */
};

void transactions_policy_set(struct instance *in)
{
	struct transaction *t;

	LIST_FOREACH (t, &in->is->transactions, link)
		if (t->in == in)
			t->policy_set = true;
}

static void transaction_free(struct transaction *t)
{
	LIST_REMOVE(t, link);
	instance_record_done(&t->before);
	free(t);
}

void transactions_free(struct instances *is)
{
	while (!LIST_EMPTY(&is->transactions))
		transaction_free(LIST_FIRST(&is->transactions));
}

/* ---- the options of an instance ---- */

/* Puts @in, which is not in the set yet, there and stores its record. On
 * failure it is still the caller's. Fails with -EEXIST. */
static int add(struct instance *in, struct err *err)
{
	int rc;

	in->rec.state = INSTANCE_CREATED;
	in->rec.exit_code = -1;
	in->rec.created_at = time(NULL);
	rc = store_insert(in->is->store, &in->rec, err);
	if (rc < 0)
		return rc;
	instance_insert(in->is, in);
	instance_tell_change(in);
	return 0;
}

int instance_create(struct instances *is, const struct instance_record *r,
		    struct instance **ret, struct err *err)
{
	struct instance *in = instance_alloc(is, r);
	int rc;

	if (!in)
		return err_nomem(err);
	/* A directory that was sent before was for an older instance of this
	 * name. */
	mounts_forget_external(in->rec.name);
	rc = add(in, err);
	if (rc < 0) {
		instance_free(in);
		return rc;
	}
	*ret = in;
	return 0;
}

/* Returns true if both have the same workspace of the user's, or none. */
static bool same_workspace(const struct instance_record *a,
			   const struct instance_record *b)
{
	if (!a->workspace || !b->workspace)
		return a->workspace == b->workspace;
	return strcmp(a->workspace, b->workspace) == 0;
}

/* Stores the options of @r, a changed copy of the record, whatever the instance
 * does. On failure the old ones stay. */
static int set_record(struct instance *in, const struct instance_record *r,
		      struct err *err)
{
	struct instance_record old = in->rec, new = { 0 };
	int rc;

	if (instance_record_copy(&new, r) < 0)
		return err_nomem(err);
	in->rec = new;
	in->rec.disk = old.disk; /* until the other holds */
	rc = instance_save(in, err);
	if (rc < 0) {
		in->rec = old;
		instance_record_done(&new);
		return rc;
	}
	instance_disk_want(in, new.disk);
	instance_record_done(&old);
	instance_life_arm(in);
	return 0;
}

int instance_update(struct instance *in, const struct instance_record *r,
		    struct err *err)
{
	bool same = same_workspace(&in->rec, r);
	int rc;

	/* While it is stopping, one run may be prepared. */
	if (!instance_is_live(in) && instance_files_busy(in))
		return err_set(
			err, -EBUSY,
			"the files of '%s' are being copied or restored; "
			"try again in a moment",
			in->rec.name);
	if (in->rec.state == INSTANCE_STARTING || instance_is_up(in) ||
	    instance_files_go(in) || in->next.fn)
		return err_set(err, -EBUSY, "'%s' is %s", in->rec.name,
			       instance_files_go(in) ? "being cleaned" :
						       "running");
	rc = set_record(in, r, err);
	if (rc == 0 && !same)
		mounts_forget_external(in->rec.name);
	return rc;
}

/* ---- putting back ---- */

static void swap(char **a, char **b)
{
	char *c = *a;

	*a = *b;
	*b = c;
}

/* Moves into @r, which has the old options, what has happened to the instance
 * since, from @now. */
static void keep_happened(struct instance_record *r,
			  struct instance_record *now)
{
	swap(&r->reason, &now->reason);
	swap(&r->address, &now->address);
	swap(&r->cmd_json, &now->cmd_json);
	swap(&r->container_id, &now->container_id);
	r->state = now->state;
	r->exit_code = now->exit_code;
	r->created_at = now->created_at;
	r->started_at = now->started_at;
	r->finished_at = now->finished_at;
	r->touched_at = now->touched_at;
	r->detached = now->detached;
	r->tty = now->tty;
	r->runs = now->runs;
}

/* May be called while a canceled start comes to its end: only what follows the
 * end reads the options then. */
static void put_back(struct transaction *t)
{
	struct instance *in = t->in;
	struct instance_record now = { 0 };
	struct err err = { 0 };
	int rc;

	if (!same_workspace(&in->rec, &t->before))
		mounts_forget_external(in->rec.name);
	rc = instance_record_copy(&now, &in->rec) < 0 ? err_nomem(&err) : 0;
	if (rc == 0) {
		keep_happened(&t->before, &now);
		if (t->policy_set)
			swap(&t->before.egress_json, &now.egress_json);
		rc = set_record(in, &t->before, &err);
	}
	instance_record_done(&now);
	if (rc < 0)
		log_error("%s: its options cannot be put back: %s",
			  in->rec.name, err.msg);
}

/* ---- the end ---- */

static void transaction_failed(struct transaction *t)
{
	if (t->fn)
		t->fn(t->arg, NULL, &t->err);
	transaction_free(t);
}

static void instance_removed(void *arg, const struct err *err)
{
	struct transaction *t = arg;

	/* @t->in may have been freed. */
	if (err)
		log_error("a new instance is left without a run: %s", err->msg);
	transaction_failed(t);
}

/* Returns true for a new instance that must be removed. One whose start has
 * failed stays, with the reason, unless only its ports could not be had. */
static bool is_to_go(const struct transaction *t)
{
	enum instance_state state = t->in->rec.state;

	/* The sandbox that the pool had for it may still be removed. */
	if (state == INSTANCE_STOPPING)
		state = t->in->final;
	return t->is_new &&
	       (state == INSTANCE_CREATED || t->auto_remove ||
		t->err.code == -ECANCELED || ports_refused(&t->err));
}

/* No run has begun, because of t->err. Frees @t, now or when the instance is
 * gone; then the caller must not use it any more. */
static void transaction_undo(struct transaction *t)
{
	/* A stopping instance needs no force. */
	bool force = t->in->rec.state == INSTANCE_STARTING;
	bool go = is_to_go(t);

	put_back(t);
	t->leaving = go;
	if (go && instance_destroy(t->in, force, instance_removed, t) == 0)
		return;
	transaction_failed(t);
}

static bool has_begun(const struct transaction *t)
{
	return t->in->rec.runs != t->runs;
}

static void run_is_told(void *arg, const struct err *err)
{
	struct transaction *t = arg;

	if (err && !has_begun(t)) {
		t->err = *err;
		transaction_undo(t);
		return;
	}
	if (t->fn)
		t->fn(t->arg, err ? NULL : t->in, err);
	transaction_free(t);
}

void transaction_cancel(struct transaction *t)
{
	bool begun;

	t->fn = NULL;
	if (t->leaving)
		return;
	begun = has_begun(t);
	instance_run_cancel(t->in, t);
	if (begun) {
		transaction_free(t);
		return;
	}
	err_set(&t->err, -ECANCELED, "its client has gone");
	transaction_undo(t);
}

/* ---- the beginning ---- */

static struct transaction *transaction_new(struct instances *is,
					   const struct instance_record *before)
{
	struct transaction *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (instance_record_copy(&t->before, before) < 0) {
		free(t);
		return NULL;
	}
	t->is = is;
	LIST_INSERT_HEAD(&is->transactions, t, link);
	return t;
}

/* Drops the directories that were sent before if they are others. */
static void judge_workspace(const struct transaction_ask *ask)
{
	const char *name = ask->record->name;

	if (!ask->mounts_sent)
		mounts_forget_extras(name);
	if (ask->workspace_ino != 0)
		mounts_keep_external(name, ask->workspace_dev,
				     ask->workspace_ino);
	else if (!ask->in || !same_workspace(&ask->in->rec, ask->record))
		mounts_forget_external(name);
}

/* Refuses what can be refused before anything is stored. */
static int begin_new(struct transaction *t, const struct transaction_ask *ask,
		     struct err *err)
{
	struct instance *in = instance_alloc(t->is, ask->record);
	int rc;

	judge_workspace(ask);
	if (in) {
		/* Recorded when it holds, as that of an old one is. */
		in->rec.disk = ask->plain->disk;
		instance_disk_want(in, ask->record->disk);
	}
	rc = in ? instance_check(in, err) : err_nomem(err);
	if (rc == 0)
		rc = add(in, err);
	if (rc < 0) {
		if (in)
			instance_free(in);
		return rc;
	}
	t->in = in;
	t->is_new = true;
	return 0;
}

static int begin_old(struct transaction *t, const struct transaction_ask *ask,
		     struct err *err)
{
	int rc = instance_run_refusal(ask->in, err);

	if (rc < 0)
		return rc;
	judge_workspace(ask);
	t->in = ask->in;
	t->runs = ask->in->rec.runs;
	t->before.disk = instance_disk_wanted(ask->in);
	return set_record(ask->in, ask->record, err);
}

/* The run was refused at once, for @err. Returns the code if everything is as
 * it was, or 0 if that takes a while and t->fn will be called. */
static int refused(struct transaction *t, const struct err *err)
{
	bool go;

	t->err = *err;
	go = t->leaving = is_to_go(t);
	put_back(t);
	if (go && instance_destroy(t->in, false, instance_removed, t) == 0)
		return 0;
	transaction_free(t);
	return err->code;
}

int transaction_run(struct instances *is, const struct transaction_ask *ask,
		    struct run_options *o, transaction_fn fn, void *arg,
		    struct transaction **ret, struct err *err)
{
	struct transaction *t =
		transaction_new(is, ask->in ? &ask->in->rec : ask->plain);
	int rc;

	if (!t) {
		run_options_done(o);
		return err_nomem(err);
	}
	t->auto_remove = ask->record->auto_remove;
	rc = ask->in ? begin_old(t, ask, err) : begin_new(t, ask, err);
	if (rc < 0) {
		run_options_done(o);
		transaction_free(t);
		return rc;
	}
	t->fn = fn;
	t->arg = arg;
	*ret = t;
	rc = instance_run(t->in, o, run_is_told, t, err);
	return rc < 0 ? refused(t, err) : 0;
}
