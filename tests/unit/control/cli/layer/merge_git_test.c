/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_git_test.c - a git that fails, or does not answer
 */
#include "control/cli/layer/merge.h"

#include "tests/unit/control/cli/layer/merge_world.h"

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

int main(void)
{
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	forget_git();
	test_failing();
	return done_testing();
}
