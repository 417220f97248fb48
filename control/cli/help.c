/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.c - what the table of commands says, for people
 */
#include "control/cli/help.h"

#include <string.h>

#include "lib/str.h"

static const char *const groups[] = { "Agents", "Looking",     "Programs",
				      "Host",   "Cleaning up", "Other" };

void help_overview(FILE *out)
{
	const struct command *c;
	size_t g;

	fputs("usage: ac COMMAND [OPTIONS] [WORDS] [-- COMMAND IN THE "
	      "SANDBOX]\n\nRuns untrusted agents, each in a gVisor sandbox of "
	      "its own.\n",
	      out);
	for (g = 0; g < ARRAY_SIZE(groups); g++) {
		fprintf(out, "\n%s:\n", groups[g]);
		for (c = commands; c->name; c++)
			if (c->group && strcmp(c->group, groups[g]) == 0)
				fprintf(out, "  %-14s %s\n", c->name,
					c->summary);
	}
	fputs("\n`ac COMMAND --help` tells more of each.\n", out);
}

static void help_option(FILE *out, const struct arg_option *o)
{
	char left[64];
	char letter[5] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name,
		 o->value ? " " : "", o->value ? o->value : "");
	if (strlen(left) > 26)
		fprintf(out, "  %s\n  %-26s %s\n", left, "", o->help);
	else
		fprintf(out, "  %-26s %s\n", left, o->help);
}

static void help_verbs(FILE *out, const struct command *cmd)
{
	const struct command *v;

	if (cmd->verbs)
		fputs("\nCommands:\n", out);
	for (v = cmd->verbs; v && v->name; v++)
		fprintf(out, "  %-17s %s\n", v->name, v->summary);
}

void help_command(FILE *out, const struct command *cmd)
{
	const struct arg_set *options = &cmd->rules.options;
	size_t i;

	fprintf(out, "usage: ac %s [OPTIONS]%s%s\n\n%s.\n", cmd->name,
		*cmd->words ? " " : "", cmd->words, cmd->summary);
	if (cmd->alias)
		fprintf(out, "Also called `ac %s`.\n", cmd->alias);
	if (cmd->more)
		fprintf(out, "\n%s\n", cmd->more);
	help_verbs(out, cmd);
	fputs("\nOptions:\n", out);
	for (i = 0; i < ARG_MAX; i++)
		if (arg_set_takes(options, i))
			help_option(out, &arg_options[i]);
}

static void help_unknown(const struct args *a)
{
	const struct command *cmd = command_find(a->words[0]);
	const char *guess = cmd ? command_guess_verb(cmd, a->words[1]) :
				  command_guess(a->words[0]);
	SCOPED_STR name = str_printf("%s%s%s", a->words[0], cmd ? " " : "",
				     cmd ? a->words[1] : "");

	if (name && guess)
		say_error("there is no command '%s'; did you mean `ac help "
			  "%s%s%s`?",
			  name, cmd ? cmd->name : "", cmd ? " " : "", guess);
	else
		say_error("there is no command '%s'; `ac help` lists all",
			  name ? name : a->words[0]);
}

int cmd_help(const struct cli *cli, const struct args *a, struct err *err)
{
	const struct command *cmd;

	(void)cli;
	(void)err;
	if (a->n_words == 0) {
		help_overview(stdout);
		return 0;
	}
	cmd = command_find(a->words[0]);
	if (cmd && a->n_words > 1)
		cmd = command_verb(cmd, a->words[1]);
	if (!cmd) {
		help_unknown(a);
		return CLI_EXIT_USAGE;
	}
	help_command(stdout, cmd);
	return 0;
}
