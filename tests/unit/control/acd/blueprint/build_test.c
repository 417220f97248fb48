/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_test.c - builds by a script of our own: fan-out, queue, leaving
 */
#include "control/acd/blueprint/build.h"

#include <signal.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/build_test.XXXXXX";
static char script[64];
static char *mine; /* the user's blueprints */
static struct loop *loop;
static struct children *children;
static struct builds *builds;

/* What one waiter heard. */
struct ear {
	struct build_wait *wait;
	char lines[8192]; /* joined by '|' */
	unsigned ends;
	int code;
	char message[512];
	bool leave_at_first;
};

static unsigned open_ears;

static void on_build(void *arg, const char *line, const struct err *err)
{
	struct ear *e = arg;

	if (line) {
		size_t used = strlen(e->lines);

		snprintf(e->lines + used, sizeof(e->lines) - used, "%s|", line);
		if (e->leave_at_first) {
			build_leave(e->wait);
			if (--open_ears == 0)
				loop_stop(loop, 0);
		}
		return;
	}
	e->ends++;
	e->code = err ? err->code : 0;
	snprintf(e->message, sizeof(e->message), "%s", err ? err->msg : "");
	if (--open_ears == 0)
		loop_stop(loop, 0);
}

static void listen_to(struct ear *e, const char *image, unsigned flags)
{
	unsigned ends = e->ends;

	open_ears++;
	e->wait = build_ensure(builds, image, flags, on_build, e);
	ok(e->wait && e->ends == ends && !e->lines[0], "wait for %s", image);
}

static void on_limit(void *arg)
{
	loop_stop(arg, -ETIMEDOUT);
}

static void run(void)
{
	struct loop_timer *limit = loop_timer_new(loop, on_limit, loop);

	loop_timer_set(limit, 10000);
	is_int(loop_run(loop), 0, "all were told");
	loop_timer_free(limit);
}

static void set_script(const char *text)
{
	SCOPED_STR whole = str_printf("#!/bin/sh\ncd %s\n%s\n", dir, text);

	file_write_atomic(script, whole, strlen(whole), 0700);
}

static int runs(void)
{
	SCOPED_STR text = NULL;
	char path[80];
	int n = 0;

	snprintf(path, sizeof(path), "%s/runs", dir);
	if (file_read(path, 4096, &text, NULL) < 0)
		return 0;
	for (const char *p = text; *p; p++)
		n += *p == '\n';
	return n;
}

static void test_lines(void)
{
	struct ear a = { 0 }, b = { 0 };

	set_script("echo $1 $2 $AC_HOME >>runs\n"
		   "echo \"$*\"; echo on stderr >&2\n"
		   "printf 'a\\033[2Jb\\303\\251\\377\\r50%%\\r\\n\\n'\n"
		   "printf 'x\\ty \\\\\\n\\342\\200\\256z\\nend'");
	listen_to(&a, "base", 0);
	listen_to(&b, "base", 0);
	ok(!build_is_ready(builds, "base"), "not ready");
	run();
	is_str(a.lines,
	       "ensure base|on stderr|a\\x1b[2Jb\303\251\\xff|50%|"
	       "x y \\|\\xe2\\x80\\xaez|end|",
	       "lines, escaped");
	is_str(b.lines, a.lines, "both heard the same");
	is_int(a.ends + b.ends, 2, "and the end");
	is_int(a.code, 0, "well");
	ok(build_is_ready(builds, "base"), "ready");
	is_int(runs(), 1, "one run");

	listen_to(&(struct ear){ 0 }, "base", 0);
	run();
	is_int(runs(), 1, "not looked at again");
	listen_to(&(struct ear){ 0 }, "base", BUILD_FORCE);
	run();
	is_int(runs(), 2, "but by force");
	a = (struct ear){ 0 };
	listen_to(&a, "base", BUILD_NO_CACHE);
	run();
	ok(str_starts(a.lines, "ensure base --no-cache|"), "%s", a.lines);
	a = (struct ear){ 0 };
	listen_to(&a, "base", BUILD_FORCE | BUILD_RETRY);
	run();
	ok(str_starts(a.lines, "ensure base --retry|"), "%s", a.lines);
	build_forget(builds, "other");
	ok(build_is_ready(builds, "base"), "another image was forgotten");
	build_forget(builds, NULL);
	ok(!build_is_ready(builds, "base"), "all were forgotten");
	build_note(builds, "base", 7);
	ok(build_is_present(builds, "base") && !build_is_ready(builds, "base"),
	   "what the engine has is present, but not ensured");
	is_int((int)build_size(builds, "base"), 7, "its size is known");
	is_int((int)build_size(builds, "other"), 0, "of another not");
	a = (struct ear){ 0 };
	listen_to(&a, "base", 0);
	run();
	is_int((int)build_size(builds, "base"), 0, "nor of one built since");
	build_forget(builds, NULL);
	ok(!build_is_present(builds, "base"), "until it is forgotten");
}

