/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transaction_test.c - a run that brings options: all of it, or nothing
 */
#include "control/acd/instance/transaction.h"

#include "tests/unit/control/acd/instance/instance_world.h"

struct told {
	struct outcome o;
	struct instance *in;
};

static void note_told(void *arg, struct instance *in, const struct err *err)
{
	struct told *t = arg;

	note_outcome(&t->o, err);
	t->in = in;
}

static uint64_t wanted_disk; /* of the next request; 0: no limit */

/* What a request made of it: a name of its own, and other options. */
struct wanted {
	struct instance_record r, plain;
};

static void wanted_init(struct wanted *x, struct instance *in, const char *name)
{
	char word[64], blueprint[] = "base", isolation[] = "runsc";
	const struct instance_record plain = {
		.name = word,
		.blueprint = blueprint,
		.isolation = isolation,
		.pids = 100,
		.host_uid = (uint32_t)getuid(),
		.host_gid = (uint32_t)getgid(),
	};

	snprintf(word, sizeof(word), "%s", name);
	*x = (struct wanted){ 0 };
	if (instance_record_copy(&x->plain, &plain) < 0 ||
	    instance_record_copy(&x->r, in ? instance_record(in) : &plain) < 0)
		abort();
	x->r.pids = 7;
	x->r.disk = wanted_disk;
}

static void wanted_done(struct wanted *x)
{
	instance_record_done(&x->r);
	instance_record_done(&x->plain);
}

/* Asks for a run of @cmd in @in, or in a new "two", with 7 processes. */
static bool mounts_sent; /* what ask() says */

static int ask(struct world *w, struct instance *in, const char *workspace,
	       ino_t ino, struct told *told, struct transaction **ret)
{
	struct run_options o = run_of("sleep", NULL);
	struct transaction *t = NULL;
	struct err err = { 0 };
	struct wanted x;
	int rc;

	*told = (struct told){ 0 };
	wanted_init(&x, in, "two");
	if (workspace)
		x.r.workspace = strdup(workspace);
	rc = transaction_run(w->is,
			     &(const struct transaction_ask){
				     .in = in,
				     .record = &x.r,
				     .plain = &x.plain,
				     .workspace_ino = ino,
				     .mounts_sent = mounts_sent,
			     },
			     &o, note_told, told, &t, &err);
	told->o.err = err;
	if (ret)
		*ret = t;
	wanted_done(&x);
	return rc;
}

static uint64_t pids_of(const struct instance *in)
{
	return instance_record(in)->pids;
}

static void test_new(void)
{
	struct outcome gone = { 0 };
	struct told told;
	struct world w;
	struct instance *in;

	world_init(&w);
	fake.image_missing = true;
	is_int(ask(&w, NULL, NULL, 0, &told, NULL), INSTANCE_NO_IMAGE,
	       "refused: %s", told.o.err.msg);
	ok(!instance_find(w.is, "two") && !exists(&w, "two", ""),
	   "of a new one nothing is left");
	fake.image_missing = false;
	fake.prepare_error = -EIO;
	is_int(ask(&w, NULL, NULL, 0, &told, NULL), 0, "its mounts fail");
	STEP_UNTIL(w.loop, told.o.calls);
	ok(told.o.err.code == -EIO && !told.in, "and say so");
	ok(!instance_find(w.is, "two") && !exists(&w, "two", ""),
	   "its directories are gone before");
	fake.prepare_error = 0;
	is_int(ask(&w, NULL, NULL, 0, &told, NULL), 0, "the next one runs");
	STEP_UNTIL(w.loop, told.o.calls);
	in = instance_find(w.is, "two");
	ok(told.o.err.code == 0 && told.in == in && in, "and has begun");
	is_int((int)pids_of(in), 7, "with its options");
	is_int(ask(&w, in, NULL, 0, &told, NULL), -EALREADY, "not twice");
	instance_stop(in, 0, note_outcome, &gone);
	STEP_UNTIL(w.loop, gone.calls);
	ok(instance_find(w.is, "two") == in, "it stays after its run");
	world_done(&w);
}

