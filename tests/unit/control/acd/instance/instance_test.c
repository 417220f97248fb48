/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_test.c - the life of an instance when its guest plays by the rules
 */
#include "control/acd/instance/guestjob.h"
#include "control/shared/json.h"
#include "tests/unit/control/acd/instance/instance_world.h"
#include "tests/unit/control/acd/storage/store_find.h"

static void count_event(void *arg, struct instance *in, const char *limit,
			const char *text)
{
	int *n = arg;

	(void)in;
	(void)limit;
	(void)text;
	(*n)++;
}

static void test_create(void)
{
	struct world w;
	struct instance *in;
	struct instance_event *e;
	int events = 0;
	json_t *j;

	world_init(&w);
	e = instance_event_add(w.is, count_event, &events);
	in = world_create(&w, "one", false);
	if (!ok(in != NULL, "created"))
		return;
	is_int(events, 1, "which is an event");
	ok(instance_find(w.is, "one") == in && !instance_find(w.is, "two"),
	   "found by its name");
	ok(!world_create(&w, "one", false), "not twice");
	j = instance_json(in);
	is_str(json_string_value(json_object_get(j, "state")), "created",
	       "its state as JSON");
	ok(json_is_null(json_object_get(j, "exit_code")), "no exit code yet");
	ok(json_is_true(json_object_get(j, "image_ready")), "image is ready");
	is_str(json_string_value(
		       json_object_get(json_object_get(j, "paths"), "home")),
	       "instances/one/home", "paths are relative");
	is_int(json_array_size(json_object_get(j, "env")), 2, "environment");
	is_int(json_object_size(j), 50, "all members");
	json_decref(j);
	instance_event_free(e);
	world_done(&w);
}

/* What is weaker than the default is said with every run. */
static void test_crun_notice(void)
{
	static const char *const kinds[] = { "runsc", "crun" };
	struct instance_record r = { 0 };
	struct watcher v = { 0 };
	struct instance *in;
	struct err err = { 0 };
	struct world w;
	int i;

	in = world_one(&w);
	for (i = 0; i < 4; i++) {
		instance_record_copy(&r, instance_record(in));
		free(r.isolation);
		r.isolation = strdup(kinds[i / 2]);
		is_int(instance_update(in, &r, &err), 0, "%s", kinds[i / 2]);
		instance_record_done(&r);
		r = (struct instance_record){ 0 };
		run_through(&w, &v, in, "flood", "300000");
		is_int(v.notices, i / 2, "run %d has %d notices", i, i / 2);
	}
	world_done(&w);
}

static void test_run(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct instance *in;
	const struct instance_record *r;
	struct instance_record stored = { 0 };
	struct stat st;
	char path[128];
	int events = 0;
	struct instance_event *e;

	in = world_one(&w);
	e = instance_event_add(w.is, count_event, &events);
	is_int(run_cmd(&v, in, "exit", "3"), 0, "run");
	is_int(state_of(in), INSTANCE_STARTING, "starting");
	is_int(v.begun.calls, 0, "no callback from inside the call");
	STEP_UNTIL(w.loop, v.exited);
	ok(v.begun.calls == 1 && v.begun.err.code == 0, "begun");
	is_int(v.started, 1, "started");
	is_int(link_exit_code(&v.x), 3, "the watcher gets the code");
	is_int(state_of(in), INSTANCE_STOPPING, "before the sandbox is gone");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	r = instance_record(in);
	is_int(r->state, INSTANCE_STOPPED, "stopped");
	is_int(r->exit_code, 3, "code in the record");
	is_str(r->reason, "exited", "reason");
	ok(r->runs == 1 && r->started_at && r->finished_at, "times, count");
	ok(!r->container_id, "no container");
	ok(store_find(w.store, "one", &stored) &&
		   stored.state == INSTANCE_STOPPED && stored.exit_code == 3,
	   "and so says the store");
	instance_record_done(&stored);
	is_int(w.rt->removes, 1, "the sandbox was removed");
	is_str(w.rt->removed, "id-1", "the right one");
	ok(fake.prepared == 1 && fake.released >= 1, "mounts come and go");
	is_str(w.rt->image, "ac/base:latest", "image");
	is_str(w.rt->workspace, "/m/one/w", "workspace");
	is_int(w.rt->memory, 1u << 30, "limits");
	ok(events >= 4, "each state is an event");
	snprintf(path, sizeof(path), "%s/one/home", w.dir);
	ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0700,
	   "its home is private");
	instance_event_free(e);
	world_done(&w);
}

static bool has_env(char **env, const char *entry)
{
	for (; env && *env; env++) {
		if (strcmp(*env, entry) == 0)
			return true;
	}
	return false;
}