/* What a command line prints, until the next one. */
static const char *printed(const char *command)
{
	static char out[512];
	FILE *f = popen(command, "r");
	size_t n = f ? fread(out, 1, sizeof(out) - 1, f) : 0;

	out[n] = '\0';
	ok(f && pclose(f) == 0, "it runs");
	return out;
}

/* images/build-progress.sh on what BuildKit says of two stages at once. */
static void test_progress(void)
{
	static const char command[] =
		"bash -c '. images/build-progress.sh; {"
		" echo \"#5 [a 1/2] RUN : \\\"compile it\\\" && make\";"
		" echo \"#6 [b 1/1] COPY --from=a /out/ /usr/local/\"; sleep "
		"1.1;"
		" echo \"#6 DONE 1.1s\"; echo \"#7 [a 2/2] COPY x y ./\";"
		" sleep 1.1; echo \"#5 DONE 2.2s\"; echo \"#7 DONE 1.1s\";"
		" echo \"#8 exporting to image\"; sleep 1.1;"
		" echo \"#8 DONE 1.1s\"; } | progress_build it 4 /dev/null' "
		"2>&1"
		" | sed 's/: done in .*//'";
	is_str(printed(command),
	       "ac: image it [1/4] copy /usr/local/ from a\n"
	       "ac: image it [2/4] compile it\n"
	       "ac: image it [3/4] copy x\n"
	       "ac: image it [4/4] store the image\n",
	       "what has ended is numbered in order, in a few words");
}

/*
 * In a log: named, going on, done. A busy machine may have time for more
 * than one sign of life: those count as one.
 */
static void test_progress_log(void)
{
	static const char command[] =
		"bash -c '. images/build-progress.sh; PROGRESS_MOMENT=1;"
		" PROGRESS_BEAT=1; progress_command image x /dev/null sleep 5'"
		" 2>&1 | sed 's/[0-9]* s/N s/' | uniq";
	is_str(printed(command),
	       "ac: image x ...\n"
	       "ac: image x ... N s so far\n"
	       "ac: image x: done in N s\n",
	       "a long step shows life");
}

