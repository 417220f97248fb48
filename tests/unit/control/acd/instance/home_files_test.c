/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home_files_test.c - the files of a blueprint are in the home before its
 * command starts
 */
#include "control/shared/json.h"
#include "tests/unit/control/acd/pool/pool_world.h"

static char *home_of(const struct world *w, const char *path)
{
	static char out[256];

	snprintf(out, sizeof(out), "%s/one/home/%s", w->dir, path);
	return out;
}

static void has(const struct world *w, const char *path, const char *want)
{
	SCOPED_STR text = NULL;

	if (file_read(home_of(w, path), 4096, &text, NULL) < 0)
		ok(false, "%s is there", path);
	else
		is_str(text, want, "%s", path);
}

/* Begins a run, up to the child that writes the files. */
static void to_home(struct watcher *v, struct instance *in)
{
	fake.bind_slow = true;
	is_int(run_cmd(v, in, "cat", NULL), 0, "run");
	bind_answer(NULL);
	fake.bind_slow = false;
	is_str(instance_phase(in), "home", "its files are written");
}

static void test_written(void)
{
	struct watcher v = { 0 };
	struct world w;
	struct instance *in = world_one(&w);

	fake.home_file = ".x/key=<{credential:key}> {credential:key:1}";
	fake.prompt = "Be kind.\n";
	fake.inspects = true;
	w.rt->hold = true;
	to_home(&v, in);
	is_int(w.rt->starts, 0, "no sandbox is started yet");
	STEP_UNTIL(w.loop, strcmp(instance_phase(in), "sandbox") == 0);
	has(&w, ".x/key", "<surrogate-1> 1");
	has(&w, "PROMPT.md", "Be kind.\n");
	w.rt->hold = false;
	STEP_UNTIL(w.loop, state_of(in) == INSTANCE_RUNNING);
	is_int(v.notices, 0, "nothing is said");
	run_stdin_eof(instance_main(in));
	STEP_UNTIL(w.loop, in->phase == PHASE_IDLE);

	fake.prompt = "Be brief.\n";
	fake.rules = "Never say {credential:key}.\n";
	run_up(&w, &v, in, "cat", NULL);
	has(&w, "PROMPT.md", "Be brief.\n\nNever say {credential:key}.\n");
	world_done(&w);
}

static void test_said(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	fake.home_file = "key=<{credential:key}>";
	run_up(&w, &v, in, "cat", NULL);
	has(&w, "key", "<>");
	STEP_UNTIL(w.loop, v.notices);
	is_str(v.notice,
	       "~/key: this run has no surrogate of credential 'key'; its "
	       "place is empty",
	       "a run without the credential says so");
	run_stdin_eof(instance_main(in));
	STEP_UNTIL(w.loop, in->phase == PHASE_IDLE);

	file_remove_tree(home_of(&w, "key"));
	ok(symlink("/etc/passwd", home_of(&w, "key")) == 0, "a link");
	fake.inspects = true;
	run_up(&w, &v, in, "cat", NULL);
	has(&w, "key", "<surrogate-1>");
	STEP_UNTIL(w.loop, v.notices);
	is_str(v.notice,
	       "~/key: 'key' was no file, and is kept as 'key.ac-broken'",
	       "what was in the way is said");
	world_done(&w);
}

/* A skill is copied before the sandbox is started, and gone after it. */
static void test_skill(void)
{
	char folder[128], file[192], copy[PATH_MAX + 16], to[64] = "";
	struct watcher v = { 0 };
	struct world w;
	struct instance *in = world_one(&w);

	snprintf(folder, sizeof(folder), "%s/bp", w.dir);
	snprintf(file, sizeof(file), "%s/skills/one", folder);
	file_mkdir_p(file, 0700);
	strcat(file, "/SKILL.md");
	file_write_atomic(file, "do\n", 3, 0600);
	fake.skill = folder;
	mounts_skills_path("one", copy);
	run_up(&w, &v, in, "cat", NULL);
	ok(strcmp(w.rt->skills, copy) == 0, "the sandbox gets them");
	ok(readlink(home_of(&w, ".x/skills/one"), to, sizeof(to) - 1) > 0,
	   "a link in the home");
	is_str(to, "/usr/share/agent-skills/one", "leads to it");
	strcat(copy, "/one/SKILL.md");
	is_int(access(copy, F_OK), 0, "it is there");
	run_stdin_eof(instance_main(in));
	STEP_UNTIL(w.loop, in->phase == PHASE_IDLE);
	ok(access(copy, F_OK) < 0, "and gone");

	unlink(file);
	memset(&v, 0, sizeof(v));
	is_int(run_cmd(&v, in, "cat", NULL), 0, "run");
	STEP_UNTIL(w.loop, v.begun.calls && in->phase == PHASE_IDLE);
	ok(strstr(v.begun.err.msg, "skill skills/one: it has no SKILL.md"),
	   "%s", v.begun.err.msg);
	is_int(w.rt->starts, 1, "without a sandbox");
	fake.skill = NULL;
	world_done(&w);
}

/* The home cannot be used at all. */
static void test_fails(void)
{
	struct watcher v = { 0 };
	struct world w;
	struct instance *in = world_one(&w);

	fake.home_file = "key=x";
	fake.bind_slow = true;
	is_int(run_cmd(&v, in, "cat", NULL), 0, "run");
	file_remove_tree(home_of(&w, ""));
	bind_answer(NULL);
	STEP_UNTIL(w.loop, v.begun.calls && in->phase == PHASE_IDLE);
	is_int(v.begun.err.code, -ENOENT, "%s", v.begun.err.msg);
	is_int(state_of(in), INSTANCE_FAILED, "the start has failed");
	is_int(w.rt->starts, 0, "without a sandbox");
	world_done(&w);
}

/* An end that is asked for meanwhile waits for the child. */
static void test_stopped(void)
{
	struct outcome o = { 0 };
	struct watcher v = { 0 };
	struct world w;
	struct instance *in = world_one(&w);

	fake.home_file = "key=x";
	to_home(&v, in);
	is_int(instance_stop(in, 0, note_outcome, &o), 0, "stop");
	STEP_UNTIL(w.loop, o.calls);
	is_int(v.begun.err.code, -ECANCELED, "%s", v.begun.err.msg);
	is_int(w.rt->starts, 0, "without a sandbox");
	world_done(&w);
}

/* acd ends meanwhile. */
static void test_forgotten(void)
{
	struct watcher v = { 0 };
	struct world w;
	struct instance *in = world_one(&w);

	fake.home_file = "key=x";
	to_home(&v, in);
	world_done(&w);
	is_int(v.begun.calls, 0, "nothing is called");
}

/* A sandbox of the pool gets them as well. */
static void test_pool(void)
{
	struct watcher v = { 0 };
	struct instance *in;
	struct pooled p;

	pooled_ready(&p);
	fake.home_file = ".x/key=<{credential:key}>";
	fake.inspects = true;
	in = create(&p, "one");
	run_up(&p.w, &v, in, "sleep", NULL);
	is_int(p.w.rt->starts, 1, "it runs in the sandbox that was there");
	has(&p.w, ".x/key", "<surrogate-1>");
	instance_stop(in, 0, note_outcome, &v.begun);
	STEP_UNTIL(p.w.loop, !instance_is_live(in));
	pooled_done(&p);
}

int main(void)
{
	test_pool();
	test_written();
	test_said();
	test_skill();
	test_fails();
	test_stopped();
	test_forgotten();
	return done_testing();
}