/* Without a begun run the options are those from before. */
static void test_old(void)
{
	struct transaction *t;
	struct outcome gone = { 0 };
	struct told told;
	struct world w;
	struct instance *in = world_one(&w);

	fake.image_missing = true;
	is_int(ask(&w, in, NULL, 0, &told, NULL), INSTANCE_NO_IMAGE,
	       "refused at once");
	is_int((int)pids_of(in), 100, "nothing has changed");
	is_int(state_of(in), INSTANCE_CREATED, "nor has its state");
	fake.image_missing = false;

	fake.bind_refused = true;
	is_int(ask(&w, in, NULL, 0, &told, NULL), 0, "a start");
	STEP_UNTIL(w.loop, told.o.calls);
	ok(told.o.err.code == -EINVAL && pids_of(in) == 100,
	   "fails, and its options are put back");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(state_of(in), INSTANCE_FAILED, "what happened stays");
	ok(instance_record(in)->reason != NULL, "and why");
	fake.bind_refused = false;

	w.rt->mood = FAKE_GUEST_SILENT;
	is_int(ask(&w, in, NULL, 0, &told, &t), 0, "a client");
	STEP_UNTIL(w.loop, w.rt->guest);
	transaction_cancel(t);
	is_int((int)pids_of(in), 100, "that goes takes its options along");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(told.o.calls, 0, "and hears nothing");
	w.rt->mood = FAKE_GUEST_SOUND;

	is_int(ask(&w, in, NULL, 0, &told, NULL), 0, "the next");
	STEP_UNTIL(w.loop, told.o.calls);
	is_int((int)pids_of(in), 7, "has its own");
	instance_stop(in, 0, note_outcome, &gone);
	STEP_UNTIL(w.loop, gone.calls);
	is_int((int)pids_of(in), 7, "which stay");
	world_close(&w);
	world_open(&w);
	is_int((int)pids_of(instance_find(w.is, "one")), 7, "in the store too");
	world_done(&w);
}

/* A run that waits for the end of another has its options, or nobody has. */
static void test_queued(void)
{
	struct transaction *t;
	struct outcome gone = { 0 };
	struct told told, second;
	struct instance_record r = { 0 };
	struct err err = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "sleep", NULL);
	instance_stop(in, 0, note_outcome, &gone);
	is_int(ask(&w, in, NULL, 0, &told, &t), 0, "it waits");
	is_int(ask(&w, in, NULL, 0, &second, NULL), -EALREADY,
	       "a second one does not: %s", second.o.err.msg);
	is_int((int)pids_of(in), 7, "its options are those of the first");
	instance_record_copy(&r, instance_record(in));
	is_int(instance_update(in, &r, &err), -EBUSY, "nobody changes them");
	instance_record_done(&r);
	transaction_cancel(t);
	is_int((int)pids_of(in), 100, "they go with their client");
	STEP_UNTIL(w.loop, gone.calls && !instance_is_live(in));
	is_int(state_of(in), INSTANCE_STOPPED, "and nothing runs");

	run_up(&w, &v, in, "sleep", NULL);
	gone.calls = 0;
	instance_stop(in, 0, note_outcome, &gone);
	is_int(ask(&w, in, NULL, 0, &told, NULL), 0, "one more");
	fake.image_missing = true;
	STEP_UNTIL(w.loop, told.o.calls);
	ok(told.o.err.code == INSTANCE_NO_IMAGE && pids_of(in) == 100,
	   "refused later, with the same effect");
	world_done(&w);
}

