/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.c - the one table of commands
 */
#include "control/cli/commands.h"

#include <string.h>

#include "control/cli/build.h"
#include "control/cli/cmd_cp.h"
#include "control/cli/cmd_doctor.h"
#include "control/cli/cmd_host.h"
#include "control/cli/cmd_instance.h"
#include "control/cli/cmd_logs.h"
#include "control/cli/cmd_run.h"
#include "control/cli/cmd_stats.h"
#include "control/cli/complete.h"
#include "control/cli/help.h"
#include "control/cli/infer.h"
#include "control/cli/top.h"
#include "lib/str.h"

#define O(name) ARG_BIT(ARG_##name)
#define O_LIMITS (O(CPUS) | O(MEMORY) | O(GPUS) | O(PIDS) | O(ISOLATION))
#define O_STDIO (O(TTY) | O(NO_TTY) | O(INTERACTIVE))
#define O_PROCESS (O(TIMEOUT) | O(ENV) | O(ENV_FILE) | O(WORKDIR))
#define O_TALK (O(JSON) | O(QUIET))
#define O_RUN                                                                \
	(O_LIMITS | O_STDIO | O_PROCESS | O_TALK | O(WORKSPACE) | O(BUILD) | \
	 O(DETACH) | O(RM) | O(ENV_CLEAR))
#define MANY ARGS_WORDS_MAX
#define GUESS_MAX 32u /* letters of what may be a command mistyped */

static const char names_help[] =
	"With one word: an instance that exists; or a blueprint, then the "
	"instance is\n<blueprint>_session; or a new name with a blueprint's "
	"name in it. A name of one\ncharacter gets a _ appended. Limits, "
	"--env and --workspace stay with the\ninstance; the rest holds for "
	"this time.";

