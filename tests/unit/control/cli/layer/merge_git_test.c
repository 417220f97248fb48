/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_git_test.c - a git that fails, or does not answer
 */
#include "control/cli/layer/merge.h"

#include <sys/syscall.h>

#include "control/cli/layer/merge_base.h"
#include "tests/unit/control/cli/layer/merge_world.h"

/* The next looks at the clock are so much later each: what is slow is not waited
 * for. */
static int64_t stride_ms, late_ms;
static unsigned looks;

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names
 * are reserved ones. */

int clock_gettime(clockid_t id, struct timespec *ret)
{
	const int code = (int)syscall(SYS_clock_gettime, id, ret);

	if (code != 0 || id != CLOCK_MONOTONIC)
		return code;
	if (looks > 0) {
		late_ms += stride_ms;
		looks--;
	}
	ret->tv_sec += late_ms / 1000;
	return 0;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

/* Puts a script as git before the machine's, which it reaches as `real`. Returns
 * what PATH was, which the caller gives to git_back(). */
static char *git_fake(struct world *w, const char *script)
{
	SCOPED_STR was = str_printf("%s", getenv("PATH"));
	SCOPED_STR bin = str_printf("%s/bin", w->top);
	SCOPED_STR at = str_printf("%s/bin/git", w->top);
	SCOPED_STR text =
		was ? str_printf("#!/bin/sh\n"
				 "real() { PATH='%s' exec git \"$@\"; }\n"
				 "%s\n",
				 was, script) :
		      NULL;
	SCOPED_STR path = was && bin ? str_printf("%s:%s", bin, was) : NULL;

	if (!at || !text || !path || file_mkdir_p(bin, 0755) < 0 ||
	    file_replace(at, text, strlen(text), 0755) < 0)
		return NULL;
	setenv("PATH", path, 1);
	return ptr_take(&was);
}

static void git_back(char *path)
{
	if (ok(path != NULL, "another git"))
		setenv("PATH", path, 1);
	free(path);
}

/* A git whose merge-file fails in its own way. */
static void test_failing(void)
{
	static const struct {
		const char *script, *word, *result;
	} fakes[] = {
		{ "exit 1", "edited", OURS },
		{ "exit 127", "edited", OURS },
		{ "exit 0", "edited", OURS },
		{ "echo no such command; exit 1", "edited", OURS },
		{ "echo '<<<<<<< yours'; exit 1", "conflicts",
		  "<<<<<<< yours\n" },
		{ "real \"$@\"", "clean", BOTH },
	};
	struct world w;

	for (size_t i = 0; i < ARRAY_SIZE(fakes); i++) {
		SCOPED_STR script = str_printf(
			"case \" $* \" in *' merge-file '*) %s ;; esac\n"
			"real \"$@\"",
			fakes[i].script);
		char *path;

		if (!ok(git_begin(&w) && script, "a repository"))
			return;
		world_write(&w, "a", FOUR, 0644);
		ok(commit(&w), "a commit");
		is_int(start(&w), 0, "a start");
		world_write(&w, "a", OURS, 0644);
		world_file(&w, "a", THEIRS);
		path = git_fake(&w, script);
		is_int(merge_go(&w, true), 0, "%s", fakes[i].script);
		git_back(path);
		is_str(word(&w, "a"), fakes[i].word, "what it makes");
		is_str(world_read(&w, "a"), fakes[i].result, "the file");
		world_end(&w);
	}
}

#define MANY (MERGE_BATCH + 1) /* one more than git is asked for at once */

/* git does not answer, or the time for all files is over. */
static void test_slow(void)
{
	static const struct {
		const char *what, *asked;
		int64_t stride_ms;
	} slow[] = {
		{ "is asked once if it does not answer", "x\n", 2000 },
		{ "is not asked when the time is over", "(none)",
		  MERGE_ALL_MS },
	};
	char name[16];
	struct world w;

	for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
		char *path;

		if (!ok(git_begin(&w), "a repository"))
			return;
		for (size_t k = 0; k < MANY; k++) {
			snprintf(name, sizeof(name), "f%zu", k);
			world_write(&w, name, FOUR, 0644);
		}
		ok(commit(&w), "a commit");
		is_int(start(&w), 0, "a start");
		for (size_t k = 0; k < MANY; k++) {
			snprintf(name, sizeof(name), "f%zu", k);
			world_write(&w, name, OURS, 0644);
			world_file(&w, name, THEIRS);
		}
		path = git_fake(&w, "echo x >>asked; exec sleep 600");
		stride_ms = slow[i].stride_ms;
		looks = 10;
		is_int(merge_go(&w, false), 0, "no failure");
		looks = 0;
		git_back(path);
		is_str(world_read(&w, "asked"), slow[i].asked, "git %s",
		       slow[i].what);
		is_int(w.plan.conflicts, MANY, "the conflicts stay");
		world_end(&w);
	}
}

int main(void)
{
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	forget_git();
	test_failing();
	test_slow();
	return done_testing();
}
