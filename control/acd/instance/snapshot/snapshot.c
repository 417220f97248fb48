/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.c - snapshots of an instance: made, listed, removed
 *
 * The sandbox is held while its files are copied; the copy is read, for its
 * digest, when it runs again.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "control/acd/instance/snapshot/memory.h"
#include "control/acd/instance/snapshot/task.h"
#include "lib/file.h"

struct saving {
	struct file_task task;
	struct snapshot_meta meta;
	char *from, *half; /* the instance's directory; the copy */
	char *whole; /* what the copy becomes */
	struct err why; /* it failed: told when the copy is removed */
};

static void saving_free(struct file_task *t)
{
	struct saving *s = (struct saving *)t;

	snapshot_meta_done(&s->meta);
	free(s->from);
	free(s->half);
	free(s->whole);
	free(s);
}

static int64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static char *copy_of(const char *s, int *rc)
{
	char *copy = s ? strdup(s) : NULL;

	if (s && !copy)
		*rc = -ENOMEM;
	return copy;
}

int instance_snapshot_meta(const struct instance *in, const char *tag,
			   struct snapshot_meta *ret)
{
	const struct instance_record *r = &in->rec;
	char automatic[SNAPSHOT_TAG_MAX + 1];
	int64_t now = wall_ns();
	int rc = 0;

	snapshot_auto_tag(now, automatic);
	*ret = (struct snapshot_meta){
		.instance = copy_of(r->name, &rc),
		.tag = copy_of(tag ? tag : automatic, &rc),
		.created_ns = now,
		.named = tag != NULL,
		.running = instance_is_up(in),
		.blueprint = copy_of(r->blueprint, &rc),
		.workspace = copy_of(r->workspace, &rc),
		.workspace_ro = r->workspace_ro,
		.workspace_copy = r->workspace_copy,
		.layer_since_ns = r->layer_since_ns,
		.layer_dev = r->layer_dev,
		.layer_ino = r->layer_ino,
	};
	if (rc < 0)
		snapshot_meta_done(ret);
	return rc;
}

int snapshot_meta_follow(const struct snapshot_meta *m,
			 struct instance_record *r)
{
	int rc = 0;
	char *workspace = copy_of(m->workspace, &rc);

	if (rc < 0)
		return rc;
	free(r->workspace);
	r->workspace = workspace;
	r->workspace_ro = m->workspace_ro;
	r->workspace_copy = m->workspace_copy;
	r->layer_since_ns = m->layer_since_ns;
	r->layer_dev = m->layer_dev;
	r->layer_ino = m->layer_ino;
	return 0;
}

static int half_remove(const void *what, struct err *err)
{
	int rc = file_remove_tree(what);

	return rc < 0 ? err_set(err, rc, "cannot remove %s: %s",
				(const char *)what, err_text(rc)) :
			0;
}

static void swept(struct file_task *t, const struct err *err)
{
	struct saving *s = (struct saving *)t;

	(void)err; /* the next snapshot replaces what is left */
	task_end(t, &s->why);
}

/* Lets the sandbox go on, removes what there is, and reports why. */
static void fail(struct file_task *t, const struct err *err, treejob_work undo,
		 const char *path)
{
	struct saving *s = (struct saving *)t;
	struct err ignored = { 0 };

	s->why = *err;
	task_release(t, &ignored);
	/* The next instance of that name may be copying there. */
	if (!t->in)
		task_end(t, &s->why);
	else
		task_job(t, undo, path, swept);
}

static void expired(struct file_task *t, const struct err *err)
{
	(void)err; /* costs room only, and the next snapshot tries again */
	task_end(t, NULL);
}

static void kept(struct file_task *t, const struct err *err)
{
	struct saving *s = (struct saving *)t;
	const struct err *fault = task_fault(t, err);
	SCOPED_STR dir = snapshot_path(t->is->dir, s->meta.instance, NULL);

	if (!fault) {
		/* Others go only for one that stays. */
		t->final = true;
		if (dir)
			task_job(t, snapshots_expire, dir, expired);
		else
			task_end(t, NULL);
	} else if (err) {
		fail(t, fault, half_remove, s->half);
	} else { /* too late for the child */
		fail(t, fault, snapshot_remove, s->whole);
	}
}

