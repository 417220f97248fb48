/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore.c - puts the files of a snapshot in the place of an instance's
 *
 * Theory of operation: a child reads the snapshot (it has to be what was saved)
 * and copies it beside the instance's files; one rename says that the copy is
 * complete. From there on only renames follow, and the record: they can be made
 * again at the next start of acd. What was replaced becomes a snapshot itself,
 * SNAPSHOT_BEFORE, so that a restore can be taken back by another one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/acd/instance/snapshot/memory.h"
#include "control/acd/instance/snapshot/task.h"
#include "control/acd/storage/mounts.h"
#include "control/acd/storage/snapshot_impl.h"
#include "control/acd/storage/treecopy.h"
#include "lib/file.h"
#include "lib/log.h"

struct restoring {
	struct file_task task;
	char *snapshot; /* its directory */
	char *dir; /* of the instance */
	char *title; /* NAME:TAG */
	struct snapshot_meta meta, before;
	struct err why; /* it failed: told when the copy is removed */
};

static void restoring_free(struct file_task *t)
{
	struct restoring *r = (struct restoring *)t;

	snapshot_meta_done(&r->meta);
	snapshot_meta_done(&r->before);
	free(r->snapshot);
	free(r->dir);
	free(r->title);
	free(r);
}

/* ---- in the child ---- */

/* Copies, and says in the copy what both are. */
static int prepare(const void *what, struct err *err)
{
	const struct restoring *r = what;
	SCOPED_STR half = str_printf("%s/" SNAPSHOT_RESTORED_NEW, r->dir);
	SCOPED_STR whole = str_printf("%s/" SNAPSHOT_RESTORED, r->dir);
	SCOPED_STR old = str_printf("%s/" SNAPSHOT_RESTORED_NEW "/old", r->dir);
	struct snapshot_copy copy = { .from = r->snapshot,
				      .to = half,
				      .check = r->title };
	int rc = half && whole && old ? 0 : err_nomem(err);

	if (rc == 0)
		rc = snapshot_copy(&copy, err);
	if (rc == 0 && mkdir(old, 0700) < 0)
		rc = err_sys(err, "make %s", old);
	if (rc == 0)
		rc = snapshot_store(half, &r->meta, err);
	if (rc == 0)
		rc = snapshot_store(old, &r->before, err);
	/* What follows is not looked at again: it has to be on the disk. */
	if (rc == 0)
		rc = tree_sync(half, err);
	if (rc == 0 && rename(half, whole) < 0)
		rc = err_sys(err, "make %s", whole);
	return rc;
}

/* Removes what prepare() has made. By its name the next start of acd tells a copy
 * that is to be put in place, so that goes first. */
static int abandon(const void *what, struct err *err)
{
	const struct restoring *r = what;
	SCOPED_STR half = str_printf("%s/" SNAPSHOT_RESTORED_NEW, r->dir);
	SCOPED_STR whole = str_printf("%s/" SNAPSHOT_RESTORED, r->dir);
	int rc = half && whole ? 0 : -ENOMEM;

	if (rc == 0 && rename(whole, half) < 0 && errno != ENOENT)
		rc = -errno;
	if (rc == 0)
		rc = file_remove_tree(half);
	return rc < 0 ? err_set(err, rc, "cannot remove the copy of %s: %s",
				r->title, err_text(rc)) :
			0;
}

/* Keeps what was replaced, and removes what is left of the restore. */
static int bury(const void *what, struct err *err)
{
	const struct restoring *r = what;
	SCOPED_STR all = str_printf("%s/" SNAPSHOT_RESTORED, r->dir);
	SCOPED_STR old = str_printf("%s/" SNAPSHOT_RESTORED "/old", r->dir);
	struct snapshot_keep keep = { .instances = r->task.is->dir,
				      .from = old,
				      .meta = &r->before,
				      .replace = true };
	int rc = all && old ? snapshot_keep(&keep, err) : err_nomem(err);

	if (rc < 0)
		return rc;
	rc = file_remove_tree(all);
	return rc < 0 ? err_set(err, rc, "cannot remove %s: %s", all,
				err_text(rc)) :
			0;
}

/* ---- in acd ---- */

/* The record follows the files: a layer means nothing over another directory. */
static int record_follow(struct instance *in, const struct snapshot_meta *m,
			 struct err *err)
{
	const char *was = in->rec.workspace;

	if (!was || !m->workspace || strcmp(was, m->workspace) != 0)
		mounts_forget_external(in->rec.name);
	if (snapshot_meta_follow(m, &in->rec) < 0)
		return err_nomem(err);
	return instance_save(in, err);
}

static void buried(struct file_task *t, const struct err *err)
{
	struct restoring *r = (struct restoring *)t;
	struct err why = { 0 };

	if (err) {
		why = *err;
		err_wrap(&why,
			 "%s is in place, but what was there before is not "
			 "kept yet, and nothing runs until `ac restart` has "
			 "done that",
			 r->title);
	}
	task_end(t, err ? &why : NULL);
}

static void abandoned(struct file_task *t, const struct err *err)
{
	struct restoring *r = (struct restoring *)t;

	task_end(t, err ? err : &r->why);
}

/* Before the swap: what was before the restore takes the place of a snapshot,
 * perhaps of this one. */
