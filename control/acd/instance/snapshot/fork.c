/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - new instances with a copy of the files of another one
 *
 * A fork has a name, an address, a host name and surrogates of its own, and no
 * process. With memory (memory.h), it has a copy of the surrogates and of
 * the processes instead.
 *
 * The sandbox is held for the first copy; the others are copies of that. When
 * all are complete, each gets its record and its directory, by a rename: a fork
 * has all its files or none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/acd/instance/snapshot/memory.h"
#include "control/acd/instance/snapshot/task.h"
#include "lib/file.h"

struct forking {
	struct file_task task;
	char *from; /* of the instance, or of a snapshot */
	char *title; /* of the snapshot; NULL: it is the instance */
	struct strv names;
	struct snapshot_meta meta; /* of what is copied */
	struct instance_record rec; /* of the forks, but for the name */
	struct err why; /* they failed: told when the copies are removed */
};

static void forking_free(struct file_task *t)
{
	struct forking *f = (struct forking *)t;

	snapshot_meta_done(&f->meta);
	instance_record_done(&f->rec);
	strv_done(&f->names);
	free(f->from);
	free(f->title);
	free(f);
}

static char *copy_path(const struct forking *f, const char *name)
{
	return snapshot_fork_path(f->task.is->dir, f->meta.instance, name);
}

/* ---- in the child ---- */

static int one_copy(const struct forking *f, size_t i, struct err *err)
{
	SCOPED_STR first = copy_path(f, f->names.v[0]);
	SCOPED_STR to = copy_path(f, f->names.v[i]);
	struct snapshot_copy copy = { .from = i == 0 ? f->from : first,
				      .to = to,
				      .check = i == 0 ? f->title : NULL };

	return first && to ? snapshot_copy(&copy, err) : err_nomem(err);
}

static int first_copy(const void *what, struct err *err)
{
	return one_copy(what, 0, err);
}

static int other_copies(const void *what, struct err *err)
{
	const struct forking *f = what;
	int rc = 0;

	for (size_t i = 1; i < f->names.n && rc == 0; i++)
		rc = one_copy(f, i, err);
	return rc;
}

static int copies_remove(const void *what, struct err *err)
{
	const struct forking *f = what;
	int rc = 0;

	for (size_t i = 0; i < f->names.n && rc == 0; i++) {
		SCOPED_STR path = copy_path(f, f->names.v[i]);

		rc = path ? file_remove_tree(path) : -ENOMEM;
	}
	return rc < 0 ? err_set(err, rc, "cannot remove the copies: %s",
				err_text(rc)) :
			0;
}

/* ---- in acd ---- */

/* The options of @r, and the files of @m. What belongs to one instance alone, or
 * to one run, is not taken over. */
static int record_fill(struct instance_record *ret,
		       const struct instance_record *r,
		       const struct snapshot_meta *m)
{
	if (instance_record_copy(ret, r) < 0 ||
	    snapshot_meta_follow(m, ret) < 0)
		return -ENOMEM;
	free(ptr_take(&ret->name));
	free(ptr_take(&ret->reason));
	free(ptr_take(&ret->address));
	free(ptr_take(&ret->container_id));
	free(ptr_take(&ret->publish_json));
	ret->state = INSTANCE_CREATED;
	ret->exit_code = -1;
	ret->created_at = time(NULL);
	ret->started_at = ret->finished_at = ret->touched_at = 0;
	ret->auto_remove = false;
	ret->runs = 0;
	return 0;
}

/* What was saved of the sandbox, or that of the snapshot. */
static int memory_pass(const struct forking *f, const char *name,
		       struct err *err)
{
	SCOPED_STR from = f->title ? snapshot_memory_path(f->from) :
				     memory_path(f->task.is, f->task.written);

	return from ? memory_give(f->task.is, from, name, err) : err_nomem(err);
}

/* Makes the instance first: a directory without a record would be taken over by
 * the next instance of that name. After a crash in between, the next start of
 * acd finishes it: recover.c. */
static int one_make(struct forking *f, const char *name, struct err *err)
{
	SCOPED_STR from = copy_path(f, name);
	SCOPED_STR to = str_printf("%s/%s", f->task.is->dir, name);
	struct instance *in = NULL;
	struct err ignored = { 0 };
	int rc;

	if (!from || !to)
		return err_nomem(err);
	f->rec.name = strdup(name);
	rc = f->rec.name ? instance_create(f->task.is, &f->rec, &in, err) :
			   err_nomem(err);
	free(ptr_take(&f->rec.name));
	if (rc < 0)
		return rc;
	rc = f->task.memory ? memory_pass(f, name, err) : 0;
	if (rc == 0 && rename(from, to) == 0)
		return 0;
	if (rc == 0)
		rc = err_sys(err, "put the files of '%s' in place", name);
	memory_drop(f->task.is, name);
	if (store_delete(f->task.is->store, name, &ignored) == 0)
		instance_forget(in);
	return rc;
}

