/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_identity_test.c - the user's own git configuration, and nothing of a
 * project's
 */
#include "control/cli/core/git_identity.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/cli_git_test.XXXXXX";

static void put(const char *file, const char *text)
{
	SCOPED_STR path = str_printf("%s/%s", dir, file);

	ok(path && file_write_atomic(path, text, strlen(text), 0600) == 0,
	   "write %s", file);
}

static void check(const char *given, const char *name, const char *email,
		  const char *what)
{
	struct strv env = { 0 }, got = { 0 };
	size_t n = 0;

	if (given && strv_push(&env, given) < 0)
		return;
	is_int(git_identity_get(&env, &got), 0, "%s", what);
	is_int(got.n, (name != NULL) + (email != NULL), "how many");
	if (name && got.n > n)
		is_str(got.v[n++], name, "the name");
	if (email && got.n > n)
		is_str(got.v[n], email, "the e-mail");
	strv_done(&env);
	strv_done(&got);
}

int main(void)
{
	SCOPED_STR project = NULL;
	SCOPED_STR git = NULL;

	if (system("git --version >/dev/null 2>&1") != 0) {
		skip("git is not installed");
		return done_testing();
	}
	if (!mkdtemp(dir))
		return 1;
	setenv("HOME", dir, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("GIT_CONFIG_GLOBAL");
	project = str_printf("%s/project", dir);
	git = str_printf("%s/project/.git", dir);
	ok(mkdir(project, 0700) == 0 && mkdir(git, 0700) == 0, "a project");
	put("project/.git/HEAD", "ref: refs/heads/main\n");
	put("project/.git/config", "[user]\n\tname = Mallory\n");
	ok(chdir(project) == 0, "in it");
	check(NULL, NULL, NULL, "a project's configuration is not read");

	put(".gitconfig",
	    "[user]\n\tname = A \\\"B\\\"\n[include]\n\tpath = more\n");
	put("more", "[user]\n\temail = a@x.example\n");
	check(NULL, "AC_GIT_NAME=A \"B\"", "AC_GIT_EMAIL=a@x.example",
	      "the user's own is, with what it includes");
	check("X=1", "AC_GIT_NAME=A \"B\"", "AC_GIT_EMAIL=a@x.example",
	      "beside other variables");
	check("GIT_AUTHOR_NAME=C", NULL, NULL, "not when --env has an author");
	check("AC_GIT_NAME=", NULL, NULL, "nor when it is taken away");
	put(".gitconfig",
	    "[user]\n\tname = \"a\\nb\"\n\temail = e@x.example\n");
	check(NULL, NULL, "AC_GIT_EMAIL=e@x.example",
	      "a line's end is in no name");
	file_remove_tree(dir);
	return done_testing();
}
