/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.h - what the table of commands says, for people
 */
#ifndef CONTROL_CLI_HELP_H
#define CONTROL_CLI_HELP_H

#include <stdio.h>

#include "control/cli/commands.h"

/* Prints all commands that are not hidden, by groups. */
void help_overview(FILE *out);
/* Prints the help of one command. */
void help_command(FILE *out, const struct command *cmd);

/* The command `ac help [COMMAND]`. */
int cmd_help(const struct cli *cli, const struct args *a, struct err *err);

#endif
