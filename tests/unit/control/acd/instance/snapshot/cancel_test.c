/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel_test.c - snapshots, restores and forks that are canceled at any point
 */
#include "control/acd/instance/snapshot/task.h"
#include "control/acd/storage/snapshot_impl.h"
#include "tests/unit/control/acd/instance/instance_world.h"

/* Of the files alone. */
#define ASK(of) (&(const struct snapshot_ask){ .tag = (of) })

#define FILES 100

/* Milliseconds from the request to the cancel: the first are in its midst, the
 * last is behind its end. */
static const uint64_t waits[] = { 0, 1, 2, 4, 8, 16, 32, 64, 128, 9000 };

static char *in_world(const struct world *w, const char *leaf)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", w->dir, leaf);
	return path;
}

/* Makes the files of "one", which all have @text. */
static void fill(const struct world *w, const char *text)
{
	file_mkdir_p(in_world(w, "one/home"), 0755);
	for (unsigned i = 0; i < FILES; i++) {
		char leaf[32];

		snprintf(leaf, sizeof(leaf), "one/home/%u", i);
		if (file_replace(in_world(w, leaf), text, strlen(text), 0644) <
		    0)
			ok(false, "write %s", leaf);
	}
}

/* Returns true if each file of @name, and no less, has @text. */
static bool has(const struct world *w, const char *name, const char *text)
{
	for (unsigned i = 0; i < FILES; i++) {
		SCOPED_STR data = NULL;
		char leaf[64];

		snprintf(leaf, sizeof(leaf), "%s/home/%u", name, i);
		if (file_read(in_world(w, leaf), 16, &data, NULL) < 0 ||
		    strcmp(data, text) != 0)
			return false;
	}
	return true;
}

/* Cancels after @wait ms what was begun, and waits for its end. */
static int cancel(struct world *w, struct instance *in, struct outcome *o,
		  uint64_t wait)
{
	uint64_t end = clock_ms() + wait;

	while (clock_ms() < end && o->calls == 0)
		step(w->loop);
	instance_task_cancel(in, o);
	instance_task_cancel(in, o);
	STEP_UNTIL(w->loop, o->calls > 0);
	is_int(o->calls, 1, "after %u ms it has ended", (unsigned)wait);
	ok(o->err.code == 0 || o->err.code == -ECANCELED, "as it should: %s",
	   o->err.msg);
	ok(!instance_files_busy(in), "and keeps nothing busy");
	return o->err.code;
}

static void test_snapshot(bool running)
{
	char made[SNAPSHOT_TAG_MAX + 1];
	unsigned n = 0;
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	fill(&w, "x");
	if (running)
		run_up(&w, &v, in, "sleep", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		struct outcome o = { 0 };
		bool whole;

		is_int(instance_snapshot(in, ASK("t"), note_outcome, &o, made,
					 &o.err),
		       0, "a snapshot");
		whole = cancel(&w, in, &o, waits[i]) == 0;
		n += !whole;
		ok(exists(&w, ".snapshots/one", "t") == whole,
		   "it is whole or not there");
		ok(!exists(&w, ".snapshots/one", ".new"), "nothing is left");
		file_remove_tree(in_world(&w, ".snapshots/one"));
		if (!running)
			continue;
		STEP_UNTIL(w.loop, !in->freeze.busy);
		ok(!instance_is_held(in) && state_of(in) == INSTANCE_RUNNING,
		   "what ran goes on");
	}
	ok(n > 0 && n < ARRAY_SIZE(waits), "%u were canceled", n);
	world_done(&w);
}

static void test_restore(void)
{
	char made[SNAPSHOT_TAG_MAX + 1];
	struct outcome o = { 0 };
	unsigned n = 0;
	struct world w;
	struct instance *in = world_one(&w);

	fill(&w, "first");
	instance_snapshot(in, ASK("t"), note_outcome, &o, made, &o.err);
	STEP_UNTIL(w.loop, o.calls > 0);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		struct err err = { 0 };
		bool done;

		fill(&w, "second");
		o = (struct outcome){ 0 };
		is_int(instance_restore(in, ASK("t"), note_outcome, &o, &o.err),
		       0, "a restore");
		done = cancel(&w, in, &o, waits[i]) == 0;
		n += !done;
		ok(has(&w, "one", done ? "first" : "second"),
		   "all files are those of then, or those of before");
		ok(exists(&w, ".snapshots/one", SNAPSHOT_BEFORE) == done,
		   "which were kept, or were not replaced");
		ok(!exists(&w, "one", SNAPSHOT_RESTORED) &&
			   !exists(&w, "one", SNAPSHOT_RESTORED_NEW),
		   "nothing is left");
		is_int(instance_restore_refusal(in, &err), 0, "it may run");
		file_remove_tree(in_world(&w, ".snapshots/one/before-restore"));
	}
	ok(n > 0 && n < ARRAY_SIZE(waits), "%u were canceled", n);
	world_done(&w);
}

