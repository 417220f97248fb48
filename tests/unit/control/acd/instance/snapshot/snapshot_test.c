/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_test.c - snapshots, restores and forks, also cut short at any point
 */
#include <sched.h>
#include <sys/mount.h>

#include "control/acd/instance/snapshot/task.h"
#include "control/acd/storage/snapshot_impl.h"
#include "control/shared/json.h"
#include "tests/unit/control/acd/instance/instance_world.h"

/* Of the files alone. */
#define ASK(of) (&(const struct snapshot_ask){ .tag = (of) })

static char *in_world(const struct world *w, const char *leaf)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", w->dir, leaf);
	return path;
}

static void put(const struct world *w, const char *leaf, const char *text)
{
	SCOPED_STR path = strdup(in_world(w, leaf));
	SCOPED_STR dir = strdup(path);

	*strrchr(dir, '/') = '\0';
	if (file_mkdir_p(dir, 0755) < 0 ||
	    file_replace(path, text, strlen(text), 0644) < 0)
		ok(false, "write %s", path);
}

static const char *get(const struct world *w, const char *leaf)
{
	static char text[64];
	SCOPED_STR data = NULL;

	text[0] = '\0';
	if (file_read(in_world(w, leaf), sizeof(text) - 1, &data, NULL) == 0)
		snprintf(text, sizeof(text), "%s", data);
	return text;
}

static int wait_for(struct world *w, struct outcome *o, int rc)
{
	if (rc == 0)
		STEP_UNTIL(w->loop, o->calls > 0);
	return rc == 0 ? o->err.code : rc;
}

static int snapshot(struct world *w, struct instance *in, const char *tag)
{
	char made[SNAPSHOT_TAG_MAX + 1];
	struct outcome o = { 0 };
	int rc =
		instance_snapshot(in, ASK(tag), note_outcome, &o, made, &o.err);

	return wait_for(w, &o, rc);
}

static int restore(struct world *w, struct instance *in, const char *tag,
		   struct outcome *o)
{
	*o = (struct outcome){ 0 };
	return wait_for(
		w, o, instance_restore(in, ASK(tag), note_outcome, o, &o->err));
}

static int forks(struct world *w, struct instance *in, const char *tag,
		 const char *a, const char *b, struct outcome *o)
{
	const char *const names[] = { a, b };

	*o = (struct outcome){ 0 };
	return wait_for(w, o,
			instance_fork(in, ASK(tag), names, b ? 2 : 1,
				      note_outcome, o, &o->err));
}

static size_t count(const struct instance *in)
{
	SCOPED_JSON all = json_array();

	instance_snapshots(in, all);
	return json_array_size(all);
}

/* ---- */

static void test_restore(void)
{
	struct outcome o;
	struct world w;
	struct instance *in = world_one(&w);

	is_int(snapshot(&w, in, "t"), -ENOENT, "it never ran");
	put(&w, "one/home/a", "first");
	put(&w, "one/layer/upper/b", "first");
	in->rec.layer_since_ns = 7;
	is_int(snapshot(&w, in, "t"), 0, "a snapshot");
	is_int(snapshot(&w, in, "t"), -EEXIST, "its tag is taken");
	is_int(snapshot(&w, in, "no/tag"), -EINVAL, "no tag");
	is_int(snapshot(&w, in, SNAPSHOT_BEFORE), -EINVAL, "one of acd's own");

	put(&w, "one/home/a", "second");
	put(&w, "one/home/c", "new");
	put(&w, "one/workspace/d", "new");
	in->rec.layer_since_ns = 8;
	is_int(restore(&w, in, "none", &o), -ENOENT, "none of that tag");
	is_int(restore(&w, in, "t", &o), 0, "restored: %s", o.err.msg);
	is_str(get(&w, "one/home/a"), "first", "what it was");
	is_str(get(&w, "one/layer/upper/b"), "first", "its layer, too");
	ok(!exists(&w, "one", "home/c"), "what is new is gone");
	ok(!exists(&w, "one", "workspace"), "so is a tree of its own");
	is_int(in->rec.layer_since_ns, 7, "the record follows");
	ok(!exists(&w, "one", SNAPSHOT_RESTORED), "nothing is left");

	is_int(restore(&w, in, SNAPSHOT_BEFORE, &o), 0, "taken back: %s",
	       o.err.msg);
	is_str(get(&w, "one/home/a"), "second", "what it was before");
	is_str(get(&w, "one/workspace/d"), "new", "all of it");
	is_int(in->rec.layer_since_ns, 8, "the record, too");
	is_int((int)count(in), 2, "there are two, still");
	is_int(restore(&w, in, NULL, &o), 0, "the latest of the user's");
	is_str(get(&w, "one/home/a"), "first", "is that");
	world_done(&w);
}

