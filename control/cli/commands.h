/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.h - the one table of commands: dispatch, --help, completion
 */
#ifndef CONTROL_CLI_COMMANDS_H
#define CONTROL_CLI_COMMANDS_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

struct command {
	const char *name;
	const char *alias; /* NULL: none */
	const char *group; /* heading in the overview, NULL: hidden */
	const char *words; /* what stands behind the name, for help */
	const char *summary; /* one line */
	const char *more; /* further lines of its --help, NULL: none */
	struct args_rules rules;
	/* What the words can be; the last holds for all that follow. */
	enum arg_words complete[2];
	bool runs; /* its exit code is a command's: our failures are 125 */
	/* Exit code, or a negative errno and @err. */
	int (*run)(const struct cli *cli, const struct args *a,
		   struct err *err);
	/* Instead of run: commands of two words that begin with this one. They
	 * have its group and no alias, and end with a NULL name. */
	const struct command *verbs;
};

extern const struct command commands[]; /* ends with a NULL name */
extern const struct command policy_verbs[]; /* commands_policy.c */
extern const struct command vault_verbs[]; /* commands_vault.c */
extern const struct command config_verbs[]; /* commands_config.c */

/* By name or alias, hidden ones too; NULL: there is none. */
const struct command *command_find(const char *name);

/* The one of @cmd's verbs whose second word is @word; NULL: none is, or it has
 * none. */
const struct command *command_verb(const struct command *cmd, const char *word);

/* The command that @name may be a slip of; NULL: none is near. */
const char *command_guess(const char *name);

/* The same for the second word of @cmd. */
const char *command_guess_verb(const struct command *cmd, const char *word);

/* Runs `ac @argv[1] …`; @argc and @argv as of main(). Talks about failures
 * itself; returns the exit code. */
int command_dispatch(struct cli *cli, int argc, char **argv);

#endif