/* access() of the path that the script has written to the file @name. */
static int access_of(const char *name)
{
	SCOPED_STR text = NULL;
	char path[80];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (file_read(path, 256, &text, NULL) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return access(text, F_OK);
}

static void test_failure(void)
{
	struct ear a = { 0 };

	set_script("echo it is broken; exit 3");
	listen_to(&a, "base", 0);
	run();
	is_int(a.code, -EIO, "%s", a.message);
	ok(strstr(a.message, "exit code 3") &&
		   strstr(a.message, "it is broken"),
	   "code and last words");
	ok(!build_is_ready(builds, "base"), "not ready");

	set_script(
		"printf 'image base could not be built: \\033why' >$AC_WHY\n"
		"echo \"$AC_WHY\" >file; echo \"${AC_SAY-ac: }noise\"; exit 1");
	a = (struct ear){ 0 };
	listen_to(&a, "base", 0);
	run();
	is_str(a.message, "image base could not be built: \\x1bwhy",
	       "the script's own sentence is the error");
	is_str(a.lines, "noise|", "its messages have no prefix");
	ok(access_of("file") < 0, "nothing of it is left");

	set_script("echo 'ac: a line as others'; exit 1");
	a = (struct ear){ 0 };
	listen_to(&a, "base", 0);
	run();
	is_str(a.message,
	       "image 'base' could not be built (exit code 1): ac: a line as "
	       "others",
	       "which no other line can be");

	builds_set_script(builds, "/nonexistent/build.sh");
	a = (struct ear){ 0 };
	listen_to(&a, "base", 0);
	run();
	is_int(a.code, -ENOENT, "no script: %s", a.message);
	builds_set_script(builds, script);
}

static void test_queue(void)
{
	struct ear a = { 0 }, b = { 0 }, c = { 0 }, gone = { 0 };
	struct build_wait *w;

	set_script("mkdir lock || echo two at once; sleep 0.05; rmdir lock\n"
		   "echo $2 $3");
	listen_to(&a, "one", 0);
	listen_to(&b, "two", 0);
	listen_to(&c, "one", BUILD_NO_CACHE); /* wants more than the first */
	w = build_ensure(builds, "three", 0, on_build, &gone);
	build_leave(w);
	run();
	is_str(a.lines, "one|", "first");
	is_str(b.lines, "two|", "second");
	is_str(c.lines, "one --no-cache|", "third");
	is_int(gone.ends, 0, "who left before its turn hears nothing");
	ok(!build_is_ready(builds, "three"), "and nothing was built");
}

/* A line of 1 MiB and a lot of output: bounded, and the end is heard. */
static void test_flood(void)
{
	struct ear a = { 0 };

	set_script("head -c 1048576 /dev/zero | tr '\\0' x; echo\n"
		   "yes y | head -n 100000; echo done");
	listen_to(&a, "base", 0);
	run();
	is_int(strcspn(a.lines, "|"), 1024, "a line is cut");
	is_int(a.ends, 1, "the end is heard");
	build_forget(builds, NULL);
}

static pid_t read_pid(const char *name)
{
	SCOPED_STR text = NULL;
	char path[80];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return file_read(path, 64, &text, NULL) < 0 ? 0 : atoi(text);
}

static void on_gone(void *arg)
{
	struct loop_timer **t = arg;
	pid_t pid = read_pid("pid");

	if (pid && kill(pid, 0) < 0 && errno == ESRCH)
		loop_stop(loop, 0);
	else
		loop_timer_set(*t, 20);
}

/* The last one leaves: the whole group ends. */
static void test_leave(void)
{
	struct ear a = { .leave_at_first = true }, b = a;
	struct loop_timer *t = NULL;

	set_script("sleep 100 & echo $! >pid; echo started; wait");
	listen_to(&a, "base", 0);
	listen_to(&b, "base", 0);
	run();
	t = loop_timer_new(loop, on_gone, &t);
	loop_timer_set(t, 0);
	run();
	loop_timer_free(t);
	is_int(a.ends + b.ends, 0, "who left hears no end");

	/* The image can be wanted again while the old run still ends. */
	set_script("trap '' TERM; echo up; sleep 0.2");
	a = (struct ear){ .leave_at_first = true };
	listen_to(&a, "base", 0);
	run();
	set_script("echo fresh");
	b = (struct ear){ 0 };
	listen_to(&b, "base", 0);
	run();
	is_str(b.lines, "fresh|", "a new run after it");
}

static void on_edit(void *arg)
{
	SCOPED_STR file = str_printf("%s/mine/a/blueprint.yaml", dir);
	SCOPED_STR done = str_printf("%s/edited", dir);

	(void)arg;
	file_write_atomic(file, "c", 1, 0644);
	ok(!build_is_ready(builds, "other"), "somebody asks for another");
	file_write_atomic(done, "", 0, 0644);
}

/* A blueprint that is edited makes acd look at its image before the next run. */
static void test_edited(void)
{
	SCOPED_STR file = str_printf("%s/mine/a/blueprint.yaml", dir);
	SCOPED_STR folder = str_printf("%s/mine/a", dir);
	SCOPED_STR link = str_printf("%s/mine/link", dir);

	set_script("echo fresh");
	listen_to(&(struct ear){ 0 }, "base", BUILD_FORCE);
	run();
	ok(build_is_ready(builds, "base"), "without a folder: ready");
	ok(file_mkdir_p(folder, 0755) == 0, "a first blueprint");
	file_write_atomic(file, "a", 1, 0644);
	ok(!build_is_ready(builds, "base"), "a new one: looked at again");
	ok(build_is_present(builds, "base"), "and it is still there");
	listen_to(&(struct ear){ 0 }, "base", 0);
	run();
	ok(build_is_ready(builds, "base"), "and ready");
	/* The same size, and the file's own time is set back: ctime is not. */
	struct timespec times[2] = { { 0 }, { 0 } };
	struct stat was;

	if (stat(file, &was) < 0 || truncate(file, 0) < 0)
		abort();
	file_write_atomic(file, "b", 1, 0644);
	times[0] = was.st_atim;
	times[1] = was.st_mtim;
	ok(utimensat(AT_FDCWD, file, times, 0) == 0,
	   "edited, with its old time");
	ok(!build_is_ready(builds, "base"), "looked at again");
	listen_to(&(struct ear){ 0 }, "base", 0);
	run();
	ok(symlink("/", link) == 0 && !build_is_ready(builds, "base"),
	   "a link is looked at, but not followed");
	unlink(file);
	ok(!build_is_ready(builds, "base"), "one that is gone counts as well");

	/* Edited while it is built, and somebody asks meanwhile. */
	struct ear a = { 0 };

	set_script("until [ -e edited ]; do sleep 0.02; done; echo built");
	listen_to(&a, "base", 0);
	struct loop_timer *t = loop_timer_new(loop, on_edit, loop);

	loop_timer_set(t, 50);
	run();
	loop_timer_free(t);
	is_str(a.lines, "built|", "built while it was edited");
	ok(!build_is_ready(builds, "base") && build_is_present(builds, "base"),
	   "of files that are another's now: there, but not ready");
}

static void test_free(void)
{
	struct ear a = { 0 };

	set_script("sleep 100");
	listen_to(&a, "base", BUILD_FORCE);
	listen_to(&a, "other", BUILD_FORCE);
	struct loop_timer *t = loop_timer_new(loop, on_limit, loop);

	loop_timer_set(t, 50);
	loop_run(loop);
	loop_timer_free(t);
	builds_free(builds);
	builds_free(NULL);
	is_int(a.ends, 0, "silent end");
}

static void on_signal(void *arg, int signo)
{
	(void)signo;
	children_reap(arg);
}

int main(void)
{
	sigset_t set;

	if (!mkdtemp(dir))
		return 1;
	snprintf(script, sizeof(script), "%s/build.sh", dir);
	loop = loop_new();
	children = children_new();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, children);
	builds = builds_new(loop, children);
	builds_set_script(builds, script);
	mine = str_printf("%s/mine", dir);
	builds_set_folders(builds, mine, "/nonexistent");
	test_lines();
	test_progress();
	test_progress_log();
	test_failure();
	test_queue();
	test_flood();
	test_leave();
	test_edited();
	test_free();
	children_free(children);
	loop_free(loop);
	file_remove_tree(dir);
	free(mine);
	return done_testing();
}