static void test_damage(void)
{
	struct outcome o;
	struct world w;
	struct instance *in = world_one(&w);

	put(&w, "one/home/a", "first");
	snapshot(&w, in, "t");
	put(&w, ".snapshots/one/t/home/a", "fIrst");
	is_int(restore(&w, in, "t", &o), -EUCLEAN, "a bit has changed: %s",
	       o.err.msg);
	is_int(forks(&w, in, "t", "two", NULL, &o), -EUCLEAN, "no fork: %s",
	       o.err.msg);
	ok(!instance_find(w.is, "two"), "is made");
	is_str(get(&w, "one/home/a"), "first", "nothing is changed");
	ok(!exists(&w, "one", SNAPSHOT_RESTORED_NEW), "or left");
	put(&w, ".snapshots/one/t/meta.json", "{");
	is_int(restore(&w, in, "t", &o), -EUCLEAN, "no meta.json");
	is_int((int)count(in), 0, "it is not listed");
	world_done(&w);
}

static void test_expiry(void)
{
	struct world w;
	struct instance *in = world_one(&w);

	put(&w, "one/home/a", "x");
	snapshot(&w, in, "mine");
	for (unsigned i = 0; i < SNAPSHOT_KEPT + 2; i++) {
		if (snapshot(&w, in, NULL) < 0)
			ok(false, "snapshot %u", i);
		step_for(w.loop, 3); /* a tag has milliseconds */
	}
	is_int((int)count(in), (int)SNAPSHOT_KEPT + 1,
	       "the last ones, and that with a tag");
	world_done(&w);
}

static void test_running(void)
{
	struct outcome o = { 0 };
	char made[SNAPSHOT_TAG_MAX + 1];
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	put(&w, "one/home/a", "x");
	run_up(&w, &v, in, "sleep", NULL);
	is_int(snapshot(&w, in, "t"), 0, "while it runs");
	is_int(w.rt->freezes, 1, "it was frozen");
	STEP_UNTIL(w.loop, w.rt->thaws == 1);
	is_int(state_of(in), INSTANCE_RUNNING, "it says running");
	is_int(restore(&w, in, "t", &o), -EBUSY, "no restore");

	/* Held, it cannot be paused; paused, it needs no hold. */
	w.rt->hold = true;
	o = (struct outcome){ 0 };
	is_int(instance_snapshot(in, ASK("u"), note_outcome, &o, made, &o.err),
	       0, "another one");
	is_int(instance_snapshot(in, ASK("v"), note_outcome, &o, made, &o.err),
	       -EBUSY, "one at a time");
	is_int(pause_wait(&w, in, true), -EBUSY, "no pause meanwhile");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, o.calls == 1 && w.rt->thaws == 2);
	is_int(pause_wait(&w, in, true), 0, "a pause");
	is_int(snapshot(&w, in, "p"), 0, "a snapshot of what is paused");
	is_int(state_of(in), INSTANCE_PAUSED, "it stays so");
	world_done(&w);
}

/* Its files are copied while it hibernates: only then it is woken. */
static void test_hibernated(void)
{
	struct outcome o = { 0 }, p = { 0 };
	char made[SNAPSHOT_TAG_MAX + 1];
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	put(&w, "one/home/a", "x");
	run_up(&w, &v, in, "cat", NULL);
	is_int(instance_hibernate(in, note_outcome, &p, &p.err), 0,
	       "hibernate");
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_HIBERNATED);
	is_int(snapshot(&w, in, "t"), 0, "a snapshot of it");
	is_int(state_of(in), INSTANCE_HIBERNATED, "does not wake it");
	is_int(w.rt->wakes, 0, "for a moment");
	is_int(instance_snapshot(in, ASK("u"), note_outcome, &o, made, &o.err),
	       0, "another one");
	is_int(run_stdin(instance_main(in), "hi", 2), 0, "and input meanwhile");
	is_int(w.rt->wakes, 0, "wait for the copy");
	STEP_UNTIL(w.loop, o.calls == 1 && state_of(in) == INSTANCE_RUNNING);
	is_int(o.err.code, 0, "which is made");
	is_int(w.rt->wakes, 1, "then it is woken");
	STEP_UNTIL(w.loop, v.bytes == 2);
	is_int((long long)v.bytes, 2, "by that input");
	world_done(&w);
}

