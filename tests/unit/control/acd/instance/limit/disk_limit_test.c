/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_limit_test.c - a disk limit is an instance's when it holds
 *
 * The functions of disk.c are defined here: what becomes of a limit is as the
 * test says. And whose sandbox one is that is found at the start of acd.
 */
#include <string.h>
#include <unistd.h>

#include "control/acd/storage/disk.h"
#include "tests/unit/control/acd/instance/instance_world.h"
#include "tests/unit/control/acd/storage/store_find.h"

#define MIB (UINT64_C(1) << 20)
#define LOOKS_MS 2300 /* in which acd looks once */

static struct {
	int error; /* of the next limit that is to hold */
	bool slow; /* until it is told to leave off */
	uint64_t held; /* what was found before */
	struct disk_use use;
} disk;

bool disk_is_settled(const struct disk_spec *s)
{
	return s->bytes == 0 && disk.held == 0;
}

int disk_settle(const void *spec, struct err *err)
{
	(void)spec;
	while (disk.slow && !treejob_is_canceled())
		usleep(1000);
	if (disk.slow)
		return err_set(err, -ECANCELED, "left off");
	return disk.error ? err_set(err, disk.error, "it cannot be kept") : 0;
}

bool disk_has_image(const char *dir)
{
	(void)dir;
	return false;
}

void disk_look(const char *dir, const char *at, struct disk_use *ret)
{
	(void)dir;
	(void)at;
	*ret = disk.use;
}

json_t *disk_use_json(const struct disk_use *use)
{
	(void)use;
	return json_null();
}

int disk_remove(const void *removal, struct err *err)
{
	(void)removal;
	(void)err;
	return 0;
}

/* `ac run one --disk` of so many bytes. */
static void ask_disk(struct instance *in, uint64_t bytes)
{
	struct instance_record r;
	struct err err = { 0 };

	if (instance_record_copy(&r, instance_record(in)) < 0)
		abort();
	r.disk = bytes;
	is_int(instance_update(in, &r, &err), 0, "a limit of %llu %s",
	       (unsigned long long)bytes, err.msg);
	instance_record_done(&r);
}

static uint64_t stored(struct world *w)
{
	struct instance_record r = { 0 };
	uint64_t bytes = store_find(w->store, "one", &r) ? r.disk : UINT64_MAX;

	instance_record_done(&r);
	return bytes;
}

static struct run_options detached_run(const char *cmd)
{
	struct run_options o = run_of(cmd, NULL);

	o.detached = true;
	return o;
}

/* The outcome of the start; then all is stopped. */
static struct err run_once(struct world *w, struct instance *in)
{
	struct run_options run = detached_run("true");
	struct outcome begun = { 0 }, gone = { 0 };
	struct err err = { 0 };

	if (instance_run(in, &run, note_outcome, &begun, &err) < 0)
		return err;
	STEP_UNTIL(w->loop, begun.calls);
	if (instance_stop(in, 10, note_outcome, &gone) == 0)
		STEP_UNTIL(w->loop, gone.calls);
	return begun.err;
}

static void test_holds(void)
{
	struct world w;
	struct instance *in = world_one(&w);
	struct err err;

	ask_disk(in, 64 * MIB);
	is_int(stored(&w), 0, "what is asked for is no limit yet");
	err = run_once(&w, in);
	is_int(err.code, 0, "it holds %s", err.msg);
	is_int(stored(&w), 64 * MIB, "and is one now");
	disk.held = 64 * MIB;
	disk.error = -EDQUOT;
	ask_disk(in, 32 * MIB);
	err = run_once(&w, in);
	is_int(err.code, -EDQUOT, "a smaller one does not: %s", err.msg);
	ok(strstr(err.msg, "64.0 MiB") && strstr(err.msg, "ac run one"),
	   "what stays is told, and what to do");
	is_int(stored(&w), 64 * MIB, "the earlier one stays");
	disk.error = 0;
	err = run_once(&w, in);
	is_int(err.code, 0, "with which it runs %s", err.msg);
	is_int(stored(&w), 64 * MIB, "and nothing is changed");
	ask_disk(in, 0);
	disk.error = -EIO;
	err = run_once(&w, in);
	ok(err.code == -EIO && stored(&w) == 64 * MIB,
	   "one that cannot be taken away stays: %s", err.msg);
	err = run_once(&w, in);
	ok(err.code == -EIO && strstr(err.msg, "--disk 0"),
	   "an old one that cannot be kept: %s", err.msg);
	disk.error = 0;
	ask_disk(in, 0);
	err = run_once(&w, in);
	ok(err.code == 0 && stored(&w) == 0, "taken back %s", err.msg);
	world_done(&w);
}