static int memory_take(const struct restoring *r, struct err *err)
{
	SCOPED_STR dir = snapshot_memory_path(r->snapshot);

	return dir ? memory_give(r->task.is, dir, r->task.in->rec.name, err) :
		     err_nomem(err);
}

static void put_in_place(struct file_task *t, const struct err *err)
{
	struct restoring *r = (struct restoring *)t;
	struct err why = { 0 };

	if (!t->in) {
		task_end(t, err);
		return;
	}
	err = task_fault(t, err);
	if (!err && t->memory && memory_take(r, &why) < 0)
		err = &why;
	if (err) {
		r->why = *err;
		task_job(t, abandon, r, abandoned);
		return;
	}
	t->final = true; /* no way back */
	if (!t->memory) /* another one does not fit these files */
		memory_drop(t->is, t->in->rec.name);
	if (snapshot_swap(r->dir, &why) < 0 ||
	    record_follow(t->in, &r->meta, &why) < 0) {
		err_wrap(&why, "`ac restart` tries again");
		task_end(t, &why);
		return;
	}
	instance_tell_change(t->in);
	task_job(t, bury, r, buried);
}

static void settled(struct file_task *t, const struct err *err)
{
	struct restoring *r = (struct restoring *)t;

	if (err)
		task_end(t, err);
	else
		task_job(t, prepare, r, put_in_place);
}

static int restoring_fill(struct restoring *r, struct instance *in,
			  const struct snapshot_ask *ask, struct err *err)
{
	int rc = instance_snapshot_find(in, ask->tag, ask->memory, &r->snapshot,
					&r->meta, err);

	if (rc < 0)
		return rc;
	r->dir = instance_path(in, "");
	r->title = str_printf("%s:%s", in->rec.name, r->meta.tag);
	if (!r->dir || !r->title ||
	    instance_snapshot_meta(in, SNAPSHOT_BEFORE, &r->before) < 0)
		return err_nomem(err);
	return 0;
}

int instance_restore(struct instance *in, const struct snapshot_ask *ask,
		     instance_fn fn, void *arg, struct err *err)
{
	struct restoring *r;
	int rc = task_refusal(in, true, err);

	if (rc < 0)
		return rc;
	r = calloc(1, sizeof(*r));
	if (!r)
		return err_nomem(err);
	r->task = (struct file_task){ .free = restoring_free,
				      .memory = ask->memory,
				      .fn = fn,
				      .arg = arg };
	rc = restoring_fill(r, in, ask, err);
	if (rc < 0) {
		restoring_free(&r->task);
		return rc;
	}
	task_begin(&r->task, in);
	task_settle(&r->task, settled);
	return task_started(&r->task, err);
}

/* ---- after a crash ---- */

int instance_restore_refusal(const struct instance *in, struct err *err)
{
	SCOPED_STR all = instance_path(in, SNAPSHOT_RESTORED);
	struct stat st;

	if (!all)
		return err_nomem(err);
	if (lstat(all, &st) < 0)
		return 0;
	return err_set(err, -EBUSY,
		       "a restore of '%s' was cut short; `ac restart` finishes "
		       "it",
		       in->rec.name);
}

static void recovered(void *arg, const struct err *err)
{
	(void)arg;
	if (err)
		log_error("%s", err->msg);
}

/* All that is left is to remove what was kept already, or is of no use. */
static int rest_remove(const void *what, struct err *err)
{
	const struct restoring *r = what;
	SCOPED_STR all = str_printf("%s/" SNAPSHOT_RESTORED, r->dir);
	int rc = all ? file_remove_tree(all) : -ENOMEM;

	return rc < 0 ? err_set(err, rc,
				"cannot remove what a restore of %s "
				"has left: %s",
				r->title, err_text(rc)) :
			0;
}

/* Puts the files in place, unless that was done: the old ones are kept after
 * it. */
static int place_again(struct instance *in, struct restoring *r,
		       const char *all, const char *old, struct err *err)
{
	int rc = snapshot_load(all, &r->meta, err);

	if (rc == 0)
		rc = snapshot_load(old, &r->before, err);
	if (rc == 0)
		rc = snapshot_swap(r->dir, err);
	return rc == 0 ? record_follow(in, &r->meta, err) : rc;
}

void instance_restore_recover(struct instance *in)
{
	SCOPED_STR all = instance_path(in, SNAPSHOT_RESTORED);
	SCOPED_STR old = instance_path(in, SNAPSHOT_RESTORED "/old");
	struct restoring *r;
	struct err err = { 0 };
	struct stat st;
	bool kept; /* the old files, as a snapshot */

	if (!all || !old || lstat(all, &st) < 0)
		return;
	log_info("finishing a restore of '%s'", in->rec.name);
	r = calloc(1, sizeof(*r));
	if (!r)
		return;
	r->task = (struct file_task){ .free = restoring_free,
				      .fn = recovered,
				      .final = true };
	r->dir = instance_path(in, "");
	r->title = strdup(in->rec.name);
	kept = lstat(old, &st) < 0 && errno == ENOENT;
	if (!r->dir || !r->title ||
	    (!kept && place_again(in, r, all, old, &err) < 0)) {
		log_error("a restore of '%s' was cut short: %s", in->rec.name,
			  err.msg);
		restoring_free(&r->task);
		return;
	}
	task_begin(&r->task, in);
	task_job(&r->task, kept ? rest_remove : bury, r, buried);
	if (task_started(&r->task, &err) < 0)
		log_error("%s", err.msg);
}
