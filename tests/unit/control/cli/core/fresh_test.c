/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fresh_test.c - an edit, a new and a removed file among the sources are seen
 */
#include "control/cli/core/fresh.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/cli_fresh_test.XXXXXX";

static void put(const char *below, const char *text)
{
	SCOPED_STR path = str_printf("%s/%s", dir, below);

	if (!path || file_write_atomic(path, text, strlen(text), 0755) < 0)
		ok(false, "write %s", below);
}

/* Sets the times of @below to @seconds and @ns. */
static void at(const char *below, time_t seconds, long ns)
{
	const struct timespec times[2] = { { .tv_sec = seconds, .tv_nsec = ns },
					   { .tv_sec = seconds,
					     .tv_nsec = ns } };
	SCOPED_STR path = str_printf("%s/%s", dir, below);

	if (!path || utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) < 0)
		ok(false, "set the times of %s", below);
}

static const char *const entries[] = {
	"Makefile",        "lib",      "lib/a.c", "lib/deep", "lib/deep/er",
	"lib/deep/er/b.c", "lib/link",
};

static void reset(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		at(entries[i], 1000, 0);
	at("build/ac", 2000, 500);
}

static bool make_tree(void)
{
	static const char *const dirs[] = { "build", "images/host", "docs",
					    "lib/deep/er" };
	SCOPED_STR link = str_printf("%s/lib/link", dir);

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		SCOPED_STR path = str_printf("%s/%s", dir, dirs[i]);

		if (!path || file_mkdir_p(path, 0755) < 0)
			return false;
	}
	put("build/ac", "");
	put("Makefile", "");
	put("docs/text", "");
	put("lib/a.c", "");
	put("lib/deep/er/b.c", "");
	put("images/host/inputs", "# a comment\n\nMakefile\nlib\n");
	return link && symlink("../docs/text", link) == 0;
}

static void test_newer(void)
{
	reset();
	ok(!fresh_sources_changed(dir), "a tree that is older is not changed");
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		at(entries[i], 2000, 501);
		ok(fresh_sources_changed(dir), "%s a nanosecond later is",
		   entries[i]);
		at(entries[i], 2000, 500);
		ok(!fresh_sources_changed(dir), "and not at the same time");
		at(entries[i], 3000, 0);
		ok(fresh_sources_changed(dir), "and is seconds later");
		reset();
	}
	at("docs/text", 3000, 0);
	at("images/host/inputs", 3000, 0);
	ok(!fresh_sources_changed(dir),
	   "what is not an input, and what a link leads to, does not count");
}

static void test_entries(void)
{
	SCOPED_STR fresh = str_printf("%s/lib/deep/er/new.c", dir);
	SCOPED_STR input = str_printf("%s/Makefile", dir);

	if (!fresh || !input)
		return;
	reset();
	put("lib/deep/er/new.c", "");
	at("lib/deep/er/new.c", 1000, 0);
	ok(fresh_sources_changed(dir), "a new file of an old time is seen");
	reset();
	ok(!fresh_sources_changed(dir), "and not once it was built");
	unlink(fresh);
	ok(fresh_sources_changed(dir), "a removed file is seen");
	reset();
	unlink(input);
	ok(fresh_sources_changed(dir), "and an input that is missing");
	put("Makefile", "");
	reset();
	ok(!fresh_sources_changed("/nonexistent"), "no tree is not changed");
}

static void test_check(void)
{
	SCOPED_STR launcher = str_printf("%s/build/../ac", dir);
	SCOPED_STR real = realpath(dir, NULL);
	char *argv[] = { (char[]){ "ac" }, NULL };

	if (!launcher || !real)
		return;
	put("ac", "");
	reset();
	setenv("AC_ROOT", "/elsewhere", 1);
	fresh_check(argv);
	is_str(getenv("AC_ROOT"), "/elsewhere",
	       "without a launcher nothing is touched");
	setenv("AC_LAUNCHER", launcher, 1);
	fresh_check(argv);
	is_str(getenv("AC_ROOT"), real, "AC_ROOT is the launcher's directory");
	ok(!getenv("AC_LAUNCHER"), "no child hears of the launcher");
	ok(!getenv("AC_STALE"), "and nothing is to be built");
}

/* fresh_check() of a tree that changed does not come back. */
static void test_exec(void)
{
	SCOPED_STR launcher = str_printf("%s/ac", dir);
	SCOPED_STR said = str_printf("%s/said", dir);
	SCOPED_STR text = NULL;
	char *argv[] = { (char[]){ "ac" }, (char[]){ "a b" }, NULL };
	pid_t pid;
	int status = -1;

	if (!launcher || !said)
		return;
	put("ac", "#!/bin/sh\necho \"$1 $# $AC_STALE ${AC_LAUNCHER-none}\" "
		  ">\"$AC_ROOT/said\"\nexit 7\n");
	reset();
	at("lib/a.c", 3000, 0);
	setenv("AC_LAUNCHER", launcher, 1);
	pid = fork();
	if (pid == 0) {
		fresh_check(argv);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	is_int(WEXITSTATUS(status), 7,
	       "the launcher runs, and its code counts");
	is_int(file_read(said, 100, &text, NULL), 0, "it says");
	is_str(text, "a b 1 1 none\n", "with what arguments and environment");
	unsetenv("AC_LAUNCHER");
}

int main(void)
{
	if (!mkdtemp(dir) || !make_tree())
		ok(false, "make a tree");
	test_newer();
	test_entries();
	test_check();
	test_exec();
	(void)file_remove_tree(dir);
	return done_testing();
}
