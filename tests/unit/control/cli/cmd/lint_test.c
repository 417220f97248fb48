/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint_test.c - what `ac policy lint` refuses before it asks anybody
 */
#include <fcntl.h>
#include <unistd.h>

#include "control/cli/core/args.h"
#include "control/cli/cmd/policy/policy.h"
#include "lib/file.h"
#include "tests/unit/tap.h"

/* A YAML parser that stops at the NUL would find the beginning good. */
static const char text[] = "version: 1\n\0deny: nonsense\n";

static char sock[] = "/tmp/no/such/acd.sock";

static void refused(const char *word, const char *why)
{
	char host[] = "h";
	const struct cli cli = { .home = sock, .host = host, .sock = sock };
	const struct args a = { .words = { word }, .n_words = 1 };
	struct err err = { 0 };

	ok(cmd_policy_lint(&cli, &a, &err) < 0 && strstr(err.msg, why),
	   "%s: %s", word, err.msg);
}

int main(void)
{
	char path[] = "/tmp/cli_lint_test.XXXXXX";
	SCOPED_FD fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0 || fd_write_all(fd, text, sizeof(text) - 1) < 0 ||
	    !freopen(path, "r", stdin))
		return 1;
	refused(path, "there is a NUL in it, byte 12");
	refused("-", "stdin is no policy: there is a NUL in it, byte 12");
	/* The control: without it all comes to acd, which is not there. */
	if (ftruncate(fd, 11) < 0 || !freopen(path, "r", stdin))
		return 1;
	refused(path, "is not running");
	refused("-", "is not running");
	unlink(path);
	return done_testing();
}