static int half_memory(struct saving *s, struct err *err)
{
	SCOPED_STR from = instance_memory_new(s->task.in);
	SCOPED_STR to = snapshot_memory_path(s->half);
	int rc = from && to ? memory_save(s->task.in, err) : err_nomem(err);

	if (rc == 0 && rename(from, to) < 0)
		rc = err_sys(err, "make %s", to);
	return rc;
}

static void copied(struct file_task *t, const struct err *err)
{
	struct saving *s = (struct saving *)t;
	struct snapshot_keep keep = { .instances = t->is->dir,
				      .from = s->half,
				      .meta = &s->meta };
	struct err why = { 0 };

	err = task_fault(t, err);
	if (!err && t->memory && half_memory(s, &why) < 0)
		err = &why;
	if (err)
		fail(t, err, half_remove, s->half);
	else if (task_release(t, &why) < 0)
		fail(t, &why, half_remove, s->half);
	else
		task_job(t, snapshot_keep, &keep, kept);
}

static void held(struct file_task *t, const struct err *err)
{
	struct saving *s = (struct saving *)t;
	struct snapshot_copy copy = { .from = s->from, .to = s->half };

	if (err)
		task_end(t, err);
	else
		task_job(t, snapshot_copy, &copy, copied);
}

static void settled(struct file_task *t, const struct err *err)
{
	if (err)
		task_end(t, err);
	else
		task_hold(t, held);
}

/* ---- what there is ---- */

static int json_add(void *arg, const struct snapshot_meta *m)
{
	return json_array_append_new(arg, snapshot_json(m)) < 0 ? -ENOMEM : 0;
}

int instance_snapshots(const struct instance *in, json_t *all)
{
	SCOPED_STR dir = snapshot_path(in->is->dir, in->rec.name, NULL);

	return dir ? snapshot_each(dir, json_add, all) : -ENOMEM;
}

struct latest {
	int64_t ns;
	char *tag;
};

static int later(void *arg, const struct snapshot_meta *m)
{
	struct latest *l = arg;

	if (m->created_ns <= l->ns || strcmp(m->tag, SNAPSHOT_BEFORE) == 0)
		return 0;
	l->ns = m->created_ns;
	free(l->tag);
	l->tag = strdup(m->tag);
	return l->tag ? 0 : -ENOMEM;
}

json_t *instance_snapshot_json(const struct instance *in, const char *tag)
{
	SCOPED_STR dir = snapshot_path(in->is->dir, in->rec.name, tag);
	struct snapshot_meta m = { 0 };
	struct err ignored = { 0 };
	json_t *v = NULL;

	if (dir && snapshot_load(dir, &m, &ignored) == 0)
		v = snapshot_json(&m);
	snapshot_meta_done(&m);
	return v;
}

int instance_snapshot_find(const struct instance *in, const char *tag,
			   bool memory, char **ret_dir,
			   struct snapshot_meta *ret, struct err *err)
{
	const char *name = in->rec.name;
	SCOPED_STR all = snapshot_path(in->is->dir, name, NULL);
	char *dir = NULL;
	struct latest l = { .ns = INT64_MIN };
	int rc = 0;

	if (!all)
		return err_nomem(err);
	if (tag)
		rc = name_check_tag(tag, err);
	else if (snapshot_each(all, later, &l) < 0)
		rc = err_nomem(err);
	else if (!l.tag)
		rc = err_set(err, -ENOENT,
			     "'%s' has no snapshot; `ac snapshot %s` makes one",
			     name, name);
	if (rc == 0) {
		dir = snapshot_path(in->is->dir, name, tag ? tag : l.tag);
		rc = dir ? snapshot_load(dir, ret, err) : err_nomem(err);
	}
	if (rc == 0 && memory && !ret->memory) {
		rc = err_set(err, -ENOENT,
			     "the snapshot %s:%s has no memory: it was made "
			     "without --memory",
			     name, ret->tag);
		snapshot_meta_done(ret);
	} else if (rc == -ENOENT && tag)
		err_set(err, rc,
			"'%s' has no snapshot '%s'; `ac snapshots %s` lists "
			"them",
			name, tag, name);
	free(l.tag);
	if (rc == 0)
		*ret_dir = dir;
	else
		free(dir);
	return rc;
}

static int count(void *arg, const struct snapshot_meta *m)
{
	unsigned *n = arg;

	*n += m->named;
	return 0;
}