static void test_options(void)
{
	struct run_options shell = {
		.shell = true,
		.tty = true,
		.cwd = strdup("/tmp"),
		.rows = 5,
	};
	struct run_options detached = { .detached = true };
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;
	struct err err = { 0 };
	struct fake_guest *g;

	in = world_one(&w);
	v.in = in;
	is_int(strv_push(&shell.env, "E=exec"), 0, "a variable");
	is_int(instance_run(in, &shell, watch_begun, &v, &err), 0, "shell");
	ok(!shell.cwd && !shell.env.v, "takes its options");
	STEP_UNTIL(w.loop, v.begun.calls);
	g = w.rt->guest;
	is_str(g->assign.name, "one", "ASSIGN has the name");
	is_int(g->prepare.flags, LINK_PREPARE_OWN_KERNEL,
	       "PREPARE, that its kernel is its own");
	is_int(g->assign.nproc, 100, "and the number of processes");
	ok(has_env(g->assign.env, "FROM=blueprint") &&
		   has_env(g->assign.env, "FROM=instance") &&
		   has_env(g->assign.env, "AC_INSTANCE=one") &&
		   has_env(g->assign.env, "AC_BLUEPRINT=base"),
	   "and the environment");
	is_str(g->exec.argv[0], "cat", "the blueprint's shell");
	is_str(g->exec.cwd, "/tmp", "directory");
	ok(has_env(g->exec.env, "E=exec"), "environment of the exec");
	is_int(g->exec.flags, LINK_EXEC_PTY, "flags");
	ok(g->exec.rows == 5 && g->exec.cols == 80, "size of the terminal");
	is_int(run_resize(instance_main(in), 9, 9), 0, "resize");
	STEP_UNTIL(w.loop, g->rows == 9);
	is_int(g->rows, 9, "arrives");
	is_int(instance_stop(in, 1000, note_outcome, &o), 0, "stop");
	STEP_UNTIL(w.loop, o.calls);
	ok(v.x.kind == LINK_SIGNALED, "a terminal's process is hung up");

	is_int(instance_run(in, &detached, note_outcome, &o, &err), 0,
	       "detached, without a command");
	STEP_UNTIL(w.loop, o.calls == 2);
	g = w.rt->guest;
	is_str(g->exec.argv[0], "sleep", "the blueprint's command");
	is_int(g->exec.flags, LINK_EXEC_PTY | LINK_EXEC_STDIN,
	       "with a terminal to attach to");
	is_str(g->exec.cwd, "/workspace", "in the blueprint's directory");
	ok(instance_record(in)->detached && instance_record(in)->tty,
	   "recorded");
	world_done(&w);
	is_int(v.exited, 1, "one end for each run");
}

static void test_refused(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct instance *in;
	char workspace[] = "/srv/src";
	struct instance_record r = { 0 };
	struct err err = { 0 };

	in = world_one(&w);
	fake.image_missing = true;
	is_int(run_cmd(&v, in, "true", NULL), INSTANCE_NO_IMAGE, "no image");
	is_str(instance_image(in), "base", "this one");
	fake.image_missing = false;
	fake.prepare_error = -EPERM;
	is_int(run_cmd(&v, in, "true", NULL), -EPERM, "no mounts");
	fake.prepare_error = 0;
	is_int(state_of(in), INSTANCE_CREATED, "nothing has changed");

	in = world_create(&w, "two", false);
	instance_record_copy(&r, instance_record(in));
	free(r.workspace);
	r.workspace = strdup(workspace);
	is_int(instance_update(in, &r, &err), 0, "update");
	instance_record_done(&r);
	is_int(run_cmd(&v, in, "true", NULL), INSTANCE_NO_WORKSPACE,
	       "a workspace that is not here");
	fake.external_here = true;
	is_int(run_cmd(&v, in, "sleep", NULL), 0, "now it is");
	ok(exists(&w, "two", "home") && !exists(&w, "two", "workspace"),
	   "and takes the place of its own");
	is_int(run_cmd(&v, in, "true", NULL), -EALREADY, "starting already");
	STEP_UNTIL(w.loop, v.begun.calls);
	is_int(run_cmd(&v, in, "true", NULL), -EALREADY, "running already");
	is_int(instance_update(in, instance_record(in), &err), -EBUSY,
	       "no new options meanwhile");
	world_done(&w);
}