/* A policy that is set while a run waits, or that comes to hold then. */
static void test_queued_policy(void)
{
	static const char first[] = "{\"mode\":\"\",\"presets\":[],"
				    "\"allow\":[\"a.example\"],\"deny\":[]}";
	static const char second[] = "{\"mode\":\"open\",\"presets\":[],"
				     "\"allow\":[],\"deny\":[]}";
	struct outcome gone = { 0 }, set = { 0 };
	struct transaction *t;
	struct told told;
	struct err err = { 0 };
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "sleep", NULL);
	instance_stop(in, 0, note_outcome, &gone);
	is_int(ask(&w, in, NULL, 0, &told, NULL), 0, "a run waits");
	is_int(instance_set_egress(in, first, note_outcome, &set, &err), 0,
	       "its policy is set meanwhile: %s", err.msg);
	fake.image_missing = true;
	STEP_UNTIL(w.loop, told.o.calls && set.calls);
	ok(told.o.err.code == INSTANCE_NO_IMAGE && pids_of(in) == 100,
	   "the run is refused, its options are put back");
	is_str(instance_record(in)->egress_json, first, "the policy stays");
	fake.image_missing = false;

	run_up(&w, &v, in, "sleep", NULL);
	fake.bind_slow = true;
	is_int(instance_set_egress(in, second, note_outcome, &set, &err), 0,
	       "one is under way: %s", err.msg);
	gone.calls = 0;
	instance_stop(in, 0, note_outcome, &gone);
	is_int(ask(&w, in, NULL, 0, &told, &t), 0, "when the next run comes");
	bind_answer(NULL);
	fake.bind_slow = false;
	transaction_cancel(t);
	STEP_UNTIL(w.loop, gone.calls && !instance_is_live(in));
	is_int((int)pids_of(in), 100, "whose client goes");
	is_str(instance_record(in)->egress_json, second, "it stays too");
	world_close(&w);
	world_open(&w);
	is_str(instance_record(instance_find(w.is, "one"))->egress_json, second,
	       "in the store as well");
	world_done(&w);
}

/* A client that goes, and somebody who stops, while a new one starts. */
static void test_new_leaves(void)
{
	struct transaction *t;
	struct outcome gone = { 0 };
	struct told told;
	struct world w;

	world_init(&w);
	w.rt->mood = FAKE_GUEST_SILENT;
	is_int(ask(&w, NULL, NULL, 0, &told, &t), 0, "a new one");
	STEP_UNTIL(w.loop, w.rt->guest);
	transaction_cancel(t);
	STEP_UNTIL(w.loop, !instance_find(w.is, "two"));
	ok(!exists(&w, "two", "") && told.o.calls == 0, "nothing is left");

	is_int(ask(&w, NULL, NULL, 0, &told, &t), 0, "before its policy holds");
	transaction_cancel(t);
	STEP_UNTIL(w.loop, !instance_find(w.is, "two"));
	ok(!exists(&w, "two", ""), "the same");

	is_int(ask(&w, NULL, NULL, 0, &told, &t), 0, "one that is stopped");
	instance_stop(instance_find(w.is, "two"), 0, note_outcome, &gone);
	/* Its client goes while it is being removed. */
	transaction_cancel(t);
	STEP_UNTIL(w.loop, gone.calls && !instance_find(w.is, "two"));
	ok(gone.err.code == 0, "who stopped it hears when it is gone");
	world_done(&w);
}

/* The directory that was sent is the one that the run means. */
static void test_workspace(void)
{
	struct told told;
	struct world w;
	struct instance *in;

	world_init(&w);
	fake.external_here = true;
	fake.external_ino = 5;
	is_int(ask(&w, NULL, "/srv", 0, &told, NULL), INSTANCE_NO_WORKSPACE,
	       "what was sent before is for another");
	fake.external_here = true;
	is_int(ask(&w, NULL, "/srv", 6, &told, NULL), INSTANCE_NO_WORKSPACE,
	       "so is what somebody else has sent");
	fake.external_here = true;
	is_int(ask(&w, NULL, "/srv", 5, &told, NULL), 0, "its own");
	STEP_UNTIL(w.loop, told.o.calls);
	in = instance_find(w.is, "two");
	ok(in && instance_is_up(in), "runs: %s", told.o.err.msg);
	world_done(&w);

	in = world_one(&w);
	fake.external_here = true;
	fake.external_ino = 5;
	is_int(ask(&w, in, "/srv", 6, &told, NULL), INSTANCE_NO_WORKSPACE,
	       "an old one with another directory");
	ok(!instance_record(in)->workspace, "has its own as before");
	fake.external_here = true;
	is_int(ask(&w, in, "/srv", 5, &told, NULL), 0, "with the right one");
	STEP_UNTIL(w.loop, told.o.calls);
	is_str(instance_record(in)->workspace, "/srv", "it is recorded");
	world_done(&w);
}

