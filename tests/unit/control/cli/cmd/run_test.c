/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_test.c - what run, shell and exec refuse before they ask acd
 */
#include "control/cli/cmd/run.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/tap.h"

typedef int (*command_fn)(const struct cli *cli, const struct args *a,
			  struct err *err);

static const struct {
	const char *what;
	command_fn run;
} commands[] = { { "run", cmd_run },
		 { "shell", cmd_shell },
		 { "exec", cmd_exec } };

/* No acd is there: it is an error of another kind to get so far. */
static void refused(command_fn run, struct args *a, const char *why,
		    const char *what)
{
	char nowhere[] = "/nonexistent/acd.sock", home[] = "/nonexistent";
	char host[] = "h", volume[] = "v";
	const struct cli cli = {
		.sock = nowhere, .home = home, .host = host, .volume = volume
	};
	char cmd[] = "true";
	char *words[] = { cmd, NULL };
	struct err err = { 0 };

	a->words[0] = "bob";
	a->n_words = 1;
	a->cmd = words;
	a->n_cmd = 1;
	is_int(run(&cli, a, &err), -EINVAL, "%s", what);
	is_str(err.msg, why, "says why");
}

static void test_utf8(void)
{
	static char bad[] = "NAME=s\xff";
	static char name[] = "N\xfe=x";

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		struct args a = { 0 };

		if (strv_push(&a.env, "GOOD=\xc3\xa9") < 0 ||
		    strv_push(&a.env, bad) < 0)
			return;
		refused(commands[i].run, &a,
			"-e: the variable 'NAME' is not UTF-8: it cannot be "
			"passed on as it is",
			commands[i].what);
		strv_done(&a.env);
		if (strv_push(&a.env, name) < 0)
			return;
		refused(commands[i].run, &a,
			"-e: the variable 'N\\xfe' is not UTF-8: it cannot be "
			"passed on as it is",
			commands[i].what);
		strv_done(&a.env);
		a.workdir = "/w\xff";
		refused(commands[i].run, &a,
			"--workdir '/w\\xff' is not UTF-8: it cannot be passed "
			"on as it is",
			commands[i].what);
	}
}

int main(void)
{
	test_utf8();
	return done_testing();
}
