/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_test.c - sandboxes kept ready, claimed, missed, lost and drained
 */
#include "control/acd/pool/pool.h"

#include <fcntl.h>

#include "tests/unit/control/acd/pool/pool_world.h"

static ino_t inode(const struct pooled *p, const char *sub)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", p->w.dir, sub);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

static void test_claim(void)
{
	struct pooled p;
	struct watcher v = { 0 };
	struct instance *in;
	char address[32];
	ino_t workspace, home;

	pooled_ready(&p);
	is_int(p.w.rt->starts, 1, "a member was started");
	is_str(p.w.rt->name, "_pool-1", "with a name no instance can have");
	ok(fake.binds == 0, "it has no policy");
	ok(p.w.rt->guest->assign.name == NULL, "and was told nothing");
	is_int(p.w.rt->guest->prepare.flags,
	       LINK_PREPARE_OWN_KERNEL | LINK_PREPARE_NAMELESS |
		       LINK_PREPARE_OWN_CA,
	       "... but to prepare itself");
	snprintf(address, sizeof(address), "%s", p.w.rt->address);
	workspace = inode(&p, ".pool/_pool-1/workspace");
	home = inode(&p, ".pool/_pool-1/home");
	ok(workspace && home, "its directories are there");

	in = create(&p, "one");
	ok(strcmp(instance_record(in)->address, address) != 0,
	   "its address is nobody's");
	run_up(&p.w, &v, in, "sleep", NULL);
	ok(v.begun.err.code == 0, "a run begins: %s", v.begun.err.msg);
	is_int(p.w.rt->starts, 1, "in the sandbox that was there");
	is_str(instance_record(in)->address, address, "at its address");
	is_int(fake.binds, 1, "to which its policy was bound");
	is_str(p.w.rt->guest->assign.name, "one", "it was told its name");
	ok(inode(&p, "one/workspace") == workspace &&
		   inode(&p, "one/home") == home,
	   "with the directories of the member");
	is_str(fake.renamed, ".pool/_pool-1 one", "and its mounts");
	ok(exists(&p.w, "one", "log"), "it has a log");
	is_int(number(&p, "hits"), 1, "counted");

	instance_stop(in, 0, note_outcome, &v.begun);
	STEP_UNTIL(p.w.loop, !instance_is_live(in));
	is_str(p.w.rt->removed, "id-1", "the sandbox goes with the run");
	is_int(number(&p, "ready"), 0, "none is left");
	run_through(&p.w, &v, in, "true", NULL);
	ok(v.begun.err.code == 0 && p.w.rt->starts == 2,
	   "the next run starts its own");
	is_str(p.w.rt->address, address, "at the address it has now");
	p.shut = false;
	STEP_UNTIL(p.w.loop, number(&p, "ready") == 1);
	is_int(number(&p, "ready"), 1, "and the pool is filled again");
	ok(!inode(&p, ".pool/_pool-1"),
	   "with nothing left behind of the one that was taken");
	pooled_done(&p);
}

static void test_misses(void)
{
	static char docker[] = "docker", crun[] = "crun", all[] = "all",
		    dir[] = "/w";
	static const char *const reasons[] = { "workspace", "owner",   "limits",
					       "isolation", "runtime", "gpus",
					       "files" };
	struct pooled p;
	struct watcher v = { 0 };
	struct instance *in;
	struct err err = { 0 };
	char file[128];

	pooled_ready(&p);
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		char name[] = "one";
		struct instance_record r = fitting(name);

		if (i == 0)
			r.workspace = dir;
		else if (i == 1)
			r.host_gid++;
		else if (i == 2)
			r.memory = 1u << 30;
		else if (i == 3)
			r.isolation = crun;
		else if (i == 4)
			r.runtime = docker;
		else if (i == 5)
			r.gpus = all;
		name[0] = (char)('a' + i);
		ok(instance_create(p.w.is, &r, &in, &err) == 0, "create");
		if (i == 6) {
			snprintf(file, sizeof(file), "%s/%s", p.w.dir, name);
			mkdir(file, 0700);
			snprintf(file, sizeof(file), "%s/%s/workspace", p.w.dir,
				 name);
			mkdir(file, 0700);
			snprintf(file, sizeof(file), "%s/%s/workspace/mine",
				 p.w.dir, name);
			close(open(file, O_CREAT | O_WRONLY, 0600));
		}
		/* Not begun: the fake's one guest is the member. */
		fake.external_here = true;
		fake.bind_slow = true;
		v = (struct watcher){ 0 };
		run_cmd(&v, in, "true", NULL);
		is_int(missed(&p, reasons[i]), 1, "a miss: %s", reasons[i]);
		instance_stop(in, 0, note_outcome, &v.begun);
		bind_answer(NULL);
		STEP_UNTIL(p.w.loop, !instance_is_live(in));
	}
	ok(access(file, F_OK) == 0, "what was there is kept");
	is_int(number(&p, "ready"), 1, "the member waits as before");
	is_int(number(&p, "hits"), 0, "not one of them hit");
	pooled_done(&p);
}

