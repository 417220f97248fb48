/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home_test.c - places that cannot be AC_HOME are refused, and left alone
 */
#include "control/cli/core/home.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/cli_home_test.XXXXXX";

static int make(const char *below, struct err *err)
{
	SCOPED_STR home = *below == '/' ? strdup(below) :
					  str_printf("%s/%s", dir, below);
	const struct cli cli = { .home = home };

	*err = (struct err){ 0 };
	return home_make(&cli, err);
}

static const struct {
	const char *home, *says;
	int code;
} bad[] = {
	{ "file", "is not a directory", -ENOTDIR },
	{ "file/below", "is below what is not a directory", -ENOTDIR },
	{ "dangling", "", -ENOENT },
	{ "/", "is the root directory", -EINVAL },
	{ "/proc/ac", "is on proc", -EINVAL },
	{ "/sys/ac/deeper", "is on sysfs", -EINVAL },
};

static void test_refusals(void)
{
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		is_int(make(bad[i].home, &err), bad[i].code, "%s: %s",
		       bad[i].home, err.msg);
		ok(strstr(err.msg, bad[i].says) && strstr(err.msg, "AC_HOME"),
		   "it says so");
	}
}

/* As another user: root may write everywhere. */
static void test_read_only(void)
{
	int status = 0;
	pid_t pid;

	if (getuid() != 0) {
		skip("only root becomes another user");
		return;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct err err;

		if (setresuid(65534, 65534, 65534) < 0)
			_exit(1);
		_exit(make("good/run", &err) == -EACCES &&
				      make("new", &err) == -EACCES ?
			      0 :
			      2);
	}
	waitpid(pid, &status, 0);
	is_int(status, 0, "a place of another user");
}

static void test_good(void)
{
	SCOPED_STR run = str_printf("%s/good/run", dir);
	SCOPED_STR link = str_printf("%s/link", dir);
	SCOPED_STR good = str_printf("%s/good", dir);
	struct err err;

	is_int(make("good", &err), 0, "a new place: %s", err.msg);
	is_int(access(run, F_OK), 0, "its directories are made");
	ok(rmdir(run) == 0, "and nothing is left of the proof");
	is_int(make("good", &err), 0, "the same again");
	ok(symlink(good, link) == 0, "a link to it");
	is_int(make("link", &err), 0, "is as good: %s", err.msg);
}

int main(void)
{
	SCOPED_STR file = NULL;
	SCOPED_STR dangling = NULL;

	if (!mkdtemp(dir))
		return 1;
	file = str_printf("%s/file", dir);
	dangling = str_printf("%s/dangling", dir);
	ok(file_write_atomic(file, "x", 1, 0600) == 0, "a file");
	ok(symlink("/nonexistent/x", dangling) == 0, "a link to nowhere");
	test_refusals();
	test_good();
	test_read_only();
	file_remove_tree(dir);
	return done_testing();
}