/* Runs it once more, and looks at the modes of its mounts. */
static void shows(struct world *w, struct instance *in, const char *want)
{
	struct watcher v = { 0 };
	SCOPED_JSON shown = NULL;
	char said[64] = "";

	is_int(run_cmd(&v, in, "exit", "0"), 0, "once more");
	STEP_UNTIL(w->loop, !instance_is_live(in));
	shown = instance_json(in);
	const json_t *list = json_object_get(shown, "mounts");
	for (size_t i = 0; i < json_array_size(list); i++)
		snprintf(said + strlen(said), sizeof(said) - strlen(said),
			 "%s ",
			 json_string_value(json_object_get(
				 json_array_get(list, i), "mode")));
	is_str(said, want, "what was live once stays known");
}

/* Directories of the user's that the blueprint shows. */
static void test_mounts(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct instance *in = world_one(&w);
	struct instance_record r = { 0 };
	struct err err = { 0 };
	SCOPED_JSON shown = NULL;
	const json_t *m;

	fake.mount = "/srv/docs";
	is_int(run_cmd(&v, in, "true", NULL), INSTANCE_NO_MOUNTS,
	       "one that is not here");
	is_int(state_of(in), INSTANCE_CREATED, "nothing has changed");
	fake.extras_here = fake.mount_live = true;
	instance_record_copy(&r, instance_record(in));
	r.disk = UINT64_C(64) << 20;
	is_int(instance_update(in, &r, &err), 0, "update");
	is_int(run_cmd(&v, in, "true", NULL), -ENOTSUP,
	       "no disk limit holds for a live one");
	r.disk = 0;
	is_int(instance_update(in, &r, &err), 0, "update");
	instance_record_done(&r);
	is_int(run_cmd(&v, in, "exit", "0"), 0, "now it is");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_str(w.rt->mounts, "/m/one/mnt:/m/one/mounts/docs at /mnt/docs rw",
	       "the sandbox has it");
	shown = instance_json(in);
	m = json_array_get(json_object_get(shown, "mounts"), 0);
	is_str(json_string_value(json_object_get(m, "from")), "/srv/docs",
	       "it");
	fake.mount_live = false;
	shows(&w, in, "ro was_live ");
	fake.mount = NULL;
	shows(&w, in, "was_live ");
	world_done(&w);
}

static void test_exec(void)
{
	struct world w;
	struct watcher v = { 0 }, x = { 0 }, y = { 0 }, z = { 0 };
	struct instance *in;
	struct run *r;

	in = world_one(&w);
	is_int(exec_cmd(&x, in, "true", NULL, &r), -ENOTCONN, "not running");
	run_up(&w, &v, in, "sleep", NULL);
	is_int(exec_cmd(&x, in, "cat", NULL, &r), 0, "exec");
	is_int(run_stdin(r, "hello", 5), 0, "stdin");
	STEP_UNTIL(w.loop, x.bytes == 5);
	is_str(x.text, "hello", "comes back");
	is_int(run_stdin_eof(r), 0, "its end");
	STEP_UNTIL(w.loop, x.exited);
	is_int(link_exit_code(&x.x), 0, "ends it");
	is_int(exec_cmd(&y, in, "sleep", NULL, &r), 0, "another");
	run_abandon(r);
	is_int(y.exited, 1, "abandoned");
	STEP_UNTIL(w.loop, w.rt->guest->closes);
	is_int(w.rt->guest->closes, 1, "is closed");
	is_int(exec_cmd(&z, in, "sleep", NULL, &r), 0, "a third");
	run_signal(instance_main(in), SIGTERM);
	STEP_UNTIL(w.loop, v.exited);
	ok(z.exited == 1 && link_exit_code(&z.x) == 137,
	   "ends with the main process");
	is_int(exec_cmd(&x, in, "true", NULL, &r), -ENOTCONN,
	       "none while it stops");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_str(instance_record(in)->reason, "signal 15", "reason");
	is_int(instance_record(in)->exit_code, 143, "code");
	is_int(v.bytes, 0, "output of execs is their own");
	world_done(&w);
}

