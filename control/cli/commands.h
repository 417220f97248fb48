/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.h - the one table of commands: for dispatch, --help and completion
 */
#ifndef CONTROL_CLI_COMMANDS_H
#define CONTROL_CLI_COMMANDS_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

struct command {
	const char *name;
	const char *alias; /* NULL: none */
	const char *group; /* heading in the overview, NULL: hidden */
	const char *words; /* what may follow the name, for help */
	const char *summary; /* one line */
	const char *more; /* further lines of its --help, NULL: none */
	struct args_rules rules;
	/* What the words can be; the second is for all after the first. */
	enum arg_words complete[2];
	bool runs; /* it exits with the code of a program in a sandbox, so a
		    * failure of ac's own exits with 125 */
	/* Returns the exit code, or a negative errno with @err. */
	int (*run)(const struct cli *cli, const struct args *a,
		   struct err *err);
	/* Instead of run: commands of two words that begin with this one. They
	 * have its group and no alias, and end with a NULL name. */
	const struct command *verbs;
	const char *lone; /* the verb that is meant without one; NULL: none */
};

extern const struct command commands[]; /* ends with a NULL name */
extern const struct command presets_verbs[]; /* commands_presets.c */
extern const struct command policy_verbs[]; /* commands_policy.c */
extern const struct command blueprint_verbs[]; /* commands_blueprint.c */
extern const struct command images_verbs[]; /* commands_images.c */
extern const struct command service_verbs[]; /* commands_service.c */
extern const struct command volume_verbs[]; /* commands_volume.c */
extern const struct command token_verbs[]; /* commands_programs.c */
extern const char serve_help[], mcp_help[]; /* likewise */
extern const struct command vault_verbs[]; /* commands_vault.c */
extern const struct command config_verbs[]; /* commands_config.c */

/* Returns the command with this name or alias, also a hidden one, a constant;
 * or NULL. */
const struct command *command_find(const char *name);

/* Returns the one of @cmd's verbs whose second word is @word, or NULL if there
 * is none. */
const struct command *command_verb(const struct command *cmd, const char *word);

/* Returns the name of the command for which @name may be mistyped, a constant,
 * or NULL if none is near. */
const char *command_guess(const char *name);

/* Returns the second word of @cmd for which @word may be mistyped, or NULL. */
const char *command_guess_verb(const struct command *cmd, const char *word);

#endif
