/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - commands that start a process in a sandbox and stay with it
 *
 * Each returns the exit code: that of the process, or a negative errno of a
 * failure of ours, which @err describes.
 */
#ifndef CONTROL_CLI_CMD_RUN_H
#define CONTROL_CLI_CMD_RUN_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

int cmd_run(const struct cli *cli, const struct args *a, struct err *err);
int cmd_shell(const struct cli *cli, const struct args *a, struct err *err);
int cmd_exec(const struct cli *cli, const struct args *a, struct err *err);
int cmd_attach(const struct cli *cli, const struct args *a, struct err *err);

/*
 * Does the same as cmd_run() for a program of ours: its command takes the place of
 * the blueprint's, also if that takes arguments; nothing is printed on stdout but
 * what it prints; and @begun is called when it runs, with the name of the instance.
 * With --detach an instance that runs already will do.
 */
int run_kept(const struct cli *cli, const struct args *a,
	     void (*begun)(void *arg, const char *name), void *arg,
	     struct err *err);

#endif
