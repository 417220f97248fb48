/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.c - the one table of commands
 */
#include "control/cli/commands.h"

#include <stdarg.h>
#include <string.h>

#include "control/cli/host/image_build.h"
#include "control/cli/cmd/cp.h"
#include "control/cli/cmd/doctor.h"
#include "control/cli/cmd/up_down.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/cmd/life.h"
#include "control/cli/cmd/logs.h"
#include "control/cli/cmd/policy.h"
#include "control/cli/cmd/prune.h"
#include "control/cli/cmd/run.h"
#include "control/cli/cmd/stats.h"
#include "control/cli/complete.h"
#include "control/cli/core/guess.h"
#include "control/cli/help.h"
#include "control/cli/host/infer.h"
#include "control/cli/cmd/top.h"
#include "control/shared/names.h"
#include "lib/str.h"

#define O(name) ARG_IN(name)
#define O_LIMITS                                                        \
	O(CPUS), O(MEMORY), O(GPUS), O(PIDS), O(ISOLATION), O(RUNTIME), \
		O(DISK), O(OUTPUT), O(TTL), O(IDLE)
#define O_STDIO O(TTY), O(NO_TTY), O(INTERACTIVE), O(DETACH_KEYS)
#define O_PROCESS O(TIMEOUT), O(ENV), O(ENV_FILE), O(WORKDIR)
#define O_TALK O(JSON), O(QUIET)
#define O_SHELL                                                              \
	O_LIMITS, O_STDIO, O_PROCESS, O_TALK, O(WORKSPACE), O(LINKS),        \
		O(BUILD), O(RM), O(ENV_CLEAR), O(EGRESS), O(ALLOW), O(DENY), \
		O(CREDENTIAL), O(SECRET)
#define O_RUN O_SHELL, O(DETACH)
#define MANY ARGS_WORDS_MAX

static const char names_help[] =
	"With one word: an instance that exists; or a blueprint, then the "
	"instance is\n<blueprint>_session; or a new name with a blueprint's "
	"name in it. A name of one\ncharacter gets a _ appended. Limits, "
	"--env, --workspace, credentials\nand what it may reach stay with the "
	"instance; the rest holds for this time.\nVariables and credentials "
	"are added to those it has; a limit of 0 is what its\nblueprint says.";