/* It ends while its files are copied: what was copied is of no use. */
static void test_ended(bool was_paused)
{
	struct outcome o = { 0 };
	char made[SNAPSHOT_TAG_MAX + 1];
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	put(&w, "one/home/a", "x");
	run_up(&w, &v, in, "sleep", NULL);
	if (was_paused)
		is_int(pause_wait(&w, in, true), 0, "paused");
	is_int(instance_snapshot(in, ASK("t"), note_outcome, &o, made, &o.err),
	       0, "a snapshot");
	if (!was_paused)
		STEP_UNTIL(w.loop, instance_is_held(in));
	is_int(instance_pause(in, false, note_outcome, &o, &o.err), -EBUSY,
	       "nobody lets it go on");
	o = (struct outcome){ 0 };
	instance_stop(in, 1000, note_outcome, &(struct outcome){ 0 });
	STEP_UNTIL(w.loop, o.calls == 1 && !instance_is_live(in));
	is_int(o.err.code, -EAGAIN, "but its end: %s", o.err.msg);
	is_int((int)count(in), 0, "there is none");
	is_int(w.rt->frozen_removes, 0, "it was removed thawed");
	is_int(snapshot(&w, in, "t"), 0, "the next one works");
	world_done(&w);
}

/* The runtime fails to let it go on: the user sees that, and can. */
static void test_frozen(void)
{
	struct outcome o = { 0 };
	char made[SNAPSHOT_TAG_MAX + 1];
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	put(&w, "one/home/a", "x");
	run_up(&w, &v, in, "sleep", NULL);
	is_int(instance_snapshot(in, ASK("t"), note_outcome, &o, made, &o.err),
	       0, "a snapshot");
	STEP_UNTIL(w.loop, instance_is_held(in));
	w.rt->freeze_error = -ETIMEDOUT;
	STEP_UNTIL(w.loop, o.calls == 1 && state_of(in) == INSTANCE_PAUSED);
	is_int(o.err.code, 0, "is made");
	w.rt->freeze_error = 0;
	is_int(pause_wait(&w, in, false), 0, "resumed");
	is_int(state_of(in), INSTANCE_RUNNING, "it runs");
	is_int(snapshot(&w, in, "u"), 0, "and another one");
	world_done(&w);
}

static void test_forks(void)
{
	struct outcome o;
	struct world w;
	struct instance *in = world_one(&w), *two, *three;

	put(&w, "one/home/a", "x");
	put(&w, "one/workspace/b", "y");
	in->rec.layer_since_ns = 9;
	is_int(forks(&w, in, NULL, "two", "three", &o), 0, "two forks: %s",
	       o.err.msg);
	two = instance_find(w.is, "two");
	three = instance_find(w.is, "three");
	is_str(get(&w, "two/home/a"), "x", "the files");
	is_str(get(&w, "three/workspace/b"), "y", "of both");
	ok(two && three && strcmp(two->rec.address, three->rec.address) != 0 &&
		   strcmp(two->rec.address, in->rec.address) != 0,
	   "an address each");
	is_int(two ? (int)two->rec.memory : 0, 1 << 30, "the options");
	is_int(two ? two->rec.layer_since_ns : 0, 9, "and the layer's begin");
	is_int(two ? (int)two->rec.state : -1, INSTANCE_CREATED, "never ran");
	is_int(forks(&w, in, NULL, "four", "two", &o), -EEXIST, "taken");
	is_int(forks(&w, in, NULL, "four", "four", &o), -EEXIST, "twice");
	is_int(forks(&w, in, NULL, "../x", NULL, &o), -EINVAL, "no name");
	ok(!instance_find(w.is, "four") && !exists(&w, ".forks", "one:four"),
	   "nothing is left");
	/* A directory that nobody owns must not become somebody's home. */
	put(&w, "five/home/a", "old");
	ok(forks(&w, in, NULL, "five", NULL, &o) < 0, "in the way: %s",
	   o.err.msg);
	ok(!instance_find(w.is, "five"), "no instance either");
	ok(!exists(&w, ".forks", "one:five"), "nor a copy");
	world_done(&w);
}