/* The CA of the machine has changed since: a member trusts the old one. */
static void test_other_ca(void)
{
	char path[256];
	struct pooled p;
	struct watcher v = { 0 };
	struct instance *in;
	FILE *f;

	pooled_init(&p);
	snprintf(path, sizeof(path), "%s/extra.pem", p.w.dir);
	prepare_set_ca(path);
	pool_open(p.pool);
	STEP_UNTIL(p.w.loop, number(&p, "ready") == 1);
	p.shut = true;
	is_str(p.w.rt->guest->prepare.ca, "", "a member without a CA");
	f = fopen(path, "w");
	ok(f && fputs("pem", f) >= 0 && fclose(f) == 0, "now there is one");
	in = create(&p, "one");
	fake.bind_slow = true;
	run_cmd(&v, in, "true", NULL);
	is_int(missed(&p, "stale"), 1, "a miss");
	STEP_UNTIL(p.w.loop, p.w.rt->removes == 1);
	is_str(p.w.rt->removed, "id-1", "the member is removed");
	bind_answer(NULL);
	STEP_UNTIL(p.w.loop, v.begun.calls);
	is_str(p.w.rt->guest->prepare.ca, "pem", "the run gets the new CA");
	is_int(p.w.rt->guest->prepare.flags, LINK_PREPARE_OWN_KERNEL,
	       "... in a sandbox of its own");
	prepare_set_ca("/nonexistent");
	pooled_done(&p);
}

/* The user never sees that a member was of no use. */
static void test_lost(void)
{
	struct pooled p;
	struct watcher v = { 0 };
	struct instance *in;
	char address[32];

	pooled_ready(&p);
	in = create(&p, "one");
	fake.bind_slow = true;
	run_cmd(&v, in, "sleep", NULL);
	snprintf(address, sizeof(address), "%s", instance_record(in)->address);
	fake_guest_kill(p.w.rt->guest);
	step_for(p.w.loop, 5);
	is_int(state_of(in), INSTANCE_STARTING, "dead while it is bound");
	bind_answer(NULL);
	is_str(instance_phase(in), "replaced", "it is removed");
	STEP_UNTIL(p.w.loop, v.begun.calls);
	ok(v.begun.err.code == 0, "the run begins: %s", v.begun.err.msg);
	is_int(p.w.rt->starts, 2, "in a sandbox of its own");
	is_str(p.w.rt->address, address, "at the same address");
	ok(fake.binds == 1 && fake.unbinds == 0, "with the policy it has");
	is_str(p.w.rt->removed, "id-1", "the other is removed");
	is_int(missed(&p, "lost"), 1, "a miss");
	is_int(number(&p, "hits"), 0, "and no hit");
	pooled_done(&p);
}

/* The CA of a policy that inspects comes when it is known whose it is. */
static void test_inspects(void)
{
	struct pooled p;
	struct watcher v = { 0 };
	struct instance *in;

	pooled_ready(&p);
	fake.inspects = true;
	in = create(&p, "one");
	run_cmd(&v, in, "sleep", NULL);
	STEP_UNTIL(p.w.loop, v.begun.calls);
	ok(v.begun.err.code == 0, "the run begins: %s", v.begun.err.msg);
	is_int(p.w.rt->starts, 1, "in the sandbox that was there");
	is_str(p.w.rt->guest->assign.ca, "own", "which has the CA");
	is_int(number(&p, "hits"), 1, "a hit");
	fake.inspects = false;
	pooled_done(&p);
}

/* What a sandbox of its own is told of it. */
static void test_inspects_cold(void)
{
	struct pooled p;
	struct watcher v = { 0 };
	struct instance *in;

	pooled_init(&p);
	fake.inspects = true;
	in = create(&p, "one");
	run_cmd(&v, in, "sleep", NULL);
	STEP_UNTIL(p.w.loop, v.begun.calls);
	ok(v.begun.err.code == 0, "the run begins: %s", v.begun.err.msg);
	is_int(p.w.rt->guest->prepare.flags,
	       LINK_PREPARE_OWN_KERNEL | LINK_PREPARE_OWN_CA,
	       "a cold start expects a CA");
	is_str(p.w.rt->guest->assign.ca, "own", "... and gets it");
	fake.inspects = false;
	pooled_done(&p);
}

