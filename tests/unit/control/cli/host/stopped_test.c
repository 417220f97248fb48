/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stopped_test.c - what words can mean while ac-host does not run
 */
#include "control/cli/host/stopped.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/str.h"
#include "tests/unit/tap.h"

/* Nobody listens, and there is no store: nothing may be started for a word
 * that can mean nothing. */
static void test_stopped(void)
{
	char home[] = "/tmp/cli_names_test.XXXXXX", host[] = "h";
	SCOPED_STR sock = NULL;
	struct cli cli = { .host = host };
	struct args a = { .words = { "nope" }, .n_words = 1 };
	struct err err = { 0 };

	if (!ok(mkdtemp(home) != NULL, "a home"))
		return;
	sock = str_printf("%s/acd.sock", home);
	cli.home = home;
	cli.sock = sock;
	is_int(stopped_check(&cli, &a, &err), -ENOENT, "%s", err.msg);
	a.words[0] = "../x";
	is_int(stopped_check(&cli, &a, &err), -EINVAL, "%s", err.msg);
	a.n_words = 0;
	is_int(stopped_check(&cli, &a, &err), 0, "no word, no question");
	rmdir(home);
}

int main(void)
{
	test_stopped();
	return done_testing();
}
