/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch.c - from the words of a user to the command that they mean
 */
#include "control/cli/dispatch.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "control/cli/commands.h"
#include "control/cli/help.h"
#include "control/shared/infer.h"
#include "control/shared/names.h"
#include "lib/str.h"

/* Which of the words that @cmd must have is missing, behind @n of them. */
static int word_missing(const struct command *cmd, size_t n, struct err *err)
{
	const char *word = cmd->words, *found = word;
	size_t len = strcspn(word, " "), found_len = len;

	for (; *word; word += len + (word[len] == ' ')) {
		len = strcspn(word, " ");
		if (*word == '[' || *word == '-')
			continue;
		found = word;
		found_len = len;
		if (n-- == 0)
			break;
	}
	return err_set(err, -EINVAL, "%.*s is missing: ac %s %s",
		       (int)found_len, found, cmd->name, cmd->words);
}

/* Names that can be none, before anybody is asked. */
static int check_names(const struct command *cmd, const struct args *a,
		       struct err *err)
{
	char name[AC_NAME_MAX + 1];
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < a->n_words; i++) {
		enum arg_words kind = cmd->complete[i < 1 ? 0 : 1];

		if (kind == WORDS_INSTANCE || kind == WORDS_RUNNING)
			rc = infer_instance(a->words[i], name, err);
		else if (kind == WORDS_BLUEPRINT)
			rc = name_check_blueprint(a->words[i], err);
	}
	return rc;
}

static int parse(const struct command *cmd, int argc, char **argv,
		 struct args *ret, struct err *err)
{
	int rc = args_parse(&cmd->rules, argc, argv, ret, err);

	if (rc == -ENODATA)
		rc = word_missing(cmd, ret->n_words, err);
	if (rc == 0 && !args_has(ret, ARG_HELP))
		rc = check_names(cmd, ret, err);
	return rc;
}

static int dispatch_to(struct cli *cli, const struct command *cmd, int argc,
		       char **argv)
{
	struct err err = { 0 };
	struct args args;
	bool usage = false;
	int rc = parse(cmd, argc, argv, &args, &err);

	if (rc < 0) {
		usage = true;
	} else if (args_has(&args, ARG_HELP)) {
		help_command(stdout, cmd);
	} else {
		cli->json = args_has(&args, ARG_JSON) ||
			    args_has(&args, ARG_JSON_PROXY);
		cli->quiet = args_has(&args, ARG_QUIET);
		cli->whole = args_has(&args, ARG_NO_TRUNC);
		rc = cmd->run(cli, &args, &err);
	}
	args_done(&args);
	if (rc == CLI_USAGE) {
		usage = true;
		rc = err.code;
	}
	if (rc < 0) {
		cli_fail(cli, &err, usage);
		if (usage && !cli->json)
			say_error("`ac %s --help` tells how", cmd->name);
		rc = rc == -EINTR && err.code == -EINTR ? CLI_EXIT_INTERRUPTED :
		     cmd->runs                          ? CLI_EXIT_RUN :
		     usage                              ? CLI_EXIT_USAGE :
							  CLI_EXIT_FAIL;
	}
	return rc;
}

/* --json and --quiet may stand before the command, or before its verb: puts
 * the first other word before them. */
static void pull_word(int argc, char **argv)
{
	char *word;
	int n = 0;

	while (n < argc &&
	       (strcmp(argv[n], "--json") == 0 || strcmp(argv[n], "-q") == 0 ||
		strcmp(argv[n], "--quiet") == 0))
		n++;
	if (n == argc)
		return;
	word = argv[n];
	memmove(argv + 1, argv, (size_t)n * sizeof(*argv));
	argv[0] = word;
}

static void no_command(const struct cli *cli, const char *fmt, ...)
	ATTR_PRINTF(2, 3);
static void no_command(const struct cli *cli, const char *fmt, ...)
{
	struct err err = { .code = -EINVAL };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err.msg, sizeof(err.msg), fmt, ap);
	va_end(ap);
	cli_fail(cli, &err, true);
}

static void unknown_verb(const struct cli *cli, const struct command *cmd,
			 const char *word)
{
	const char *guess = command_guess_verb(cmd, word);

	if (guess)
		no_command(cli,
			   "there is no command '%s %s'; did you mean `ac %s "
			   "%s`?",
			   cmd->name, word, cmd->name, guess);
	else
		no_command(cli,
			   "there is no command '%s %s'; `ac help %s` "
			   "lists all",
			   cmd->name, word, cmd->name);
}

/* @argv begins with the verb. */
static int dispatch_verb(struct cli *cli, const struct command *cmd, int argc,
			 char **argv)
{
	const struct command *verb;

	pull_word(argc, argv);
	verb = argc ? command_verb(cmd, argv[0]) : NULL;
	if (verb)
		return dispatch_to(cli, verb, argc - 1, argv + 1);
	if (argc &&
	    (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
		help_command(stdout, cmd);
		return 0;
	}
	if (cmd->lone && (!argc || argv[0][0] == '-'))
		return dispatch_to(cli, command_verb(cmd, cmd->lone), argc,
				   argv);
	if (!argc)
		help_command(stderr, cmd);
	else
		unknown_verb(cli, cmd, argv[0]);
	return CLI_EXIT_USAGE;
}

static int unknown_command(const struct cli *cli, const char *name)
{
	char instance[AC_NAME_MAX + 1];
	struct err ignored = { 0 };
	SCOPED_STR dir = NULL;
	const char *guess = command_guess(name);

	if (infer_instance(name, instance, &ignored) == 0)
		dir = str_printf("%s/instances/%s", cli->home, instance);
	if (dir && access(dir, F_OK) == 0)
		no_command(cli,
			   "'%s' is an instance, and a command comes before "
			   "it: `ac run %s`, `ac shell %s`",
			   name, name, name);
	else if (guess)
		no_command(cli,
			   "there is no command '%s'; did you mean `ac %s`?",
			   name, guess);
	else
		no_command(cli, "there is no command '%s'; `ac help` lists all",
			   name);
	return CLI_EXIT_USAGE;
}

/* Until the words are understood: how shall it be told that they are not? */
static bool wants_json(int argc, char *const *argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

int command_dispatch(struct cli *cli, int argc, char **argv)
{
	const struct command *cmd;
	const char *name;
	struct err err = { 0 };
	int rc;

	if (argc < 2) {
		help_overview(stderr);
		return CLI_EXIT_USAGE;
	}
	cli->json = wants_json(argc - 1, argv + 1);
	pull_word(argc - 1, argv + 1);
	name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = "version";
	cmd = command_find(name);
	if (!cmd)
		return unknown_command(cli, name);
	rc = cmd->verbs ? dispatch_verb(cli, cmd, argc - 2, argv + 2) :
			  dispatch_to(cli, cmd, argc - 2, argv + 2);
	if ((fflush(stdout) == EOF || ferror(stdout)) && rc == 0) {
		cli_stdout_failed(&err);
		cli_fail(cli, &err, false);
		rc = CLI_EXIT_FAIL;
	}
	return rc;
}