/* Files are being copied for it, and somebody does not want to wait. */
static void test_stop(void)
{
	struct run_options run = detached_run("true");
	struct world w;
	struct instance *in = world_one(&w);
	struct outcome begun = { 0 }, gone = { 0 };
	struct err err = { 0 };

	disk.held = 0;
	disk.slow = true;
	ask_disk(in, 64 * MIB);
	is_int(instance_run(in, &run, note_outcome, &begun, &err), 0, "a run");
	is_str(instance_phase(in), "disk", "waits for its disk limit");
	is_int(instance_stop(in, 10, note_outcome, &gone), 0, "stopped");
	STEP_UNTIL(w.loop, begun.calls && gone.calls);
	ok(begun.calls == 1 && begun.err.code == -ECANCELED,
	   "who wanted it hears so: %s", begun.err.msg);
	ok(gone.calls == 1 && gone.err.code == 0, "and who stopped it");
	is_int(instance_record(in)->state, INSTANCE_STOPPED, "it is stopped");
	is_int(stored(&w), 0, "without a limit, as before");
	disk.slow = false;
	err = run_once(&w, in);
	is_int(err.code, 0, "and it runs so %s", err.msg);
	world_done(&w);
}

static void on_event(void *arg, struct instance *in, const char *limit,
		     const char *text)
{
	(void)in;
	if (limit && strcmp(limit, "disk") == 0)
		snprintf(arg, 128, "%s", text);
}

static void test_files(void)
{
	struct run_options run = detached_run("sleep");
	struct world w;
	struct instance *in = world_one(&w);
	static char text[128];
	struct instance_event *e = instance_event_add(w.is, on_event, text);
	struct outcome begun = { 0 };
	struct err err = { 0 };

	ask_disk(in, 64 * MIB);
	disk.use = (struct disk_use){ .held = DISK_QUOTA,
				      .used = MIB,
				      .limit = 64 * MIB,
				      .files = 5000,
				      .files_limit = 5000 };
	is_int(instance_run(in, &run, note_outcome, &begun, &err), 0, "a run");
	STEP_UNTIL(w.loop, text[0]);
	ok(strstr(text, "5000") && strstr(text, "files"),
	   "no inodes are left: %s", text);
	instance_event_free(e);
	world_done(&w);
}

/* The run before had a limit, and was still watched when it ended. */
static void test_none_now(void)
{
	struct run_options run = detached_run("sleep");
	struct world w;
	struct instance *in = world_one(&w);
	static char text[128];
	struct instance_event *e;
	struct outcome begun = { 0 };
	struct err err = { 0 };

	disk.held = 0;
	disk.use = (struct disk_use){ 0 };
	ask_disk(in, 64 * MIB);
	err = run_once(&w, in);
	is_int(err.code, 0, "a run with a limit %s", err.msg);
	ask_disk(in, 0);
	disk.use = (struct disk_use){ .held = DISK_QUOTA,
				      .used = 64 * MIB,
				      .limit = 64 * MIB };
	e = instance_event_add(w.is, on_event, text);
	is_int(instance_run(in, &run, note_outcome, &begun, &err), 0, "a run");
	step_for(w.loop, LOOKS_MS);
	ok(begun.calls && instance_is_up(in), "without one");
	is_str(text, "", "nobody looks for it any more");
	instance_event_free(e);
	world_done(&w);
}

/* Of its name, but not the one it has. */
static void test_found(void)
{
	struct run_options run = detached_run("sleep");
	struct world w;
	struct instance *in = world_one(&w);
	struct outcome begun = { 0 }, o = { 0 };
	struct err err = { 0 };

	disk.use = (struct disk_use){ 0 };
	is_int(instance_run(in, &run, note_outcome, &begun, &err), 0, "a run");
	STEP_UNTIL(w.loop, begun.calls);
	w.rt->listed_name = "one";
	w.rt->listed[0] = instance_record(in)->container_id;
	w.rt->listed[1] = "older-one";
	is_int(instances_reconcile(w.is, note_outcome, &o), 0, "reconcile");
	STEP_UNTIL(w.loop, o.calls);
	is_int(w.rt->removes, 1, "one of them goes");
	is_str(w.rt->removed, "older-one", "which it is not");
	ok(instance_is_up(in), "it runs on");
	world_done(&w);
}

int main(void)
{
	test_holds();
	test_stop();
	test_files();
	test_none_now();
	test_found();
	return done_testing();
}