/* The slowest of several watchers sets the pace; none at all sets none. */
static void test_output(void)
{
	struct world w;
	struct watcher v = { 0 }, slow = { .keep_credit = true };
	struct instance *in;
	static char block[65536];
	struct instance_log *log;
	struct err err = { 0 };
	uint64_t logged = 0;
	ssize_t n;

	in = world_one(&w);
	run_up(&w, &v, in, "flood", "5000000");
	slow.watch = run_watch_add(instance_main(in), &watch_ops, &slow);
	STEP_UNTIL(w.loop, slow.bytes > LINK_WINDOW / 2);
	step_for(w.loop, 50);
	ok(slow.bytes <= LINK_WINDOW && v.exited == 0,
	   "output waits for the slowest");
	ok(v.bytes >= slow.bytes, "who is no slower gets as much");
	run_watch_free(slow.watch);
	STEP_UNTIL(w.loop, v.exited);
	is_int(v.bytes, 5000000, "without it, all comes");

	STEP_UNTIL(w.loop, !instance_is_live(in));
	run_up(&w, &v, in, "flood", "6000000");
	run_watch_free(v.watch);
	v.watch = NULL;
	is_int(instance_log_open(in, INSTANCE_LOG_ALL, 0,
				 (void (*)(void *))step_stop, w.loop, &log,
				 &err),
	       0, "log, while it runs");
	ok(instance_log_live(log), "more may come");
	STEP_UNTIL(w.loop, !instance_log_live(log));
	while ((n = instance_log_read(log, block, sizeof(block), NULL)) > 0)
		logged += (uint64_t)n;
	is_int(logged, 6000000, "the log has everything, nobody watching");
	instance_log_close(log);
	STEP_UNTIL(w.loop, !instance_is_live(in));

	is_int(instance_log_open(in, 0, 1000, (void (*)(void *))step_stop,
				 w.loop, &log, &err),
	       0, "log, later");
	is_int(instance_log_read(log, block, sizeof(block), NULL), 1000,
	       "its last bytes");
	run_up(&w, &v, in, "flood", "10");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(instance_log_read(log, block, sizeof(block), NULL), 0,
	       "and no others when there is a new log");
	instance_log_close(log);
	world_done(&w);
}

/* Who is behind gets the rest, although the log has been begun anew. */
static void test_log_behind(void)
{
	struct world w;
	struct watcher v;
	struct instance *in;
	static char block[65536];
	struct instance_log *log = NULL;
	struct err err = { 0 };
	uint64_t logged = 0;
	ssize_t n;

	in = world_one(&w);
	run_up(&w, &v, in, "flood", "300000");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_int(instance_log_open(in, INSTANCE_LOG_ALL, 0,
				 (void (*)(void *))step_stop, w.loop, &log,
				 &err),
	       0, "a reader that is behind");
	run_up(&w, &v, in, "flood", "10");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	while ((n = instance_log_read(log, block, sizeof(block), NULL)) > 0)
		logged += (uint64_t)n;
	is_int(logged, 300000, "keeps what was there");
	ok(n == 0 && !instance_log_live(log), "and nothing comes behind it");
	instance_log_close(log);
	world_done(&w);
}

static void note_job(void *arg, const struct guestjob_result *result,
		     const struct err *err)
{
	struct outcome *o = arg;

	(void)result;
	o->calls++;
	if (err)
		o->err = *err;
}

static void test_no_such_job(void)
{
	static const char *const argv[] = { "noexec", NULL };
	struct world w;
	struct watcher v;
	struct instance *in;
	struct outcome o = { 0 };
	struct err err = { 0 };

	in = world_one(&w);
	run_up(&w, &v, in, "sleep", NULL);
	is_int(guestjob_start(w.loop, in, argv, note_job, &o, &err), 0,
	       "a command that the image is without");
	STEP_UNTIL(w.loop, o.calls);
	is_int(o.err.code, -ENOTSUP, "is told as such: %s", o.err.msg);
	world_done(&w);
}

static void test_detach_attach(void)
{
	struct world w;
	struct watcher v = { 0 }, other = { 0 };
	struct instance *in;
	struct run *r;

	in = world_one(&w);
	run_up(&w, &v, in, "cat", NULL);
	r = instance_main(in);
	other.watch = run_watch_add(r, &watch_ops, &other);
	run_stdin(r, "abc", 3);
	STEP_UNTIL(w.loop, other.bytes == 3 && v.bytes == 3);
	is_str(other.text, "abc", "both see it");
	run_watch_free(v.watch);
	run_detach(r);
	ok(instance_record(in)->detached, "detached");
	STEP_UNTIL(w.loop, other.exited);
	is_int(other.exited, 1, "the end of a pipe's writer is its end");

	STEP_UNTIL(w.loop, !instance_is_live(in));
	run_up(&w, &v, in, "sleep", NULL);
	run_abandon(instance_main(in));
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_str(instance_record(in)->reason, "its client went away",
	       "abandoned");
	is_int(state_of(in), INSTANCE_STOPPED, "is stopped");
	is_int(v.exited, 1, "and who watched knows");
	world_done(&w);
}