/* ---- requests ---- */

static int snapshot_refusal(const struct instance *in, const char *tag,
			    struct err *err)
{
	SCOPED_STR dir = snapshot_path(in->is->dir, in->rec.name, NULL);
	SCOPED_STR path = tag ? snapshot_path(in->is->dir, in->rec.name, tag) :
				NULL;
	unsigned n = 0;
	int rc = tag ? name_check_tag(tag, err) : 0;

	if (rc == 0)
		rc = task_refusal(in, false, err);
	if (rc == 0)
		rc = task_has_files(in, err);
	if (rc < 0)
		return rc;
	if (!dir || (tag && !path) || snapshot_each(dir, count, &n) == -ENOMEM)
		return err_nomem(err);
	if (tag && strcmp(tag, SNAPSHOT_BEFORE) == 0)
		return err_set(err, -EINVAL,
			       "the tag '%s' is that of what `ac restore` "
			       "replaced",
			       tag);
	if (tag && access(path, F_OK) == 0)
		return err_set(err, -EEXIST,
			       "'%s' has a snapshot '%s' already; `ac snapshot "
			       "--remove %s:%s` removes it",
			       in->rec.name, tag, in->rec.name, tag);
	if (!tag || n < SNAPSHOTS_MAX)
		return 0;
	err_set(err, -EBUSY,
		"'%s' has %u snapshots with a tag, as many as it may: `ac "
		"snapshot --remove %s:TAG` removes one",
		in->rec.name, n, in->rec.name);
	return err_name(err, "too_many_snapshots");
}

int instance_snapshot(struct instance *in, const struct snapshot_ask *ask,
		      instance_fn fn, void *arg,
		      char ret_tag[SNAPSHOT_TAG_MAX + 1], struct err *err)
{
	int rc = snapshot_refusal(in, ask->tag, err);
	struct saving *s = rc == 0 ? calloc(1, sizeof(*s)) : NULL;

	if (rc < 0)
		return rc;
	if (!s)
		return err_nomem(err);
	s->task = (struct file_task){
		.free = saving_free, .memory = ask->memory, .fn = fn, .arg = arg
	};
	s->from = instance_path(in, "");
	s->half = snapshot_path(in->is->dir, in->rec.name, ".new");
	if (instance_snapshot_meta(in, ask->tag, &s->meta) == 0)
		s->whole =
			snapshot_path(in->is->dir, in->rec.name, s->meta.tag);
	if (!s->from || !s->half || !s->whole) {
		saving_free(&s->task);
		return err_nomem(err);
	}
	snprintf(ret_tag, SNAPSHOT_TAG_MAX + 1, "%s", s->meta.tag);
	s->meta.memory = ask->memory;
	task_begin(&s->task, in);
	task_settle(&s->task, settled);
	return task_started(&s->task, err);
}

struct removing {
	struct file_task task;
	char *dir; /* of the snapshot */
};

static void removing_free(struct file_task *t)
{
	struct removing *r = (struct removing *)t;

	free(r->dir);
	free(r);
}

static void removed(struct file_task *t, const struct err *err)
{
	task_end(t, err);
}

int instance_snapshot_remove(struct instance *in, const char *tag,
			     instance_fn fn, void *arg, struct err *err)
{
	struct snapshot_meta m = { 0 };
	struct removing *r;
	char *dir = NULL;
	int rc = instance_files_busy(in) ? task_refusal(in, false, err) : 0;

	if (rc == 0 && !tag)
		rc = err_set(err, -EINVAL, "which snapshot, is not said");
	if (rc == 0)
		rc = instance_snapshot_find(in, tag, false, &dir, &m, err);
	/* What cannot be read can be removed. */
	if (rc == -EUCLEAN && !dir)
		dir = snapshot_path(in->is->dir, in->rec.name, tag);
	snapshot_meta_done(&m);
	if (rc < 0 && rc != -EUCLEAN)
		return rc;
	r = calloc(1, sizeof(*r));
	if (!r || !dir) {
		free(dir);
		free(r);
		return err_nomem(err);
	}
	r->task = (struct file_task){
		.free = removing_free, .fn = fn, .arg = arg, .final = true
	};
	r->dir = dir;
	task_begin(&r->task, in);
	task_job(&r->task, snapshot_remove, r->dir, removed);
	return task_started(&r->task, err);
}