static void test_silent(void)
{
	struct pooled p;
	struct watcher v = { 0 };
	struct instance *in;

	pooled_ready(&p);
	in = create(&p, "one");
	fake_guest_freeze(p.w.rt->guest, true);
	run_cmd(&v, in, "sleep", NULL);
	STEP_UNTIL(p.w.loop, v.begun.calls);
	ok(v.begun.err.code == 0 && p.w.rt->starts == 2,
	   "one that does not answer is replaced: %s", v.begun.err.msg);
	pooled_done(&p);
}

/* What no sandbox could be told costs the run, not a second sandbox. */
static void test_too_large(void)
{
	static char env[LINK_PAYLOAD_MAX + 16], arg[LINK_PAYLOAD_MAX + 1];
	char name[] = "one";
	struct pooled p;
	struct watcher v = { 0 };
	struct instance_record r = fitting(name);
	struct instance *in = NULL;

	snprintf(env, sizeof(env), "[\"A=%0*d\"]", LINK_PAYLOAD_MAX, 0);
	memset(arg, 'a', sizeof(arg) - 1);
	for (int i = 0; i < 2; i++) {
		pooled_ready(&p);
		r.env_json = i == 0 ? env : NULL;
		instance_create(p.w.is, &r, &in, &v.begun.err);
		run_through(&p.w, &v, in, "true", i == 0 ? NULL : arg);
		ok(v.begun.err.code == -EMSGSIZE, "said: %s", v.begun.err.msg);
		ok(p.w.rt->starts == 1 && p.w.rt->removes == 1, "no other");
		is_int(missed(&p, "lost"), 0, "none is lost");
		pooled_done(&p);
	}
}

static void test_two_at_once(void)
{
	struct pooled p;
	struct watcher v = { 0 }, u = { 0 };
	struct instance *one, *two;

	pooled_ready(&p);
	one = create(&p, "one");
	two = create(&p, "two");
	fake.bind_slow = true;
	run_cmd(&v, one, "sleep", NULL);
	fake.bind_slow = false;
	is_int(number(&p, "hits"), 1, "the first has it");
	run_cmd(&u, two, "sleep", NULL);
	is_int(missed(&p, "empty"), 1, "for the second there is none");
	ok(strcmp(instance_record(one)->address,
		  instance_record(two)->address) != 0,
	   "two addresses");
	STEP_UNTIL(p.w.loop, u.begun.calls);
	ok(u.begun.err.code == 0, "which begins all the same");
	pooled_done(&p);
}

static void test_refused(void)
{
	struct pooled p;
	struct watcher v = { 0 };
	struct instance *in;

	pooled_ready(&p);
	in = create(&p, "one");
	fake.bind_error = -EAGAIN;
	run_cmd(&v, in, "true", NULL);
	is_str(v.begun.err.msg, "no gateway today", "without a policy no run");
	STEP_UNTIL(p.w.loop, !instance_is_live(in));
	is_int(state_of(in), INSTANCE_FAILED, "it failed");
	is_str(p.w.rt->removed, "id-1", "and the sandbox is gone");
	fake.bind_error = 0;
	run_through(&p.w, &v, in, "true", NULL);
	ok(v.begun.err.code == 0, "the next run is well");
	pooled_done(&p);
}

static void test_stop_while_claimed(void)
{
	struct pooled p;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;

	pooled_ready(&p);
	in = create(&p, "one");
	fake.bind_slow = true;
	run_cmd(&v, in, "true", NULL);
	instance_destroy(in, true, note_outcome, &o);
	bind_answer(NULL);
	STEP_UNTIL(p.w.loop, o.calls);
	ok(o.err.code == 0, "destroyed while it was claimed: %s", o.err.msg);
	is_str(p.w.rt->removed, "id-1", "with the sandbox");
	ok(!inode(&p, "one"), "and its files");
	ok(!instance_find(p.w.is, "one"), "and its record");
	pooled_done(&p);
}

static void test_stale(void)
{
	struct pooled p;
	struct watcher v = { 0 };

	pooled_ready(&p);
	fake.built++;
	run_up(&p.w, &v, create(&p, "one"), "true", NULL);
	ok(v.begun.err.code == 0 && missed(&p, "stale") == 1,
	   "of an older image: not given");
	STEP_UNTIL(p.w.loop, number(&p, "ready") == 0);
	is_int(number(&p, "ready"), 0, "and given up");
	p.shut = false;
	STEP_UNTIL(p.w.loop, number(&p, "ready") == 1);
	is_int(number(&p, "ready"), 1, "for one of the new image");
	pooled_done(&p);
}

