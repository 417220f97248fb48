/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest_test.c - verdicts on runtimes that pass, fail, hang and lie
 *
 * The runtime is a shell script: what counts here is what acd makes of it.
 */
#include "control/acd/runtime/selftest.h"

#include <jansson.h>
#include <signal.h>
#include <sys/stat.h>

#include "control/acd/runtime/dockerd.h"
#include "control/acd/runtime/selftest_bundle.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static struct loop *loop;
static struct children *children;
static char runsc[80], guard[80], dir[80], cache[80];

static void on_signal(void *arg, int signo)
{
	(void)arg;
	(void)signo;
	children_reap(children);
}

static void on_known(void *arg)
{
	++*(int *)arg;
	loop_stop(loop, 0);
}

/* Writes the runtime: what it does for `run`. */
static void runsc_write(const char *run)
{
	SCOPED_STR text =
		str_printf("#!/bin/sh\n"
			   "for a; do case $a in\n"
			   "--version) echo 'runsc version fake'; exit 0;;\n"
			   "delete) exit 0;;\n"
			   "run) echo run >>%s.ran; %s;;\n"
			   "esac; done\n",
			   runsc, run);

	file_write_atomic(runsc, text, strlen(text), 0755);
}

static struct selftest *test(const char *run, const char *cache_path)
{
	const struct selftest_spec spec = {
		.runsc = runsc, .guard = guard, .dir = dir, .cache = cache_path
	};
	struct selftest *t = selftest_new(loop, children, &spec, NULL);
	int calls = 0;

	if (run)
		runsc_write(run);
	is_int(selftest_state(t), SELFTEST_TESTING, "not known at once");
	selftest_start(t, on_known, &calls);
	loop_run(loop);
	is_int(calls, 1, "told once");
	return t;
}

