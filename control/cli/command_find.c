/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_find.c - finds a command in the table, or one of a similar name
 */
#include <string.h>

#include "control/cli/commands.h"
#include "lib/guess.h"

const struct command *command_find(const char *name)
{
	const struct command *c;

	for (c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0 ||
		    (c->alias && strcmp(c->alias, name) == 0))
			return c;
	return NULL;
}

const struct command *command_verb(const struct command *cmd, const char *word)
{
	const struct command *v;

	for (v = cmd->verbs; v && v->name; v++)
		if (strcmp(v->name + strlen(cmd->name) + 1, word) == 0)
			return v;
	return NULL;
}

const char *command_guess_verb(const struct command *cmd, const char *word)
{
	const struct command *v;
	struct guess g;

	guess_begin(&g, word);
	for (v = cmd->verbs; v && v->name; v++)
		guess_try(&g, v->name + strlen(cmd->name) + 1);
	return g.found;
}

const char *command_guess(const char *name)
{
	struct guess g;
	const struct command *c;

	guess_begin(&g, name);
	for (c = commands; c->name; c++)
		if (c->group)
			guess_try(&g, c->name);
	return g.found;
}