static void test_stop(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;

	in = world_one(&w);
	is_int(instance_stop(in, 0, note_outcome, &o), 0, "nothing to stop");
	is_int(o.calls, 0, "is not told from inside the call");
	STEP_UNTIL(w.loop, o.calls);
	ok(o.calls == 1 && o.err.code == 0, "but is success");

	run_up(&w, &v, in, "sleep", NULL);
	instance_stop(in, 5000, note_outcome, &o);
	instance_stop(in, 5000, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls == 3);
	is_int(state_of(in), INSTANCE_STOPPED, "stopped, two were told");
	is_int(w.rt->guest->last_signal, SIGTERM, "by TERM");
	is_str(instance_record(in)->reason, "stopped", "reason");
	is_int(v.exited, 1, "the watcher knows");

	run_up(&w, &v, in, "stubborn", NULL);
	instance_stop(in, 20, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls == 4);
	is_int(w.rt->guest->last_signal, SIGKILL, "by KILL after the grace");
	is_int(instance_record(in)->exit_code, 137, "code");

	run_up(&w, &v, in, "immortal", NULL);
	instance_stop(in, 0, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls == 5);
	is_int(state_of(in), INSTANCE_STOPPED, "by force in the end");
	is_int(v.exited, 1, "the watcher knows all the same");
	world_done(&w);
}

static void test_timeout(void)
{
	struct world w;
	struct watcher v = { 0 }, x = { 0 };
	struct run_options o = run_of("stubborn", NULL);
	struct instance *in;
	struct err err = { 0 };
	struct run *r;

	world_init(&w);
	fake.timeout_ms = 60;
	in = world_create(&w, "one", false);
	run_up(&w, &v, in, "sleep", NULL);
	o.timeout_ms = 20;
	is_int(instance_exec(in, &o, &r, &err), 0, "exec with a limit");
	run_options_done(&o);
	x.watch = run_watch_add(r, &watch_ops, &x);
	STEP_UNTIL(w.loop, v.exited);
	ok(v.x.kind == LINK_TIMEOUT && link_exit_code(&v.x) == 124,
	   "the limit of the instance");
	STEP_UNTIL(w.loop, !instance_is_live(in));
	is_str(instance_record(in)->reason, "timeout", "reason");
	is_int(instance_record(in)->exit_code, 124, "code");
	is_int(state_of(in), INSTANCE_STOPPED, "stopped");
	is_int(x.exited, 1, "its exec went along");
	world_done(&w);
}

static void test_auto_remove(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;
	struct instance_record r = { 0 };

	world_init(&w);
	in = world_create(&w, "one", true);
	run_up(&w, &v, in, "sleep", NULL);
	ok(exists(&w, "one", "workspace"), "it has files");
	instance_stop(in, 1000, note_outcome, &o);
	STEP_UNTIL(w.loop, o.calls);
	ok(!instance_find(w.is, "one") && o.err.code == 0, "it is gone");
	ok(!exists(&w, "one", ""), "with its files");
	ok(!store_find(w.store, "one", &r), "and its record");
	world_done(&w);
}

static void test_clean(void)
{
	struct world w;
	struct watcher v = { 0 };
	struct outcome o = { 0 };
	struct instance *in;

	in = world_one(&w);
	run_up(&w, &v, in, "sleep", NULL);
	is_int(instance_clean(in, false, note_outcome, &o), -EBUSY, "running");
	is_int(instance_destroy(in, false, note_outcome, &o), -EBUSY,
	       "running");
	is_int(instance_clean(in, true, note_outcome, &o), 0, "by force");
	STEP_UNTIL(w.loop, o.calls);
	is_int(o.err.code, 0, "cleaned");
	ok(!exists(&w, "one", "home") && !exists(&w, "one", "log") &&
		   exists(&w, "one", "workspace"),
	   "the workspace is kept");
	is_int(v.exited, 1, "the run was ended");
	run_through(&w, &v, in, "true", NULL);
	is_int(state_of(in), INSTANCE_STOPPED, "it runs again");
	is_int(instance_destroy(in, false, note_outcome, &o), 0, "destroy");
	ok(instance_is_leaving(in), "takes a while");
	is_int(run_cmd(&v, in, "true", NULL), -EBUSY, "no run meanwhile");
	is_int(instance_clean(in, true, note_outcome, &o), -EBUSY,
	       "nor anything else");
	STEP_UNTIL(w.loop, o.calls == 2);
	ok(!instance_find(w.is, "one") && !exists(&w, "one", ""), "gone");
	world_done(&w);
}

int main(void)
{
	test_create();
	test_crun_notice();
	test_run();
	test_options();
	test_refused();
	test_mounts();
	test_exec();
	test_output();
	test_log_behind();
	test_no_such_job();
	test_detach_attach();
	test_stop();
	test_timeout();
	test_auto_remove();
	test_clean();
	return done_testing();
}