static void test_forks(void)
{
	static const char *const names[] = { "two", "three" };
	unsigned n = 0;
	struct world w;
	struct instance *in = world_one(&w);

	fill(&w, "x");
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		struct outcome o = { 0 };
		bool done;

		is_int(instance_fork(in, ASK(NULL), names, 2, note_outcome, &o,
				     &o.err),
		       0, "two forks");
		done = cancel(&w, in, &o, waits[i]) == 0;
		n += !done;
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			struct instance *fork = instance_find(w.is, names[k]);

			ok((fork != NULL) == done &&
				   has(&w, names[k], "x") == done,
			   "%s is made, or is not", names[k]);
			o = (struct outcome){ 0 };
			if (!fork)
				continue;
			instance_destroy(fork, false, note_outcome, &o);
			STEP_UNTIL(w.loop, o.calls > 0);
		}
		ok(!exists(&w, ".forks", "one:two") &&
			   !exists(&w, ".forks", "one:three"),
		   "nothing is left");
	}
	ok(n > 0 && n < ARRAY_SIZE(waits), "%u were canceled", n);
	world_done(&w);
}

/* A snapshot of what is removed is of no use. */
static void test_destroy(bool running)
{
	struct outcome snap = { 0 }, o = { 0 };
	char made[SNAPSHOT_TAG_MAX + 1];
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	fill(&w, "x");
	if (running)
		run_up(&w, &v, in, "sleep", NULL);
	is_int(instance_snapshot(in, ASK("t"), note_outcome, &snap, made,
				 &snap.err),
	       0, "a snapshot");
	is_int(instance_clean(in, true, note_outcome, &o), -EBUSY,
	       "what only empties the instance waits for it");
	if (running)
		is_int(instance_destroy(in, false, note_outcome, &o), -EBUSY,
		       "so does a removal that is refused anyway");
	is_int(instance_destroy(in, running, note_outcome, &o), 0,
	       "one that is not cancels it");
	STEP_UNTIL(w.loop, o.calls > 0);
	is_int(o.err.code, 0, "the instance is removed: %s", o.err.msg);
	is_int(snap.calls, 1, "the snapshot was answered before");
	is_int(snap.err.code, -ECANCELED, "%s", snap.err.msg);
	ok(!instance_find(w.is, "one") && !exists(&w, "one", "") &&
		   !exists(&w, ".snapshots", "one"),
	   "nothing is left");
	is_int(w.rt->frozen_removes, 0, "it was removed thawed");
	world_done(&w);
}

/* One that waits for the end of a run. */
static void test_stopping(bool destroy)
{
	struct outcome snap = { 0 }, stop = { 0 }, o = { 0 };
	char made[SNAPSHOT_TAG_MAX + 1];
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	fill(&w, "x");
	run_up(&w, &v, in, "sleep", NULL);
	instance_stop(in, 1000, note_outcome, &stop);
	is_int(state_of(in), INSTANCE_STOPPING, "it is stopping");
	is_int(instance_snapshot(in, ASK("t"), note_outcome, &snap, made,
				 &snap.err),
	       0, "a snapshot");
	if (destroy)
		is_int(instance_destroy(in, false, note_outcome, &o), 0,
		       "a removal");
	else
		instance_task_cancel(in, &snap);
	STEP_UNTIL(w.loop, snap.calls > 0 && stop.calls > 0 &&
				   (!destroy || o.calls > 0));
	is_int(snap.err.code, -ECANCELED, "it does not begin: %s",
	       snap.err.msg);
	is_int(stop.calls, 1, "the stop is answered");
	is_int(o.calls, destroy, "and the removal");
	ok(!exists(&w, ".snapshots/one", "t"), "there is none");
	ok(!instance_find(w.is, "one") == destroy, "who is removed is gone");
	world_done(&w);
}

/* What is not a copy is not canceled, by another's argument neither. */
static void test_final(void)
{
	struct outcome o = { 0 }, other = { 0 };
	char made[SNAPSHOT_TAG_MAX + 1];
	struct world w;
	struct instance *in = world_one(&w);

	fill(&w, "x");
	is_int(instance_snapshot(in, ASK("t"), note_outcome, &o, made, &o.err),
	       0, "a snapshot");
	instance_task_cancel(in, &other);
	STEP_UNTIL(w.loop, o.calls > 0);
	is_int(o.err.code, 0, "another call's end does not cancel it: %s",
	       o.err.msg);
	o = (struct outcome){ 0 };
	is_int(instance_snapshot_remove(in, "t", note_outcome, &o, &o.err), 0,
	       "it is being removed");
	instance_task_cancel(in, &o);
	is_int(instance_destroy(in, true, note_outcome, &other), -EBUSY,
	       "the instance stays until then");
	STEP_UNTIL(w.loop, o.calls > 0);
	is_int(o.err.code, 0, "removed: %s", o.err.msg);
	ok(!exists(&w, ".snapshots/one", "t"), "all of it");
	world_done(&w);
}

int main(void)
{
	test_snapshot(false);
	test_snapshot(true);
	test_restore();
	test_forks();
	test_destroy(false);
	test_destroy(true);
	test_stopping(false);
	test_stopping(true);
	test_final();
	return done_testing();
}
