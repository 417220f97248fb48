/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ac.c - the command line: main()
 *
 * One process, one thread. It holds no privilege but the user's own, and
 * what comes from a sandbox passes through it as bytes.
 */
#include <fcntl.h>
#include <locale.h>
#include <unistd.h>

#include "control/cli/core/cli.h"
#include "control/cli/core/fresh.h"
#include "control/cli/dispatch.h"

/* Closed, its number would go to the next socket, and our output with it. For
 * stdout one that cannot be written to, nor opened again for that (outfd.c), so
 * that the output fails, as it must. Opened in their order, each gets its
 * number. */
static void guard_stdio(void)
{
	if (fcntl(STDIN_FILENO, F_GETFD) < 0)
		(void)open("/dev/null", O_RDONLY);
	if (fcntl(STDOUT_FILENO, F_GETFD) < 0)
		(void)open("/", O_PATH | O_DIRECTORY);
	if (fcntl(STDERR_FILENO, F_GETFD) < 0)
		(void)open("/dev/null", O_WRONLY);
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	struct cli cli;
	int rc;

	guard_stdio();
	fresh_check(argv);
	/* For the width of what is in tables; numbers stay plain. */
	setlocale(LC_CTYPE, "");
	if (cli_init(&cli, &err) < 0) {
		say_error("%s", err.msg);
		cli_done(&cli);
		return CLI_EXIT_RUN;
	}
	rc = command_dispatch(&cli, argc, argv);
	cli_done(&cli);
	return rc;
}