/* Directories that were sent for an earlier request are dropped. */
static void test_mounts(void)
{
	struct told told;
	struct world w;

	world_init(&w);
	fake.mount = "/srv/docs";
	is_int(ask(&w, NULL, NULL, 0, &told, NULL), INSTANCE_NO_MOUNTS,
	       "none was sent");
	is_int(fake.forgotten_extras, 1, "what waits is dropped");
	ok(!instance_find(w.is, "two"), "no instance is made");
	fake.extras_here = true;
	mounts_sent = true;
	is_int(ask(&w, NULL, NULL, 0, &told, NULL), 0, "the same, sent");
	mounts_sent = false;
	is_int(fake.forgotten_extras, 1, "they are kept");
	STEP_UNTIL(w.loop, told.o.calls);
	ok(instance_is_up(instance_find(w.is, "two")), "it runs");
	world_done(&w);
}

/* What a refusal says of the limit is what becomes of it. */
static void test_disk(void)
{
	struct told told;
	struct world w;
	struct instance *in;

	world_init(&w);
	wanted_disk = UINT64_C(64) << 20;
	fake.external_here = true;
	fake.external_ino = 5;
	is_int(ask(&w, NULL, "/srv", 5, &told, NULL), -ENOTSUP,
	       "a new one with a limit and the user's own directory");
	ok(strncmp(told.o.err.msg, "a disk limit cannot", 19) == 0,
	   "is told nothing of a limit that stays: %s", told.o.err.msg);
	ok(!instance_find(w.is, "two"), "as nothing of it does");
	ok(strstr(told.o.err.msg, "have no limit (--disk 0)") != NULL,
	   "and how to have none");
	fake.disk = wanted_disk;
	fake.external_here = true;
	is_int(ask(&w, NULL, "/srv", 5, &told, NULL), -ENOTSUP,
	       "with a limit of the blueprint's");
	ok(!strstr(told.o.err.msg, "have no limit (") &&
		   strstr(told.o.err.msg, "copy it to $AC_HOME/blueprints/base "
					  "without 'limits: disk'"),
	   "it is told that --disk 0 is not enough: %s", told.o.err.msg);
	world_done(&w);

	in = world_one(&w);
	fake.external_here = true;
	fake.external_ino = 5;
	is_int(ask(&w, in, "/srv", 5, &told, NULL), -ENOTSUP, "an old one");
	ok(strstr(told.o.err.msg, "keeps the disk limit it had (none)"),
	   "is told of the one from before: %s", told.o.err.msg);
	is_int((int)instance_disk_wanted(in), 0, "which it has");
	wanted_disk = 0;
	world_done(&w);
}

/* acd ends meanwhile. */
static void test_end(void)
{
	struct told told;
	struct world w;

	world_init(&w);
	w.rt->mood = FAKE_GUEST_SILENT;
	is_int(ask(&w, NULL, NULL, 0, &told, NULL), 0, "a start");
	STEP_UNTIL(w.loop, w.rt->guest);
	world_done(&w);
	is_int(told.o.calls, 0, "nobody hears of it, and nothing leaks");
}

int main(void)
{
	test_new();
	test_old();
	test_queued();
	test_queued_policy();
	test_new_leaves();
	test_workspace();
	test_mounts();
	test_disk();
	test_end();
	return done_testing();
}
