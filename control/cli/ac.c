/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ac.c - the command line: main()
 *
 * One process, one thread. It holds no privilege but the user's own, and
 * what comes from a sandbox passes through it as bytes.
 */
#include <locale.h>

#include "control/cli/cli.h"
#include "control/cli/commands.h"

int main(int argc, char **argv)
{
	struct err err = { 0 };
	struct cli cli;
	int rc;

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