const struct command commands[] = {
	{ .name = "run",
	  .group = "Agents",
	  .words = "[BLUEPRINT] NAME [-- COMMAND...]",
	  .summary = "Run an agent, or a command, in its sandbox",
	  .more = names_help,
	  .rules = { ARG_SET(O_RUN), 1, 2, true },
	  .complete = { WORDS_EITHER, WORDS_INSTANCE },
	  .runs = true,
	  .run = cmd_run },
	{ .name = "shell",
	  .group = "Agents",
	  .words = "[BLUEPRINT] NAME [-- COMMAND...]",
	  .summary = "Open a shell in a sandbox, started if it does not run",
	  .more = names_help,
	  .rules = { ARG_SET(O_SHELL), 1, 2, true },
	  .complete = { WORDS_EITHER, WORDS_INSTANCE },
	  .runs = true,
	  .run = cmd_shell },
	{ .name = "exec",
	  .group = "Agents",
	  .words = "NAME -- COMMAND...",
	  .summary = "Run a command beside what runs in a sandbox",
	  .rules = { ARG_SET(O_STDIO, O_PROCESS, O_TALK), 1, 1, true },
	  .complete = { WORDS_RUNNING },
	  .runs = true,
	  .run = cmd_exec },
	{ .name = "attach",
	  .group = "Agents",
	  .words = "NAME",
	  .summary = "Join the terminal of what runs in a sandbox",
	  .more = "Ctrl-P Ctrl-Q leaves it running; where it has no terminal, "
		  "Ctrl-C does too.\n--detach-keys or AC_DETACH_KEYS names "
		  "other keys. It may be joined several\ntimes: its terminal "
		  "has the size of the one that was typed at or resized last.",
	  .rules = { ARG_SET(O(DETACH_KEYS), O_TALK), 1, 1, false },
	  .complete = { WORDS_RUNNING },
	  .runs = true,
	  .run = cmd_attach },
	{ .name = "stop-instance",
	  .group = "Agents",
	  .words = "NAME...",
	  .summary = "Stop what runs in a sandbox",
	  .rules = { ARG_SET(O(GRACE), O_TALK), 1, MANY, false },
	  .complete = { WORDS_RUNNING, WORDS_RUNNING },
	  .run = cmd_stop_instance },
	{ .name = "kill",
	  .group = "Agents",
	  .words = "NAME [PID...]",
	  .summary = "Send a signal to what runs in a sandbox, or to processes",
	  .rules = { ARG_SET(O(SIGNAL), O(QUIET)), 1, MANY, false },
	  .complete = { WORDS_RUNNING, WORDS_NONE },
	  .run = cmd_kill },
	{ .name = "pause",
	  .group = "Agents",
	  .words = "NAME...",
	  .summary = "Freeze what runs in a sandbox",
	  .more = "Its time limits stand still, but not its --ttl.",
	  .rules = { ARG_SET(O_TALK), 1, MANY, false },
	  .complete = { WORDS_RUNNING, WORDS_RUNNING },
	  .run = cmd_pause },
	{ .name = "resume",
	  .group = "Agents",
	  .words = "NAME...",
	  .summary = "Let go on what was paused",
	  .rules = { ARG_SET(O_TALK), 1, MANY, false },
	  .complete = { WORDS_RUNNING, WORDS_RUNNING },
	  .run = cmd_resume },
	{ .name = "touch",
	  .group = "Agents",
	  .words = "NAME...",
	  .summary = "Count --ttl and --idle of an instance from now on",
	  .rules = { ARG_SET(O_TALK), 1, MANY, false },
	  .complete = { WORDS_INSTANCE, WORDS_INSTANCE },
	  .run = cmd_touch },
	{ .name = "cp",
	  .group = "Agents",
	  .words = "SOURCE DESTINATION",
	  .summary =
		  "Copy a file or directory into or out of a running sandbox",
	  .more = "One side is NAME:PATH (below /workspace unless it begins "
		  "with /), the other a\npath here, or - for a tar archive on "
		  "stdin or stdout. NAME: alone is /workspace.",
	  .rules = { ARG_SET(O(QUIET)), 2, 2, false },
	  .complete = { WORDS_COPY, WORDS_COPY },
	  .run = cmd_cp },
	{ .name = "build",
	  .group = "Agents",
	  .words = "BLUEPRINT...",
	  .summary = "Build the image of a blueprint, if its inputs changed",
	  .rules = { ARG_SET(O(NO_CACHE), O(LOOK), O_TALK), 1, MANY, false },
	  .complete = { WORDS_BLUEPRINT, WORDS_BLUEPRINT },
	  .run = cmd_build },
	{ .name = "ls",
	  .group = "Looking",
	  .words = "",
	  .summary = "List the instances",
	  .rules = { ARG_SET(O(NO_TRUNC), O(RUNNING), O_TALK), 0, 0, false },
	  .run = cmd_ls },
	{ .name = "list",
	  .group = "Looking",
	  .words = "",
	  .summary = "List blueprints and instances",
	  .rules = { ARG_SET(O(NO_TRUNC), O_TALK), 0, 0, false },
	  .run = cmd_list },
	{ .name = "inspect",
	  .group = "Looking",
	  .words = "NAME...",
	  .summary = "Print all that is recorded of an instance, as JSON",
	  .rules = { ARG_SET(O_TALK), 1, MANY, false },
	  .complete = { WORDS_INSTANCE, WORDS_INSTANCE },
	  .run = cmd_inspect },
	{ .name = "logs",
	  .group = "Looking",
	  .words = "host|gateway|gvisor|engine | proxy [NAME] | [agent] NAME",
	  .summary = "Print what the host, its parts, or an agent wrote",
	  .more = "proxy is what the gateway let through and blocked; --json "
		  "prints it as it was\nwritten down. gateway is its own log.",
	  .rules = { ARG_SET(O(FOLLOW), O(TAIL), O(JSON_PROXY), O(QUIET)), 0, 2,
		     false },
	  .complete = { WORDS_LOG, WORDS_INSTANCE },
	  .run = cmd_logs },
	{ .name = "stats",
	  .group = "Looking",
	  .words = "[NAME...]",
	  .summary = "Show what instances use, again and again",
	  .rules = { ARG_SET(O(ONCE), O(INTERVAL), O_TALK), 0, MANY, false },
	  .complete = { WORDS_RUNNING, WORDS_RUNNING },
	  .run = cmd_stats },
	{ .name = "top",
	  .group = "Looking",
	  .words = "NAME",
	  .summary = "List the processes of a sandbox",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_RUNNING },
	  .run = cmd_top },
	{ .name = "usage",
	  .group = "Looking",
	  .words = "[NAME]",
	  .summary = "Show what was asked of models: requests, tokens, time",
	  .rules = { ARG_SET(O(SINCE), O_TALK), 0, 1, false },
	  .complete = { WORDS_INSTANCE },
	  .run = cmd_usage },
	{ .name = "df",
	  .alias = "space",
	  .group = "Looking",
	  .words = "",
	  .summary = "Show what takes room on the disk",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_df },
	{ .name = "policy",
	  .group = "Agents",
	  .words = "COMMAND",
	  .summary = "Show and change what instances may reach",
	  .complete = { WORDS_VERB },
	  .verbs = policy_verbs },
	{ .name = "vault",
	  .group = "Agents",
	  .words = "COMMAND",
	  .summary = "Keep credentials that agents may use but never see",
	  .complete = { WORDS_VERB },
	  .verbs = vault_verbs },
	{ .name = "start",
	  .group = "Host",
	  .words = "",
	  .summary = "Start ac-host, with all it needs",
	  .more = "Installs, builds and starts what is missing. Every command "
		  "that runs or\nchanges something does the same by itself.",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_start },
	{ .name = "stop",
	  .group = "Host",
	  .words = "",
	  .summary = "Stop ac-host and what runs in it",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_stop },
	{ .name = "restart",
	  .group = "Host",
	  .words = "",
	  .summary = "Stop ac-host and start it again",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_restart },
	{ .name = "status",
	  .group = "Host",
	  .words = "",
	  .summary = "Show how ac-host is; 3 when it is down",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_status },
	{ .name = "config",
	  .group = "Host",
	  .words = "COMMAND",
	  .summary = "Show and change what is true of this machine",
	  .complete = { WORDS_VERB },
	  .verbs = config_verbs },
	{ .name = "doctor",
	  .group = "Host",
	  .words = "",
	  .summary = "Check everything and say what to do; 1 when something is "
		     "wrong",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_doctor },
	{ .name = "metrics",
	  .group = "Host",
	  .words = "",
	  .summary = "Print the gateway's figures, for Prometheus",
	  .rules = { ARG_SET(O(QUIET)), 0, 0, false },
	  .run = cmd_metrics },
	{ .name = "clean",
	  .group = "Cleaning up",
	  .words = "NAME...",
	  .summary = "Wipe an instance's home with its credentials; keep its "
		     "workspace",
	  .more = "On a terminal it asks first, unless --yes or --force is "
		  "given.",
	  .rules = { ARG_SET(O(FORCE), O(YES), O_TALK), 1, MANY, false },
	  .complete = { WORDS_INSTANCE, WORDS_INSTANCE },
	  .run = cmd_clean },
	{ .name = "destroy",
	  .alias = "rm",
	  .group = "Cleaning up",
	  .words = "NAME...",
	  .summary = "Delete an instance with its home and workspace",
	  .more = "It asks first. One that runs wants --force beside --yes.\n"
		  "A directory given with --workspace is never deleted.",
	  .rules = { ARG_SET(O(FORCE), O(YES), O(QUIET)), 1, MANY, false },
	  .complete = { WORDS_INSTANCE, WORDS_INSTANCE },
	  .run = cmd_destroy },
	{ .name = "clean-all",
	  .group = "Cleaning up",
	  .words = "",
	  .summary = "Clean every instance that does not run",
	  .rules = { ARG_SET(O(FORCE), O(YES), O_TALK), 0, 0, false },
	  .run = cmd_clean_all },
	{ .name = "destroy-all",
	  .group = "Cleaning up",
	  .words = "",
	  .summary = "Destroy every instance that does not run",
	  .rules = { ARG_SET(O(FORCE), O(YES), O(QUIET)), 0, 0, false },
	  .run = cmd_destroy_all },
	{ .name = "prune",
	  .group = "Cleaning up",
	  .words = "",
	  .summary = "Destroy the instances that have stopped",
	  .more = "It asks first. What runs, and what has never run, stays.",
	  .rules = { ARG_SET(O(OLDER), O(DRY_RUN), O(YES), O_TALK), 0, 0,
		     false },
	  .run = cmd_prune },
	{ .name = "down",
	  .group = "Cleaning up",
	  .words = "",
	  .summary = "Remove ac-host, nested containers and caches; keep "
		     "workspaces",
	  .rules = { ARG_SET(O(IMAGES), O(YES), O(QUIET)), 0, 0, false },
	  .run = cmd_down },
	{ .name = "version",
	  .group = "Other",
	  .words = "",
	  .summary = "Print the version",
	  .rules = { ARG_SET(O_TALK), 0, 0, false },
	  .run = cmd_version },
	{ .name = "help",
	  .group = "Other",
	  .words = "[COMMAND [VERB]]",
	  .summary = "Print help",
	  .rules = { ARG_SET_NONE, 0, 2, false },
	  .complete = { WORDS_COMMAND },
	  .run = cmd_help },
	{ .name = "completion",
	  .group = "Other",
	  .words = "bash|zsh|fish",
	  .summary = "Print a completion script for a shell",
	  .more = "bash: eval \"$(ac completion bash)\"\n"
		  "zsh:  eval \"$(ac completion zsh)\"\n"
		  "fish: ac completion fish | source",
	  .rules = { ARG_SET_NONE, 1, 1, false },
	  .complete = { WORDS_SHELL },
	  .run = cmd_completion },
	{ .name = "__complete",
	  .words = "-- WORDS...",
	  .summary = "Print what can stand in the place of the last word",
	  .rules = { ARG_SET_NONE, 0, 0, true },
	  .run = cmd_complete },
	{ .name = NULL },
};

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

const char *command_guess_verb(const struct command *cmd, const char *word)
{
	const struct command *v;
	struct guess g;

	guess_begin(&g, word);
	for (v = cmd->verbs; v && v->name; v++)
		guess_try(&g, v->name + strlen(cmd->name) + 1);
	return g.found;
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
	if (!argc)
		help_command(stderr, cmd);
	else
		unknown_verb(cli, cmd, argv[0]);
	return CLI_EXIT_USAGE;
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