/* As if acd had been killed when @moved renames of a restore had been made. */
static void crash(int moved)
{
	static const char *const moves[][2] = {
		{ "one/home", "one/.restored/old/home" },
		{ "one/workspace", "one/.restored/old/workspace" },
		{ "one/.restored/home", "one/home" },
	};
	struct world w;
	struct instance *in = world_one(&w);
	struct snapshot_meta m = { 0 };
	struct err err = { 0 };
	SCOPED_STR whole = strdup(in_world(&w, "one/.restored"));
	SCOPED_STR old = strdup(in_world(&w, "one/.restored/old"));

	put(&w, "one/home/a", "second");
	put(&w, "one/workspace/b", "second");
	put(&w, "one/.restored/home/a", "first");
	file_mkdir_p(old, 0700);
	instance_snapshot_meta(in, "t", &m);
	m.layer_since_ns = 5;
	snapshot_store(whole, &m, &err);
	snapshot_store(old, &m, &err);
	free(m.tag);
	m.tag = strdup(SNAPSHOT_BEFORE);
	snapshot_store(old, &m, &err);
	snapshot_meta_done(&m);
	for (int i = 0; i < moved && i < (int)ARRAY_SIZE(moves); i++) {
		SCOPED_STR from = strdup(in_world(&w, moves[i][0]));

		if (i == 2)
			file_mkdir_p(in_world(&w, "one/.restored/out"), 0700);
		if (rename(from, in_world(&w, moves[i][1])) < 0)
			ok(false, "move %d", i);
	}
	ok(instance_restore_refusal(in, &err) == -EBUSY, "nothing runs: %s",
	   err.msg);
	instances_snapshots_begin(w.is);
	STEP_UNTIL(w.loop, !instance_files_busy(in));
	is_str(get(&w, "one/home/a"), "first", "after %d moves: in place",
	       moved);
	ok(!exists(&w, "one", "workspace"), "what was not there is gone");
	is_int(in->rec.layer_since_ns, 5, "the record follows");
	is_str(get(&w, ".snapshots/one/before-restore/home/a"), "second",
	       "what was there is kept");
	is_str(get(&w, ".snapshots/one/before-restore/workspace/b"), "second",
	       "all of it");
	is_int(instance_restore_refusal(in, &err), 0, "it is over");
	world_done(&w);
}

/* Killed when the old files were a snapshot already, and what is left was being
 * removed. */
static void test_kept(void)
{
	struct world w;
	struct instance *in = world_one(&w);
	struct err err = { 0 };

	put(&w, "one/home/a", "first");
	put(&w, "one/.restored/rest", "x");
	in->rec.layer_since_ns = 5;
	instances_snapshots_begin(w.is);
	STEP_UNTIL(w.loop, !instance_files_busy(in));
	is_int(instance_restore_refusal(in, &err), 0, "it is over");
	is_str(get(&w, "one/home/a"), "first", "nothing is moved again");
	is_int(in->rec.layer_since_ns, 5, "nor is the record");
	world_done(&w);
}

/* Killed between the record of a fork and its files. */
static void test_half_fork(void)
{
	struct world w;

	world_one(&w);
	world_create(&w, "two", false);
	put(&w, ".forks/one:two/home/a", "x");
	put(&w, ".forks/one:three/home/a", "x");
	instances_snapshots_begin(w.is);
	STEP_UNTIL(w.loop, !w.is->sweep);
	is_str(get(&w, "two/home/a"), "x", "it has its files");
	ok(!exists(&w, "three", "") && !exists(&w, ".forks", "") &&
		   !exists(&w, ".trash", ""),
	   "one without a record is gone");
	world_done(&w);
}