static void swept(struct file_task *t, const struct err *err)
{
	struct forking *f = (struct forking *)t;

	(void)err;
	task_end(t, &f->why);
}

/* Lets the sandbox go on, removes what is left of the copies, and reports why
 * there are any. */
static void fail(struct file_task *t, const struct err *err)
{
	struct forking *f = (struct forking *)t;
	struct err ignored = { 0 };

	f->why = *err;
	task_release(t, &ignored);
	task_job(t, copies_remove, f, swept);
}

static void all_copied(struct file_task *t, const struct err *err)
{
	struct forking *f = (struct forking *)t;
	struct err why = { 0 };
	size_t i;

	err = task_fault(t, err);
	if (err) {
		fail(t, err);
		return;
	}
	for (i = 0; i < f->names.n; i++) {
		if (one_make(f, f->names.v[i], &why) == 0)
			continue;
		err_wrap(&why, "%zu of %zu forks were made, the next was not",
			 i, f->names.n);
		fail(t, &why);
		return;
	}
	task_end(t, NULL);
}

static void copied(struct file_task *t, const struct err *err)
{
	const struct forking *f = (const struct forking *)t;
	struct err why = { 0 };

	err = task_fault(t, err);
	if (!err && t->memory && !f->title && memory_save(t->in, &why) < 0)
		err = &why;
	if (err)
		fail(t, err);
	else if (task_release(t, &why) < 0)
		fail(t, &why);
	else if (f->names.n == 1)
		all_copied(t, NULL);
	else
		task_job(t, other_copies, t, all_copied);
}

static void held(struct file_task *t, const struct err *err)
{
	if (err)
		task_end(t, err);
	else
		task_job(t, first_copy, t, copied);
}

static void settled(struct file_task *t, const struct err *err)
{
	if (err)
		task_end(t, err);
	else
		task_hold(t, held);
}

/* ---- requests ---- */

static int names_check(struct forking *f, struct instance *in,
		       const char *const *names, size_t n, struct err *err)
{
	int rc = n >= 1 && n <= INSTANCE_FORKS_MAX ?
			 0 :
			 err_set(err, -EINVAL, "1 to %u forks at once",
				 INSTANCE_FORKS_MAX);

	for (size_t i = 0; i < n && rc == 0; i++) {
		rc = name_check_instance(names[i], err);
		if (rc == 0 && (instance_find(in->is, names[i]) ||
				strv_has(&f->names, names[i])))
			rc = err_set(err, -EEXIST,
				     "there is an instance '%s' already",
				     names[i]);
		if (rc == 0 && strv_push(&f->names, names[i]) < 0)
			rc = err_nomem(err);
	}
	return rc;
}

/* Only one may write to a volume, and what runs writes to it. */
static int volume_check(const struct instance *in, struct err *err)
{
	for (size_t i = 0; i < in->bp.n_mounts; i++) {
		const struct blueprint_mount *m = &in->bp.mounts[i];

		if (m->volume && m->live)
			return err_set(err, -ENOTSUP,
				       "'%s' writes to the volume '%s', which "
				       "only one may: its forks have no memory "
				       "(`ac fork` without --memory)",
				       in->rec.name, m->volume);
	}
	return 0;
}

static int forking_fill(struct forking *f, struct instance *in,
			const struct snapshot_ask *ask, struct err *err)
{
	const char *tag = ask->tag;
	int rc = 0;

	if (tag)
		rc = instance_snapshot_find(in, tag, ask->memory, &f->from,
					    &f->meta, err);
	else
		f->from = instance_path(in, "");
	if (rc < 0)
		return rc;
	if (tag)
		f->title = str_printf("%s:%s", in->rec.name, tag);
	if (!f->from || (tag && !f->title) ||
	    (!tag && instance_snapshot_meta(in, NULL, &f->meta) < 0) ||
	    record_fill(&f->rec, &in->rec, &f->meta) < 0)
		return err_nomem(err);
	return 0;
}

int instance_fork(struct instance *in, const struct snapshot_ask *ask,
		  const char *const *names, size_t n, instance_fn fn, void *arg,
		  struct err *err)
{
	struct forking *f;
	int rc = task_refusal(in, false, err);

	if (rc < 0)
		return rc;
	f = calloc(1, sizeof(*f));
	if (!f)
		return err_nomem(err);
	f->task = (struct file_task){ .free = forking_free,
				      .memory = ask->memory,
				      .fn = fn,
				      .arg = arg };
	rc = ask->tag ? 0 : task_has_files(in, err);
	if (rc == 0 && ask->memory)
		rc = volume_check(in, err);
	if (rc == 0)
		rc = names_check(f, in, names, n, err);
	if (rc == 0)
		rc = forking_fill(f, in, ask, err);
	if (rc < 0) {
		forking_free(&f->task);
		return rc;
	}
	task_begin(&f->task, in);
	if (ask->tag)
		held(&f->task, NULL);
	else
		task_settle(&f->task, settled);
	return task_started(&f->task, err);
}