static void test_death(void)
{
	struct pooled p;

	pooled_ready(&p);
	fake_guest_kill(p.w.rt->guest);
	STEP_UNTIL(p.w.loop, p.w.rt->removes == 1);
	is_int(number(&p, "ready"), 0, "a member that dies is removed");
	is_int(number(&p, "lost"), 1, "and counted");
	STEP_UNTIL(p.w.loop, !inode(&p, ".pool/_pool-1"));
	ok(!inode(&p, ".pool/_pool-1"), "with its directories");
	p.shut = false;
	STEP_UNTIL(p.w.loop, number(&p, "ready") == 1);
	is_str(p.w.rt->name, "_pool-2", "another takes its place");
	pooled_done(&p);
}

static void test_start_fails(void)
{
	struct pooled p;

	pooled_init(&p);
	p.w.rt->start_error = -EIO;
	pool_open(p.pool);
	STEP_UNTIL(p.w.loop, number(&p, "lost") == 1);
	step_for(p.w.loop, 20);
	is_int(p.w.rt->starts, 1, "not tried again at once");
	ok(number(&p, "starting") == 0, "nothing is under way");
	p.w.rt->start_error = 0;
	STEP_UNTIL(p.w.loop, number(&p, "ready") == 1);
	is_int(number(&p, "ready"), 1, "but later");
	pooled_done(&p);
}

static void test_drain(void)
{
	struct pooled p;
	struct watcher v = { 0 };

	pooled_ready(&p);
	p.shut = false;
	is_int(pool_drain(p.pool, on_drained, &p), 0, "drained");
	is_int(p.drained, 0, "not from inside of the call");
	is_int(pool_drain(p.pool, on_drained, &p), -EBUSY, "one at a time");
	run_up(&p.w, &v, create(&p, "one"), "true", NULL);
	ok(v.begun.err.code == 0 && missed(&p, "empty") == 1,
	   "a run meanwhile starts its own");
	STEP_UNTIL(p.w.loop, p.drained);
	is_int(p.drained, 1, "told when all are gone");
	is_int(number(&p, "ready"), 0, "none is kept");
	is_int(pool_drain(p.pool, on_drained, &p), 0, "nothing to drain");
	STEP_UNTIL(p.w.loop, p.drained == 2);
	is_int(p.drained, 2, "is told as well");
	pool_open(p.pool);
	STEP_UNTIL(p.w.loop, number(&p, "ready") == 1);
	is_int(number(&p, "ready"), 1, "opened again");
	pooled_done(&p);
}

/* The engine is dead. */
static void test_stuck(void)
{
	struct pooled p;
	struct instance *in;
	char address[32];

	pooled_ready(&p);
	snprintf(address, sizeof(address), "%s", p.w.rt->address);
	p.w.rt->remove_error = -EIO;
	pool_drain(p.pool, on_drained, &p);
	STEP_UNTIL(p.w.loop, p.drained);
	is_int(p.drained, 1, "one that sticks does not hold up the end");
	in = create(&p, "one");
	ok(strcmp(instance_record(in)->address, address) != 0,
	   "but its address stays taken");
	p.w.rt->remove_error = 0;
	pool_open(p.pool);
	STEP_UNTIL(p.w.loop, !inode(&p, ".pool/_pool-1"));
	ok(!inode(&p, ".pool/_pool-1"), "it goes with the next try");
	pooled_done(&p);
}

/* Nor is it asked again and again. */
static void test_stuck_while_open(void)
{
	struct pooled p;

	pooled_ready(&p);
	p.w.rt->remove_error = -EIO;
	fake_guest_kill(p.w.rt->guest);
	STEP_UNTIL(p.w.loop, p.w.rt->removes >= 2);
	step_for(p.w.loop, 50);
	is_int(p.w.rt->removes, 2, "a removal that fails is tried once more");
	p.w.rt->remove_error = 0;
	is_int(pool_drain(p.pool, on_drained, &p), 0, "drained");
	STEP_UNTIL(p.w.loop, !inode(&p, ".pool/_pool-1"));
	ok(!inode(&p, ".pool/_pool-1"), "and when all are to go");
	pooled_done(&p);
}