static void test_sweep(void)
{
	struct world w;
	struct instance *in = world_one(&w);

	put(&w, "one/home/a", "x");
	snapshot(&w, in, "t");
	put(&w, ".forks/one:two/home/a", "half");
	put(&w, ".snapshots/one/.new/home/a", "half");
	put(&w, "one/.restored.new/home/a", "half");
	instances_snapshots_begin(w.is);
	STEP_UNTIL(w.loop, !exists(&w, ".forks", "one:two") &&
				   !exists(&w, ".snapshots/one", ".new"));
	ok(!exists(&w, "one", ".restored.new"), "half a restore, too");
	STEP_UNTIL(w.loop, !w.is->sweep);
	is_int((int)count(in), 1, "what is complete stays");
	world_done(&w);
}

/* The disk is full: nothing is left, and nothing is lost. */
static void test_full(void)
{
	struct outcome o;
	struct world w;
	struct instance *in = world_one(&w);
	SCOPED_STR saved = strdup(in_world(&w, ".snapshots"));
	SCOPED_STR forked = strdup(in_world(&w, ".forks"));
	char big[8192];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	put(&w, "one/home/small", "x");
	put(&w, "one/home/big", big);
	file_mkdir_p(saved, 0700);
	file_mkdir_p(forked, 0700);
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", saved, "tmpfs", 0, "size=4k") < 0 ||
	    mount("tmpfs", forked, "tmpfs", 0, "size=4k") < 0) {
		skip("no file system of a test's own here");
		world_done(&w);
		return;
	}
	is_int(snapshot(&w, in, "t"), -ENOSPC, "a snapshot");
	ok(!exists(&w, ".snapshots/one", ".new"), "nothing is left of it");
	is_int(forks(&w, in, NULL, "two", NULL, &o), -ENOSPC, "a fork: %s",
	       o.err.msg);
	ok(!instance_find(w.is, "two") && !exists(&w, ".forks", "one:two"),
	   "nor of this");
	is_int((int)count(in), 0, "there is none");
	is_str(get(&w, "one/home/small"), "x", "the files stay");
	umount2(saved, MNT_DETACH);
	umount2(forked, MNT_DETACH);
	is_int(snapshot(&w, in, "t"), 0, "with room it works");
	world_done(&w);
}

/* An instance of --rm ends, and goes, while its files are copied. */
static void test_gone(void)
{
	struct outcome o = { 0 };
	char made[SNAPSHOT_TAG_MAX + 1];
	struct watcher v;
	struct world w;
	struct instance *in;

	world_init(&w);
	in = world_create(&w, "one", true);
	put(&w, "one/home/a", "x");
	run_up(&w, &v, in, "cat", NULL);
	is_int(instance_snapshot(in, ASK("t"), note_outcome, &o, made, &o.err),
	       0, "a snapshot");
	run_stdin_eof(instance_main(in));
	STEP_UNTIL(w.loop, o.calls == 1);
	ok(instance_find(w.is, "one") != NULL || o.err.code == 0,
	   "it is there as long as it is read");
	STEP_UNTIL(w.loop, !instance_find(w.is, "one"));
	ok(!exists(&w, "one", "") && !exists(&w, ".snapshots", "one"),
	   "then all of it goes");
	world_done(&w);
}

static void test_removal(void)
{
	struct outcome o = { 0 };
	struct world w;
	struct instance *in = world_one(&w);

	put(&w, "one/home/a", "x");
	snapshot(&w, in, "t");
	snapshot(&w, in, "u");
	is_int(wait_for(&w, &o,
			instance_snapshot_remove(in, "t", note_outcome, &o,
						 &o.err)),
	       0, "removed");
	ok(!exists(&w, ".snapshots/one", "t") &&
		   exists(&w, ".snapshots/one", "u"),
	   "that one, not the latest");
	is_int(instance_snapshot_remove(in, NULL, note_outcome, &o, &o.err),
	       -EINVAL, "none without a tag");
	o = (struct outcome){ 0 };
	is_int(wait_for(&w, &o, instance_destroy(in, false, note_outcome, &o)),
	       0, "the instance goes");
	ok(!exists(&w, ".snapshots", "one"), "and its snapshots with it");
	world_done(&w);
}

int main(void)
{
	test_restore();
	test_damage();
	test_expiry();
	test_running();
	test_hibernated();
	test_ended(false);
	test_ended(true);
	test_frozen();
	test_forks();
	for (int moved = 0; moved <= 3; moved++)
		crash(moved);
	test_kept();
	test_half_fork();
	test_sweep();
	test_gone();
	test_removal();
	test_full();
	return done_testing();
}
