/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise_test.c - an engine that starts, crashes, and is told to end
 */
#include "control/acd/daemon/supervise.h"

#include <signal.h>
#include <sys/stat.h>

#include "control/acd/runtime/dockerd.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

static struct loop *loop;
static struct children *children;
static char sock[80], log_path[80];
static int ups, downs, failures;
static bool ready = true; /* does the engine answer? */

static void on_request(void *arg, const struct fake_request *rq,
		       struct fake_answer *ret)
{
	(void)arg;
	(void)rq;
	ret->status = ready ? 200 : 500;
	ret->body = ready ? "{\"Version\":\"26.1.5\"}" : NULL;
}

static void on_signal(void *arg, int signo)
{
	(void)arg;
	(void)signo;
	children_reap(children);
}

static void on_up(void *arg)
{
	(void)arg;
	ups++;
	loop_stop(loop, 0);
}

static void on_down(void *arg)
{
	(void)arg;
	downs++;
	loop_stop(loop, 0);
}

static void on_failure(void *arg)
{
	(void)arg;
	failures++;
}

static void on_end(void *arg)
{
	(void)arg;
	loop_stop(loop, 0);
}

static void on_nothing(void *arg)
{
	(void)arg;
}

static void on_tick(void *arg)
{
	(void)arg;
	loop_stop(loop, 0);
}

static void loop_some(unsigned ms)
{
	struct loop_timer *t = loop_timer_new(loop, on_tick, NULL);

	loop_timer_set(t, ms);
	loop_run(loop);
	loop_timer_free(t);
}

static struct supervise *supervise_make(struct engine *e,
					const char *const *argv)
{
	/* dockerd's own way to ask and to tell; another program and log. */
	struct supervise_spec spec = dockerd_spec(e);
	struct supervise *s;

	spec.argv = argv;
	spec.log_path = log_path;
	spec.pid_file = NULL;
	s = supervise_new(loop, children, &spec, NULL);
	supervise_on_failure(s, on_failure, NULL);
	return s;
}

static void test_crash(struct engine *e)
{
	static const char *const argv[] = {
		"sh", "-c",
		"echo starting; echo 'level=fatal cannot' >&2; "
		"sleep 0.2; exit 3",
		NULL
	};
	struct supervise *s = supervise_make(e, argv);
	SCOPED_STR log = NULL;

	is_int(supervise_status(s).state, SUPERVISE_DOWN, "down at first");
	is_int(supervise_status(s).last_code, -1, "it has ended with nothing");
	supervise_start(s, on_up, NULL);
	is_int(supervise_status(s).state, SUPERVISE_STARTING, "starting");
	loop_run(loop);
	is_int(ups, 1, "up");
	is_int(supervise_status(s).state, SUPERVISE_UP, "is its state");
	is_str(supervise_status(s).version, "26.1.5", "its version");
	while (!failures)
		loop_some(10);
	is_int(supervise_status(s).state, SUPERVISE_BACKOFF, "backs off");
	is_str(supervise_status(s).last_error,
	       "ended with code 3: level=fatal cannot", "knows why");
	is_int(supervise_status(s).last_code, 3, "and the code");
	is_int(failures, 1, "and says so");
	loop_run(loop);
	is_int(ups, 2, "up again");
	is_int(supervise_status(s).restarts, 1, "one restart");
	supervise_stop(s, on_down, NULL);
	if (!downs)
		loop_run(loop);
	is_int(downs, 1, "stopped");
	loop_some(500);
	is_int(supervise_status(s).state, SUPERVISE_DOWN, "and stays so");
	supervise_free(s);
	file_read(log_path, 4096, &log, NULL);
	ok(log && strstr(log, "starting\nlevel=fatal cannot\n"),
	   "its output is in the log");
}

/* What it said last is of another matter when somebody kills it. */
static void test_killed(struct engine *e)
{
	static const char *const argv[] = {
		"sh", "-c", "echo 'level=warn old'; sleep 0.2; kill -9 $$", NULL
	};
	struct supervise *s = supervise_make(e, argv);

	downs = 0;
	supervise_start(s, on_up, NULL);
	loop_run(loop);
	loop_some(300);
	is_int(supervise_status(s).state, SUPERVISE_BACKOFF, "was killed");
	is_str(supervise_status(s).last_error, "ended by signal 9 (Killed)",
	       "and that is all there is to say");
	is_int(supervise_status(s).last_code, 137, "but for its code");
	supervise_stop(s, on_down, NULL);
	loop_some(50);
	is_int(downs, 1, "it is not started again");
	supervise_free(s);
}