static void test_verdicts(void)
{
	static const struct {
		const char *name, *run, *reason;
		enum selftest_state want;
	} cases[] = {
		{ "passes", "echo ok 1; echo '# self-test passed'; exit 0", "",
		  SELFTEST_OK },
		{ "fails", "echo '# self-test FAILED: peers lie'; exit 78",
		  "peers lie", SELFTEST_REFUSED },
		{ "says passed and exits 1",
		  "echo '# self-test passed'; exit 1", "code 1",
		  SELFTEST_REFUSED },
		{ "exits 0 and says nothing", "exit 0", "code 0",
		  SELFTEST_REFUSED },
		{ "goes on after the last line",
		  "echo '# self-test passed'; echo '# self-test FAILED: x'",
		  "x", SELFTEST_REFUSED },
		{ "does not know a flag",
		  "echo 'flag provided but not defined: -x' >&2;"
		  " echo Usage: >&2; echo '  more help' >&2; exit 2",
		  "code 2: flag provided but not defined: -x",
		  SELFTEST_REFUSED },
		{ "breaks off", "echo '# kernel x'; echo 'ok 1 - y'; exit 3",
		  "code 3: ok 1 - y", SELFTEST_REFUSED },
		{ "is killed", "kill -9 $$", "code 137", SELFTEST_REFUSED },
		{ "floods", "yes | head -c 300000; echo '# self-test passed'",
		  "code 0", SELFTEST_REFUSED },
		{ "terminal escapes",
		  "printf '# self-test FAILED: \\033[2J'; exit 78", "\\x1b[2J",
		  SELFTEST_REFUSED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selftest *t = test(cases[i].run, NULL);

		is_int(selftest_state(t), cases[i].want, "%s: verdict",
		       cases[i].name);
		ok(strstr(selftest_reason(t), cases[i].reason) != NULL,
		   "%s: %s", cases[i].name, selftest_reason(t));
		is_str(selftest_version(t), "runsc version fake", "version");
		is_int(access(dir, F_OK), -1, "its folder is gone");
		selftest_free(t);
	}
}

static int runs(void)
{
	SCOPED_STR path = str_printf("%s.ran", runsc);
	struct stat st = { 0 };

	stat(path, &st);
	return (int)(st.st_size / 4);
}

static void test_cache(void)
{
	const char *pass = "echo 'ok 1 - a'; echo 'not ok 2 - b';"
			   "echo '# self-test passed'; exit 0";
	const char *fail = "echo '# self-test FAILED: now bad'; exit 78";
	struct selftest *t = test(pass, cache);
	int before = runs();

	is_int(selftest_checks(t), 1, "what is passed is counted");
	selftest_free(t);
	t = test(NULL, cache);
	is_int(selftest_checks(t), 1, "and how much it was");
	is_int(selftest_state(t), SELFTEST_OK, "remembered");
	is_int(runs(), before, "without a run");
	selftest_free(t);
	t = test(fail, cache);
	is_int(selftest_state(t), SELFTEST_REFUSED, "another binary: tested");
	selftest_free(t);
	before = runs();
	t = test(NULL, cache);
	is_int(runs(), before + 1, "a failure is not remembered");
	selftest_free(t);
	selftest_free(test(pass, cache));
	before = runs();
	file_write_atomic(guard, "other", 5, 0755);
	selftest_free(test(NULL, cache));
	is_int(runs(), before + 1, "another init-guard: tested");
	file_write_atomic(cache, "{\"passed\":", 10, 0600);
	before = runs();
	selftest_free(test(NULL, cache));
	is_int(runs(), before + 1, "a torn cache: tested");
	unlink(runsc);
	t = test(NULL, cache);
	is_int(selftest_state(t), SELFTEST_REFUSED, "no binary: %s",
	       selftest_reason(t));
	selftest_free(t);
}

static void test_other_use(void)
{
	const char *pass = "echo '# self-test passed'; exit 0";
	SCOPED_STR other = str_printf("%s.too", guard);
	char was[sizeof(guard)];
	int before;

	selftest_free(test(pass, cache));
	before = runs();
	file_write_atomic(other, "other", 5, 0755);
	snprintf(was, sizeof(was), "%s", guard);
	snprintf(guard, sizeof(guard), "%s", other);
	selftest_free(test(NULL, cache));
	is_int(runs(), before + 1, "another bundle: tested");
	snprintf(guard, sizeof(guard), "%s", was);
}

static void test_hangs(void)
{
	const struct selftest_spec spec = {
		.runsc = runsc, .guard = guard, .dir = dir, .call_limit_ms = 100
	};
	static const char script[] = "#!/bin/sh\nsleep 60\n";
	struct selftest *t = selftest_new(loop, children, &spec, NULL);
	int calls = 0;

	file_write_atomic(runsc, script, sizeof(script) - 1, 0755);
	selftest_start(t, on_known, &calls);
	loop_run(loop);
	is_int(selftest_state(t), SELFTEST_REFUSED, "hangs on --version");
	ok(strstr(selftest_reason(t), "did not end within") != NULL, "%s",
	   selftest_reason(t));
	selftest_free(t);
}

static void test_copy(void)
{
	SCOPED_STR copy = str_printf("%s.copy", runsc);
	SCOPED_STR text = NULL;
	struct stat st = { 0 };

	file_write_atomic(runsc, "one", 3, 0755);
	is_int(dockerd_take_runsc(runsc, copy, NULL), 0, "copied");
	file_write_atomic(runsc, "two", 3, 0755);
	is_int(file_read(copy, 9, &text, NULL), 0, "the copy");
	is_str(text, "one", "stays when the original changes");
	is_int(stat(copy, &st), 0, "its mode");
	is_int(st.st_mode & 07777, 0755, "is exact");
	is_int(dockerd_take_runsc(dir, copy, NULL), 0, "nothing to copy");
	is_int(access(copy, F_OK), -1, "no copy then");
	is_int(dockerd_take_runsc(runsc, "/nonexistent/x", NULL), -ENOENT,
	       "no place");
}

static void test_config(void)
{
	json_t *conf = selftest_config("/x/guard");
	json_t *process = json_object_get(conf, "process");
	json_t *caps = json_object_get(process, "capabilities");

	is_int(json_array_size(json_object_get(caps, "bounding")), 7,
	       "seven capabilities");
	is_int(json_array_size(json_object_get(caps, "inheritable")), 0,
	       "none inherited");
	is_str(json_string_value(
		       json_array_get(json_object_get(process, "args"), 1)),
	       "--self-test", "what it runs");
	json_decref(conf);
}

int main(void)
{
	char top[] = "/tmp/selftest_test.XXXXXX";
	sigset_t set;

	if (!mkdtemp(top))
		return 1;
	snprintf(runsc, sizeof(runsc), "%s/runsc", top);
	snprintf(guard, sizeof(guard), "%s/guard", top);
	snprintf(dir, sizeof(dir), "%s/bundle", top);
	snprintf(cache, sizeof(cache), "%s/cache.json", top);
	file_write_atomic(guard, "guard", 5, 0755);
	loop = loop_new();
	children = children_new();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, NULL);
	test_config();
	test_verdicts();
	test_cache();
	test_other_use();
	test_hangs();
	test_copy();
	loop_free(loop);
	children_free(children);
	file_remove_tree(top);
	return done_testing();
}