const struct command commands[] = {
	{ "run",
	  NULL,
	  "Agents",
	  "[BLUEPRINT] NAME [-- COMMAND...]",
	  "Run an agent, or a command, in its sandbox",
	  names_help,
	  { O_RUN, 1, 2, true },
	  { WORDS_EITHER, WORDS_INSTANCE },
	  true,
	  cmd_run },
	{ "shell",
	  NULL,
	  "Agents",
	  "[BLUEPRINT] NAME [-- COMMAND...]",
	  "Open a shell in a sandbox, started if it does not run",
	  names_help,
	  { O_RUN & ~O(DETACH), 1, 2, true },
	  { WORDS_EITHER, WORDS_INSTANCE },
	  true,
	  cmd_shell },
	{ "exec",
	  NULL,
	  "Agents",
	  "NAME -- COMMAND...",
	  "Run a command beside what runs in a sandbox",
	  NULL,
	  { O_STDIO | O_PROCESS | O_TALK, 1, 1, true },
	  { WORDS_RUNNING, WORDS_NONE },
	  true,
	  cmd_exec },
	{ "attach",
	  NULL,
	  "Agents",
	  "NAME",
	  "Join the terminal of what runs in a sandbox",
	  "Ctrl-P Ctrl-Q leaves it running; AC_DETACH_KEYS names other keys.",
	  { O_TALK, 1, 1, false },
	  { WORDS_RUNNING, WORDS_NONE },
	  true,
	  cmd_attach },
	{ "stop-instance",
	  NULL,
	  "Agents",
	  "NAME...",
	  "Stop what runs in a sandbox",
	  NULL,
	  { O(GRACE) | O_TALK, 1, MANY, false },
	  { WORDS_RUNNING, WORDS_RUNNING },
	  false,
	  cmd_stop_instance },
	{ "cp",
	  NULL,
	  "Agents",
	  "SOURCE DESTINATION",
	  "Copy a file or directory into or out of a running sandbox",
	  "One side is NAME:PATH (below /workspace unless it begins with /), "
	  "the other a\npath here, or - for a tar archive on stdin or "
	  "stdout. NAME: alone is /workspace.",
	  { O(QUIET), 2, 2, false },
	  { WORDS_COPY, WORDS_COPY },
	  false,
	  cmd_cp },
	{ "build",
	  NULL,
	  "Agents",
	  "BLUEPRINT...",
	  "Build the image of a blueprint, if its inputs changed",
	  NULL,
	  { O(NO_CACHE) | O(FORCE) | O_TALK, 1, MANY, false },
	  { WORDS_BLUEPRINT, WORDS_BLUEPRINT },
	  false,
	  cmd_build },
	{ "ls",
	  NULL,
	  "Looking",
	  "",
	  "List the instances",
	  NULL,
	  { O_TALK, 0, 0, false },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_ls },
	{ "list",
	  NULL,
	  "Looking",
	  "",
	  "List blueprints and instances",
	  NULL,
	  { O_TALK, 0, 0, false },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_list },
	{ "inspect",
	  NULL,
	  "Looking",
	  "NAME...",
	  "Print all that is recorded of an instance, as JSON",
	  NULL,
	  { O_TALK, 1, MANY, false },
	  { WORDS_INSTANCE, WORDS_INSTANCE },
	  false,
	  cmd_inspect },
	{ "logs",
	  NULL,
	  "Looking",
	  "host|proxy|gvisor|engine | [agent] NAME",
	  "Print what the host, its parts, or an agent wrote",
	  NULL,
	  { O(FOLLOW) | O(TAIL) | O(QUIET), 1, 2, false },
	  { WORDS_LOG, WORDS_INSTANCE },
	  false,
	  cmd_logs },
	{ "stats",
	  NULL,
	  "Looking",
	  "[NAME...]",
	  "Show what instances use, again and again",
	  NULL,
	  { O(ONCE) | O(INTERVAL) | O_TALK, 0, MANY, false },
	  { WORDS_RUNNING, WORDS_RUNNING },
	  false,
	  cmd_stats },
	{ "top",
	  NULL,
	  "Looking",
	  "NAME",
	  "List the processes of a sandbox",
	  NULL,
	  { O_TALK, 1, 1, false },
	  { WORDS_RUNNING, WORDS_NONE },
	  false,
	  cmd_top },
	{ "df",
	  "space",
	  "Looking",
	  "",
	  "Show what takes room on the disk",
	  NULL,
	  { O_TALK, 0, 0, false },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_df },
	{ "start",
	  NULL,
	  "Host",
	  "",
	  "Start ac-host, with all it needs",
	  "Installs, builds and starts what is missing. Every command that "
	  "needs ac-host\ndoes the same by itself.",
	  { O_TALK, 0, 0, false },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_start },
	{ "stop",
	  NULL,
	  "Host",
	  "",
	  "Stop ac-host and what runs in it",
	  NULL,
	  { O_TALK, 0, 0, false },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_stop },
	{ "restart",
	  NULL,
	  "Host",
	  "",
	  "Stop ac-host and start it again",
	  NULL,
	  { O_TALK, 0, 0, false },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_restart },
	{ "status",
	  NULL,
	  "Host",
	  "",
	  "Show how ac-host is; 3 when it is down",
	  NULL,
	  { O_TALK, 0, 0, false },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_status },
	{ "doctor",
	  NULL,
	  "Host",
	  "",
	  "Check everything and say what to do; 1 when something is wrong",
	  NULL,
	  { O_TALK, 0, 0, false },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_doctor },
	{ "clean",
	  NULL,
	  "Cleaning up",
	  "NAME...",
	  "Wipe an instance's home with its credentials; keep its workspace",
	  "On a terminal it asks first, unless --yes or --force is given.",
	  { O(FORCE) | O(YES) | O_TALK, 1, MANY, false },
	  { WORDS_INSTANCE, WORDS_INSTANCE },
	  false,
	  cmd_clean },
	{ "destroy",
	  "rm",
	  "Cleaning up",
	  "NAME...",
	  "Delete an instance with its home and workspace",
	  "It asks first. One that runs wants --force beside --yes.\n"
	  "A directory given with --workspace is never deleted.",
	  { O(FORCE) | O(YES) | O(QUIET), 1, MANY, false },
	  { WORDS_INSTANCE, WORDS_INSTANCE },
	  false,
	  cmd_destroy },
	{ "clean-all",
	  NULL,
	  "Cleaning up",
	  "",
	  "Clean every instance that does not run",
	  NULL,
	  { O(FORCE) | O(YES) | O_TALK, 0, 0, false },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_clean_all },
	{ "destroy-all",
	  NULL,
	  "Cleaning up",
	  "",
	  "Destroy every instance that does not run",
	  NULL,
	  { O(FORCE) | O(YES) | O(QUIET), 0, 0, false },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_destroy_all },
	{ "down",
	  NULL,
	  "Cleaning up",
	  "",
	  "Remove ac-host, nested containers and caches; keep workspaces",
	  NULL,
	  { O(IMAGES) | O(YES) | O(QUIET), 0, 0, false },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_down },
	{ "version",
	  NULL,
	  "Other",
	  "",
	  "Print the version",
	  NULL,
	  { O_TALK, 0, 0, false },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_version },
	{ "help",
	  NULL,
	  "Other",
	  "[COMMAND]",
	  "Print help",
	  NULL,
	  { 0, 0, 1, false },
	  { WORDS_COMMAND, WORDS_NONE },
	  false,
	  cmd_help },
	{ "completion",
	  NULL,
	  "Other",
	  "bash|zsh|fish",
	  "Print a completion script for a shell",
	  "bash: eval \"$(ac completion bash)\"\n"
	  "zsh:  eval \"$(ac completion zsh)\"\n"
	  "fish: ac completion fish | source",
	  { 0, 1, 1, false },
	  { WORDS_SHELL, WORDS_NONE },
	  false,
	  cmd_completion },
	{ "__complete",
	  NULL,
	  NULL,
	  "-- WORDS...",
	  "Print what can stand in the place of the last word",
	  NULL,
	  { 0, 0, 0, true },
	  { WORDS_NONE, WORDS_NONE },
	  false,
	  cmd_complete },
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

static int dispatch_to(struct cli *cli, const struct command *cmd, int argc,
		       char **argv)
{
	struct err err = { 0 };
	struct args args;
	bool usage = false;
	int rc = args_parse(&cmd->rules, argc, argv, &args, &err);

	if (rc < 0) {
		usage = true;
	} else if (args_has(&args, ARG_HELP)) {
		help_command(stdout, cmd);
	} else {
		cli->json = args_has(&args, ARG_JSON);
		cli->quiet = args_has(&args, ARG_QUIET);
		rc = cmd->run(cli, &args, &err);
	}
	args_done(&args);
	if (rc < 0) {
		say_error("%s", err.msg);
		if (usage)
			say_error("`ac %s --help` tells how", cmd->name);
		rc = cmd->runs ? CLI_EXIT_RUN :
		     usage     ? CLI_EXIT_USAGE :
				 CLI_EXIT_FAIL;
	}
	return rc;
}

/* Edits (a letter more, less, or another) from @a to @b; both are short. */
static size_t distance(const char *a, const char *b)
{
	size_t row[GUESS_MAX + 1], n = strlen(b), i, j;

	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (j = 1; j <= n; j++) {
			size_t best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n];
}

/* Two neighbours changed places: the likeliest slip of all. */
static bool is_swap(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a && a[1] && a[0] == b[1] && a[1] == b[0] &&
	       strcmp(a + 2, b + 2) == 0;
}

const char *command_guess(const char *name)
{
	size_t len = strlen(name), best = len > 3 ? 3 : 2;
	const char *found = NULL;
	const struct command *c;

	for (c = commands; len <= GUESS_MAX && c->name; c++) {
		size_t d = !c->group              ? best :
			   is_swap(name, c->name) ? 0 :
						    distance(name, c->name);

		if (d < best) {
			best = d;
			found = c->name;
		}
	}
	return found;
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
		say_error("'%s' is an instance, and a command comes before it: "
			  "`ac run %s`, `ac shell %s`",
			  name, name, name);
	else if (guess)
		say_error("there is no command '%s'; did you mean `ac %s`?",
			  name, guess);
	else
		say_error("there is no command '%s'; `ac help` lists all",
			  name);
	return CLI_EXIT_USAGE;
}

int command_dispatch(struct cli *cli, int argc, char **argv)
{
	const struct command *cmd;
	const char *name = argc > 1 ? argv[1] : "";
	struct err err = { 0 };
	int rc;

	if (argc < 2) {
		help_overview(stderr);
		return CLI_EXIT_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = "version";
	cmd = command_find(name);
	if (!cmd)
		return unknown_command(cli, name);
	rc = dispatch_to(cli, cmd, argc - 2, argv + 2);
	if ((fflush(stdout) == EOF || ferror(stdout)) && rc == 0) {
		cli_stdout_failed(&err);
		say_error("%s", err.msg);
		rc = CLI_EXIT_FAIL;
	}
	return rc;
}