/* One that starts while all are to go, and whose removal is refused. */
static void test_refused_in_drain(void)
{
	struct pooled p;

	pooled_init(&p);
	p.w.rt->hold = true;
	pool_open(p.pool);
	STEP_UNTIL(p.w.loop, p.w.rt->starts == 1);
	p.w.rt->remove_refused = -ENOMEM;
	is_int(pool_drain(p.pool, on_drained, &p), 0, "drained meanwhile");
	p.w.rt->hold = false;
	STEP_UNTIL(p.w.loop, p.drained);
	is_int(p.drained, 1, "the end does not wait for ever");
	p.w.rt->remove_refused = 0;
	pooled_done(&p);
}

/* A blueprint that is new since the last look. */
static void test_new_kind(void)
{
	struct pooled p;
	struct watcher v = { 0 };
	struct instance *in;

	pooled_init(&p);
	fake.pool = 0;
	pool_open(p.pool);
	step_for(p.w.loop, 20);
	is_int(p.w.rt->starts, 0, "no pool, no member");
	fake.pool = 1;
	in = create(&p, "one");
	run_through(&p.w, &v, in, "true", NULL);
	STEP_UNTIL(p.w.loop, number(&p, "ready") == 1);
	is_int(number(&p, "ready"), 1, "a run of it has it noticed at once");
	/* Made anew between a claim and its loss, it has no hits to lose. */
	pool_instance_ops.lost(p.pool, instance_record(in));
	is_int(number(&p, "hits"), 0, "none are taken from none");
	is_int(missed(&p, "lost"), 1, "the loss is counted");
	pooled_done(&p);
}

static void test_off(void)
{
	struct pooled p;

	pooled_init(&p);
	fake.disk = 1 << 20;
	pool_open(p.pool);
	step_for(p.w.loop, 20);
	is_int(p.w.rt->starts, 0, "none of a blueprint with a disk limit");
	is_int(number(&p, "size"), 1, "which is shown");
	pooled_done(&p);
}

/* The fake has one guest, so the older member is made by hand. */
static void test_one_too_many(void)
{
	struct member *newer, *older = calloc(1, sizeof(*older));
	struct pooled p;

	pooled_ready(&p);
	newer = LIST_FIRST(&p.pool->members);
	if (!older || !newer)
		abort();
	*older = (struct member){
		.pool = p.pool,
		.kind = newer->kind,
		.state = MEMBER_READY,
		.name = "_pool-0",
		.id = "id-0",
		.born_ms = newer->born_ms,
	};
	LIST_INSERT_AFTER(newer, older, link);
	pool_wake(p.pool);
	STEP_UNTIL(p.w.loop, p.w.rt->removes);
	is_str(p.w.rt->removed, "id-0", "of one too many the oldest goes");
	ok(newer->state == MEMBER_READY, "the other stays");
	/* Until the fake kills its one guest; both removals come to an end. */
	STEP_UNTIL(p.w.loop, !inode(&p, ".pool/_pool-1"));
	step_for(p.w.loop, 50);
	pooled_done(&p);
}

static void test_reconcile(void)
{
	struct pooled p;
	struct outcome o = { 0 };

	pooled_ready(&p);
	p.w.rt->listed[0] = "id-1";
	p.w.rt->listed[1] = "id-9";
	p.w.rt->listed_name = "_pool-1";
	instances_reconcile(p.w.is, note_outcome, &o);
	STEP_UNTIL(p.w.loop, o.calls);
	is_int(p.w.rt->removes, 1, "of two with such a name");
	is_str(p.w.rt->removed, "id-9", "the one nobody knows goes");
	pooled_done(&p);
}

static void test_sweep(void)
{
	struct pooled p;
	char path[160];

	pooled_init(&p);
	pool_free(p.pool);
	snprintf(path, sizeof(path), "%s/.pool/_pool-7/home", p.w.dir);
	file_mkdir_p(path, 0700);
	pooled_attach(&p);
	ok(!inode(&p, ".pool"), "what an earlier life kept is out of the way");
	STEP_UNTIL(p.w.loop, !inode(&p, ".pool.old"));
	ok(!inode(&p, ".pool.old"), "and then gone");
	step_for(p.w.loop, 50); /* its removal comes to an end */
	pooled_done(&p);
}

int main(void)
{
	test_claim();
	test_misses();
	test_other_ca();
	test_lost();
	test_inspects();
	test_inspects_cold();
	test_silent();
	test_too_large();
	test_two_at_once();
	test_refused();
	test_stop_while_claimed();
	test_stale();
	test_death();
	test_start_fails();
	test_drain();
	test_stuck();
	test_stuck_while_open();
	test_refused_in_drain();
	test_new_kind();
	test_off();
	test_one_too_many();
	test_reconcile();
	test_sweep();
	return done_testing();
}