/* What it says of its end is data, and none of its output. */
static void test_says(struct engine *e)
{
	static const struct {
		const char *script, *said;
	} rows[] = {
		{ "echo '{\"ok\":false,\"error\":\"no \\u001bpolicy\"}'",
		  "no \\x1bpolicy" },
		{ "echo '{\"error\":'", "" },
		{ "echo '{\"error\":1}'", "" },
		{ "(head -c 100000 /dev/zero | tr '\\0' x) 2>/dev/null", "" },
		{ ":", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_STR script = str_printf(
			"echo 'error x y' >&2; sleep 0.1; %s; exit 3",
			rows[i].script);
		const char *const argv[] = { "sh", "-c", script, NULL };
		struct supervise_spec spec = dockerd_spec(e);
		struct supervise *s;

		unlink(log_path);
		spec.argv = argv;
		spec.log_path = log_path;
		spec.pid_file = NULL;
		spec.says = true;
		s = supervise_new(loop, children, &spec, NULL);
		supervise_on_failure(s, on_end, NULL);
		supervise_start(s, on_nothing, NULL);
		loop_run(loop);
		is_str(supervise_status(s).last_said, rows[i].said, "row %zu",
		       i);
		is_int(supervise_status(s).last_code, 3, "its code");
		is_str(supervise_status(s).last_error,
		       "ended with code 3: error x y", "its last line");
		supervise_free(s);
	}
}

/* "2026-01-31T12:00:00.000Z " */
static bool has_stamp(const char *line)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ ";
	size_t i;

	for (i = 0; i < sizeof(form) - 1; i++)
		if (form[i] == 'd' ? line[i] < '0' || line[i] > '9' :
				     line[i] != form[i])
			return false;
	return true;
}

static void test_stamp(struct engine *e)
{
	static const char *const argv[] = {
		"sh", "-c",
		"printf 'one\\ntw'; sleep 0.1; printf 'o\\nhalf'; sleep 9", NULL
	};
	struct supervise_spec spec = dockerd_spec(e);
	struct supervise *s;
	SCOPED_STR log = NULL;
	const char *two;

	unlink(log_path);
	spec.argv = argv;
	spec.log_path = log_path;
	spec.pid_file = NULL;
	spec.stamp = true;
	s = supervise_new(loop, children, &spec, NULL);
	downs = 0;
	supervise_start(s, on_up, NULL);
	loop_run(loop);
	loop_some(400);
	supervise_stop(s, on_down, NULL);
	while (!downs)
		loop_some(50);
	supervise_free(s);
	file_read(log_path, 4096, &log, NULL);
	two = log ? strchr(log, '\n') : NULL;
	ok(two && has_stamp(log) && strncmp(log + 25, "one\n", 4) == 0 &&
		   has_stamp(two + 1) && strncmp(two + 26, "two\n", 4) == 0 &&
		   strcmp(log + strlen(log) - 6, " half\n") == 0,
	   "a time before each line, once: %s", log ? log : "");
}

static void test_missing(struct engine *e)
{
	static const char *const argv[] = { "/nonexistent/dockerd", NULL };
	struct supervise *s = supervise_make(e, argv);

	downs = failures = 0;
	supervise_start(s, on_up, NULL);
	is_int(supervise_status(s).state, SUPERVISE_BACKOFF,
	       "no program: backs off");
	is_int(failures, 1, "says so");
	ok(strstr(supervise_status(s).last_error, "/nonexistent/dockerd"), "%s",
	   supervise_status(s).last_error);
	supervise_stop(s, on_down, NULL);
	is_int(downs, 1, "stopped without a process");
	supervise_free(s);
}

static int refuse(void *arg, struct err *err)
{
	(void)arg;
	err_set(err, -EROFS, "nothing to run with");
	return err_name(err, "nothing");
}

static void test_prepare(struct engine *e)
{
	static const char *const argv[] = { "sleep", "60", NULL };
	struct supervise_spec spec = dockerd_spec(e);
	struct supervise *s;

	spec.argv = argv;
	spec.log_path = log_path;
	spec.pid_file = NULL;
	spec.prepare = refuse;
	s = supervise_new(loop, children, &spec, NULL);
	supervise_start(s, on_up, NULL);
	is_int(supervise_status(s).state, SUPERVISE_BACKOFF,
	       "cannot be prepared: backs off");
	is_str(supervise_status(s).last_error, "nothing to run with",
	       "and says why");
	is_str(supervise_status(s).last_word, "nothing", "with its word");
	is_int(supervise_status(s).last_code, -1, "and no code");
	supervise_free(s);
}

static void test_not_ready(struct engine *e)
{
	static const char *const argv[] = { "sleep", "60", NULL };
	struct supervise *s = supervise_make(e, argv);

	ready = false;
	ups = 0;
	supervise_start(s, on_up, NULL);
	loop_some(200);
	is_int(ups, 0, "does not answer: not up");
	ready = true;
	loop_run(loop);
	is_int(ups, 1, "answers: up");
	supervise_free(s);
	children_reap(children);
}

int main(void)
{
	static const unsigned waits[] = { 200,  400,   800,   1600,  3200,
					  6400, 12800, 25600, 30000, 30000 };
	char dir[] = "/tmp/supervise_test.XXXXXX";
	struct fake_engine *f;
	struct engine *e;
	sigset_t set;

	for (unsigned i = 0; i < ARRAY_SIZE(waits); i++)
		is_int(supervise_backoff_ms(i), waits[i], "wait %u", i);
	is_int(supervise_backoff_ms(4000000000u), 30000, "for ever");
	if (!mkdtemp(dir))
		return 1;
	snprintf(sock, sizeof(sock), "%s/s", dir);
	snprintf(log_path, sizeof(log_path), "%s/log", dir);
	loop = loop_new();
	children = children_new();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, NULL);
	f = fake_engine_new(loop, sock, on_request, NULL);
	e = engine_new(loop, sock, NULL);
	test_crash(e);
	test_killed(e);
	test_says(e);
	test_stamp(e);
	test_missing(e);
	test_prepare(e);
	test_not_ready(e);
	engine_free(e);
	fake_engine_free(f);
	loop_free(loop);
	children_free(children);
	file_remove_tree(dir);
	return done_testing();
}
