/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_run_test.c - a step of a build ends by itself, or is ended
 */
#include "control/shared/step_run.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

#define MIB (UINT64_C(1) << 20)

/* Runs a script of sh; @ret_code: its exit code. */
static enum step_end run(const char *script, struct step_run *s, int *ret_code)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	enum step_end end = STEP_CUT;
	struct err err = { 0 };

	s->argv = argv;
	s->root = ".";
	s->look_ms = 10;
	*ret_code = -1;
	if (step_run(s, &end, ret_code, &err) < 0)
		ok(false, "run '%s': %s", script, err.msg);
	return end;
}

static void test_codes(void)
{
	struct step_run s = { .alive = -1 };
	int code;

	is_int(run("exit 0", &s, &code), STEP_ENDED, "a step ends");
	is_int(code, 0, "well");
	is_int(run("exit 7", &s, &code), STEP_ENDED, "another");
	is_int(code, 7, "with a code");
	is_int(run("kill -9 $$", &s, &code), STEP_ENDED, "by a signal");
	is_int(code, 128 + 9, "which is told");
}

static void test_groups(void)
{
	static const char *const groups[] = { "one", "two", NULL };
	static const char *const none[] = { "none/tasks", NULL };
	static const char *const argv[] = { "true", NULL };
	struct step_run s = { .alive = -1, .groups = groups };
	enum step_end end = STEP_CUT;
	struct err err = { 0 };
	int code;

	if (file_put("one", "") < 0 || file_put("two", "") < 0)
		return;
	run("[ \"$(cat one)\" = 0 ] && [ \"$(cat two)\" = 0 ]", &s, &code);
	is_int(code, 0, "it enters its groups before it begins");
	unlink("one");
	unlink("two");
	s = (struct step_run){
		.argv = argv, .root = ".", .alive = -1, .groups = none
	};
	ok(step_run(&s, &end, &code, &err) < 0,
	   "and does not begin without: %s", err.msg);
}

static bool is_gone(const char *file)
{
	SCOPED_STR text = NULL;

	if (file_read(file, 32, &text, NULL) < 0)
		return false;
	return kill(atoi(text), 0) < 0;
}

static void test_limits(void)
{
	struct step_run s = { .alive = -1, .time_ms = 200 };
	int code, pair[2];

	unlink("pid");
	is_int(run("(setsid sleep 100 & echo $! >pid; wait)", &s, &code),
	       STEP_LATE, "a step that hangs is stopped");
	ok(is_gone("pid"), "and with it what it has left elsewhere");

	s = (struct step_run){ .alive = -1, .disk = 1 };
	is_int(run("dd if=/dev/zero of=big bs=1M count=64 2>/dev/null; "
		   "sync big; sleep 100",
		   &s, &code),
	       STEP_FULL, "one that writes too much is");
	unlink("big");

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	close(pair[1]);
	s = (struct step_run){ .alive = pair[0] };
	is_int(run("sleep 100", &s, &code), STEP_CUT,
	       "and one whose network has ended");
	close(pair[0]);
}

static void test_asked(void)
{
	struct step_run s = { .alive = -1 };
	int code;

	is_int(run("kill -TERM $PPID; sleep 100", &s, &code), STEP_ASKED,
	       "one that is not wanted any more is");
}

static bool fits(uint64_t bytes, uint64_t files, uint64_t bytes_now,
		 uint64_t files_now, uint64_t disk)
{
	const struct step_room before = { bytes, files };
	const struct step_room now = { bytes_now, files_now };

	return step_disk_fits(&before, &now, disk);
}

static void test_disk(void)
{
	const uint64_t r = STEP_DISK_RESERVE, f = STEP_FILES_RESERVE + 1000;

	ok(fits(r + 10 * MIB, f, r + 9 * MIB, f, 2 * MIB), "less");
	ok(!fits(r + 10 * MIB, f, r + 7 * MIB, f, 2 * MIB), "more");
	ok(fits(r + 10 * MIB, f, r + 90 * MIB, f, 2 * MIB), "others made room");
	ok(!fits(r + MIB, f, r - MIB, f, 100 * MIB), "the disk is full");
	ok(fits(MIB, f, MIB, f, 100 * MIB),
	   "one that was full before is not the step's fault");
	ok(fits(MIB, 9, 0, 0, 0), "no limit");
	ok(fits(r + MIB, f, r + MIB, f - 128, 2 * MIB), "128 files of 2 MiB");
	ok(!fits(r + MIB, f, r + MIB, f - 129, 2 * MIB),
	   "more empty files than that take no byte, and are too many");
	ok(!fits(r + MIB, f, r + MIB, STEP_FILES_RESERVE - 1, UINT64_MAX),
	   "nor does it take the last inodes");
	ok(fits(r + MIB, UINT64_MAX, r, UINT64_MAX, 2 * MIB),
	   "a file system that does not count them");
}

int main(void)
{
	test_codes();
	test_groups();
	test_limits();
	test_asked();
	test_disk();
	unlink("pid");
	return done_testing();
}
