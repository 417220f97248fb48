/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.c - the one table of commands
 */
#include "control/cli/commands.h"

#include "control/cli/cmd/program/access.h"
#include "control/cli/cmd/agents.h"
#include "control/cli/cmd/cp/cp.h"
#include "control/cli/cmd/discard.h"
#include "control/cli/cmd/doctor.h"
#include "control/cli/cmd/fetch.h"
#include "control/cli/cmd/apply.h"
#include "control/cli/cmd/diff.h"
#include "control/cli/cmd/up_down.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/cmd/life.h"
#include "control/cli/cmd/logs.h"
#include "control/cli/cmd/program/mcp.h"
#include "control/cli/cmd/policy/policy.h"
#include "control/cli/cmd/port.h"
#include "control/cli/cmd/prune.h"
#include "control/cli/cmd/run.h"
#include "control/cli/cmd/schema.h"
#include "control/cli/cmd/snapshot/snapshot.h"
#include "control/cli/cmd/ssh.h"
#include "control/cli/cmd/stats.h"
#include "control/cli/complete.h"
#include "control/cli/help.h"
#include "control/cli/cmd/top.h"
#include "control/cli/cmd/update/update.h"

#define O(name) ARG_IN(name)
#define O_LIMITS                                                        \
	O(CPUS), O(MEMORY), O(GPUS), O(PIDS), O(ISOLATION), O(RUNTIME), \
		O(DISK), O(OUTPUT), O(TTL), O(IDLE), O(HIBERNATE_AFTER)
#define O_STDIO O(TTY), O(NO_TTY), O(INTERACTIVE), O(DETACH_KEYS)
#define O_PROCESS O(TIMEOUT), O(ENV), O(ENV_FILE), O(WORKDIR)
#define O_TALK O(JSON), O(QUIET)
#define O_SHELL                                                          \
	O_LIMITS, O_STDIO, O_PROCESS, O_TALK, O(WORKSPACE), O(LINKS),    \
		O(NO_PROJECT), O(BUILD), O(RM), O(ENV_CLEAR), O(EGRESS), \
		O(ALLOW), O(DENY), O(USE_SERVICE), O(MODEL_URL),         \
		O(CREDENTIAL), O(SECRET), O(PUBLISH), O(VOLUME), O(DETACH)
#define O_RUN O_SHELL, O(PROMPT), O(RESUME)
#define O_MCP                                                                  \
	O(TOOLS), O(USE_NAME), O(USE_SHELL), O(CALL_TIMEOUT), O(OUTPUT_LIMIT), \
		O(ABOUT), O(ABOUT_MORE), O(CPUS), O(MEMORY), O(GPUS), O(PIDS), \
		O(ISOLATION), O(RUNTIME), O(DISK), O(TTL), O(IDLE), O(ENV),    \
		O(ENV_FILE), O(WORKDIR), O(WORKSPACE), O(LINKS), O(EGRESS),    \
		O(ALLOW), O(DENY), O(USE_SERVICE), O(CREDENTIAL), O(SECRET),   \
		O(VOLUME), O(QUIET)
#define MANY ARGS_WORDS_MAX
#define RUN_WORDS "BLUEPRINT|NAME|DIR [NAME] [DIR] [-- COMMAND...]"

static const char names_help[] =
	"With one word: an instance that exists; or a blueprint, "
	"then the instance is\n"
	"<blueprint>_session; or a new name with a blueprint's name "
	"in it. A name of\n"
	"one character gets a _ appended. DIR is a path (., .., /…, "
	"./…, ../…, ~/…):\n"
	"your directory, shown at /workspace: as a copy, whose "
	"changes stay with the\n"
	"instance until `ac apply`; DIR:live is the directory itself, "
	"DIR:ro read-only.\n"
	"With a blueprint and no name, the\n"
	"instance is the blueprint's one for that directory: "
	"<blueprint>-<its last\n"
	"part>, with -2 or more if that is another's. DIR alone is "
	"run as its\n"
	".ac/blueprint.yaml says, which is asked about first. "
	"Limits, --env, the\n"
	"directory, credentials and what it may reach stay with the "
	"instance; the rest\n"
	"holds for this time. Variables and credentials are added to "
	"those it has; a\n"
	"limit of 0 is what its blueprint says. Where the blueprint "
	"says `args: append`,\n"
	"COMMAND follows its own.";

const struct command commands[] = {
	{ .name = "run",
	  .group = "Agents",
	  .words = RUN_WORDS,
	  .summary = "Run an agent, or a command, in its sandbox",
	  .more = names_help,
	  .rules = { ARG_SET(O_RUN), 1, 2, true },
	  .complete = { WORDS_EITHER, WORDS_INSTANCE },
	  .runs = true,
	  .run = cmd_run },
	{ .name = "shell",
	  .group = "Agents",
	  .words = RUN_WORDS,
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
	{ .name = "hibernate",
	  .group = "Agents",
	  .words = "NAME...",
	  .summary = "Write a sandbox's memory to the disk until it is used",
	  .more = "Its processes go on where they were with the next command "
		  "for it, with input or\n`ac resume`. Their connections end. "
		  "Its time limits stand still, not its --ttl.\nWhen the host "
		  "stops, its processes are gone; its files are not.",
	  .rules = { ARG_SET(O_TALK), 1, MANY, false },
	  .complete = { WORDS_RUNNING, WORDS_RUNNING },
	  .run = cmd_hibernate },
	{ .name = "resume",
	  .group = "Agents",
	  .words = "NAME...",
	  .summary = "Let go on what was paused or hibernates",
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
	{ .name = "fetch",
	  .group = "Agents",
	  .words = "NAME",
	  .summary = "Fetch the commits of a sandbox into your git repository",
	  .more = "Its branches become refs/remotes/ac/NAME/*: git log "
		  "ac/NAME/main,\ngit merge ac/NAME/main. They come from "
		  "/workspace, or --workdir, and go to your\ndirectory that "
		  "it has a copy of, or to --into. Each object is checked, "
		  "and\nnothing of the sandbox's is run here. One that does "
		  "not run is started for this.\n"
		  "  ac fetch work && git diff main ac/work/main\n"
		  "  ac fetch job -w /workspace/lib --into ~/src/lib",
	  .rules = { ARG_SET(O(INTO), O(WORKDIR), O(LIMIT), O(ONLY_SHOW),
			     O_TALK),
		     1, 1, false },
	  .complete = { WORDS_INSTANCE },
	  .run = cmd_fetch },
	{ .name = "diff",
	  .group = "Agents",
	  .words = "NAME [PATH...] | NAME NAME [-- PATH...]",
	  .summary =
		  "Show what an agent has changed in its copy of a directory",
	  .more = "Like git diff, of your directory as it is now; with two "
		  "instances, of what\nthe first and the second have. PATH "
		  "begins here, or in the workspace if you are\nelsewhere. "
		  "Files that make your own programs run code are named "
		  "first.\n"
		  "  ac diff claude_session --stat\n"
		  "  ac diff claude_session src",
	  .rules = { ARG_SET(O(STAT), O(NAME_ONLY), O_TALK), 1, MANY, true },
	  .complete = { WORDS_INSTANCE, WORDS_FILE },
	  .run = cmd_diff },
	{ .name = "apply",
	  .group = "Agents",
	  .words = "NAME [PATH...]",
	  .summary = "Take an agent's changes over into your directory",
	  .more = "A file that you have changed too is merged, if git has it "
		  "as it was when the\nagent began. Else yours stays, and the "
		  "agent's is put beside it as FILE.ac-NAME.\nIt exits with 1 "
		  "if conflicts are left. Nothing in a .git is ever applied.\n"
		  "If it is interrupted, the same command finishes it. --undo "
		  "takes the last one\nback.\n"
		  "  ac apply claude_session --dry-run\n"
		  "  ac apply claude_session src docs/a.md\n"
		  "`ac discard NAME` drops what is left.",
	  .rules = { ARG_SET(O(DRY_APPLY), O(THEIRS), O(NO_MERGE), O(UNDO),
			     O(YES), O_TALK),
		     1, MANY, true },
	  .complete = { WORDS_INSTANCE, WORDS_FILE },
	  .run = cmd_apply },
	{ .name = "snapshot",
	  .group = "Agents",
	  .words = "NAME [TAG]",
	  .summary = "Keep an instance's files as they are now",
	  .more = "Its home, its own workspace, its changes in a copy of your "
		  "directory. What runs\nis frozen meanwhile, and kept as well "
		  "with --memory. Without TAG it is named by\nthe time; of "
		  "those, 5 are kept.\n"
		  "  ac snapshot --remove claude_session:TAG",
	  .rules = { ARG_SET(O(REMOVE), O(PROCESSES), O_TALK), 1, 2, false },
	  .complete = { WORDS_SAVED },
	  .run = cmd_snapshot },
	{ .name = "restore",
	  .group = "Agents",
	  .words = "NAME[:TAG]",
	  .summary = "Put the files of a snapshot back; the latest without TAG",
	  .more = "The instance must not run. What it has now becomes its "
		  "snapshot before-restore.\nWith --memory what ran then goes "
		  "on, detached, if the snapshot has it.",
	  .rules = { ARG_SET(O(YES), O(PROCESSES), O_TALK), 1, 2, false },
	  .complete = { WORDS_SAVED },
	  .run = cmd_restore },
	{ .name = "fork",
	  .group = "Agents",
	  .words = "NAME[:TAG] NEW...",
	  .summary = "Make instances with a copy of an instance's files",
	  .more = "With its options, but for published ports. With --memory "
		  "what runs\ngoes on in each, detached; network connections "
		  "do not.\n"
		  "  ac fork claude_session try -n 3; ac run try-1\n"
		  "  ac fork --memory claude_session try; ac attach try",
	  .rules = { ARG_SET(O(FORKS), O(PROCESSES), O_TALK), 2, ARGS_WORDS_MAX,
		     false },
	  .complete = { WORDS_SAVED },
	  .run = cmd_fork },
	{ .name = "build",
	  .group = "Agents",
	  .words = "BLUEPRINT...",
	  .summary = "Build the image of a blueprint, if its inputs changed",
	  .rules = { ARG_SET(O(NO_CACHE), O(LOOK), O(UPDATE), O_TALK), 1, MANY,
		     false },
	  .complete = { WORDS_BLUEPRINT, WORDS_BLUEPRINT },
	  .run = cmd_build_or_update },
	{ .name = "snapshots",
	  .group = "Looking",
	  .words = "[NAME]",
	  .summary = "List the snapshots of an instance, or of all",
	  .rules = { ARG_SET(O_TALK), 0, 1, false },
	  .complete = { WORDS_INSTANCE },
	  .run = cmd_snapshots },
	{ .name = "agents",
	  .group = "Looking",
	  .words = "",
	  .summary = "List the agents: their image, and the credentials they "
		     "need",
	  .more = "A blueprint is an agent if it appends words to its command "
		  "or has a headless\ncommand. (yes) and (no) say whether the "
		  "vault has the credential.",
	  .rules = { ARG_SET(O(NO_TRUNC), O_TALK), 0, 0, false },
	  .run = cmd_agents },
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
	{ .name = "ssh-config",
	  .group = "Agents",
	  .words = "[NAME...]",
	  .summary = "Print entries for ssh, by which editors reach sandboxes",
	  .more = "ssh NAME.ac, scp, sftp, rsync and the remote modes of "
		  "editors then use `ac`: no\nport is opened, and the sandbox "
		  "gets no key of yours. Without NAME it serves all\n"
		  "instances, also later ones without a dot in the name.\n"
		  "  ac ssh-config --write   prints the line for "
		  "~/.ssh/config\n"
		  "  ssh work.ac\n"
		  "  rsync -a work.ac:src/ src/",
	  .rules = { ARG_SET(O(WRITE), O(QUIET)), 0, MANY, false },
	  .complete = { WORDS_INSTANCE, WORDS_INSTANCE },
	  .run = cmd_ssh_config },
	{ .name = "ssh-proxy",
	  .words = "NAME[.ac]",
	  .summary = "Speak SSH for a sandbox on stdin and stdout, to your ssh",
	  .more = "The entries of `ac ssh-config` start it.",
	  .rules = { ARG_SET_NONE, 1, 1, false },
	  .complete = { WORDS_NONE },
	  .runs = true,
	  .run = cmd_ssh_proxy },
	{ .name = "port",
	  .group = "Looking",
	  .words = "NAME",
	  .summary = "List the ports of a sandbox that this machine has open",
	  .more = "With --publish it opens more, at once if it runs, or none; "
		  "they are kept for\nlater runs.",
	  .rules = { ARG_SET(O(PUBLISH), O_TALK), 1, 1, false },
	  .complete = { WORDS_INSTANCE },
	  .run = cmd_port },
	{ .name = "open",
	  .group = "Looking",
	  .words = "NAME PORT",
	  .summary = "Print the URL of a published port, for a browser",
	  .more = "PORT is the one in the sandbox, or else that of this "
		  "machine. If it is not\npublished, it is.",
	  .rules = { ARG_SET(O_TALK), 2, 2, false },
	  .complete = { WORDS_RUNNING },
	  .run = cmd_open },
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
	{ .name = "images",
	  .group = "Looking",
	  .words = "[COMMAND]",
	  .summary = "Show and remove images, and list what is in them",
	  .more = "Without COMMAND it is ls.",
	  .complete = { WORDS_VERB },
	  .verbs = images_verbs,
	  .lone = "ls" },
	{ .name = "blueprint",
	  .group = "Agents",
	  .words = "COMMAND",
	  .summary = "Show and check the definitions of agents",
	  .complete = { WORDS_VERB },
	  .verbs = blueprint_verbs },
	{ .name = "policy",
	  .group = "Agents",
	  .words = "COMMAND",
	  .summary = "Show and change what instances may reach",
	  .complete = { WORDS_VERB },
	  .verbs = policy_verbs },
	{ .name = "service",
	  .group = "Agents",
	  .words = "COMMAND",
	  .summary = "Name what runs in your own network, for instances",
	  .complete = { WORDS_VERB },
	  .verbs = service_verbs },
	{ .name = "volume",
	  .group = "Agents",
	  .words = "COMMAND",
	  .summary = "Keep directories that instances share",
	  .complete = { WORDS_VERB },
	  .verbs = volume_verbs },
	{ .name = "presets",
	  .group = "Agents",
	  .words = "[COMMAND]",
	  .summary = "Show what policies and blueprints may use by name",
	  .more = "Without COMMAND it is ls.",
	  .complete = { WORDS_VERB },
	  .verbs = presets_verbs,
	  .lone = "ls" },
	{ .name = "vault",
	  .group = "Agents",
	  .words = "COMMAND",
	  .summary = "Keep credentials that agents may use but never see",
	  .complete = { WORDS_VERB },
	  .verbs = vault_verbs },
	{ .name = "mcp",
	  .group = "Programs",
	  .words = "[BLUEPRINT] [DIR]",
	  .summary = "Serve an MCP client: a tool that runs its commands",
	  .more = mcp_help,
	  .rules = { ARG_SET(O_MCP), 0, 1, false },
	  .complete = { WORDS_BLUEPRINT },
	  .run = cmd_mcp },
	{ .name = "serve",
	  .group = "Programs",
	  .words = "[[ADDRESS:]PORT]",
	  .summary = "Serve the HTTP API over TCP, for programs with a token",
	  .more = serve_help,
	  .rules = { ARG_SET(O(STOP), O(E2B_ENV), O_TALK), 0, 1, false },
	  .run = cmd_serve },
	{ .name = "token",
	  .group = "Programs",
	  .words = "COMMAND",
	  .summary = "Make and remove tokens for the API over TCP",
	  .complete = { WORDS_VERB },
	  .verbs = token_verbs },
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
	{ .name = "discard",
	  .group = "Cleaning up",
	  .words = "NAME...",
	  .summary = "Drop what an instance has changed in its copy of your "
		     "directory",
	  .more = "It asks first, and wants --yes without a terminal. An "
		  "instance that runs is\n"
		  "refused: stop it first. Your directory stays as it is; what "
		  "`ac apply` brought\n"
		  "there stays too.",
	  .rules = { ARG_SET(O(YES), O_TALK), 1, MANY, false },
	  .complete = { WORDS_INSTANCE, WORDS_INSTANCE },
	  .run = cmd_discard },
	{ .name = "destroy",
	  .alias = "rm",
	  .group = "Cleaning up",
	  .words = "NAME...",
	  .summary = "Delete an instance, its home, workspace and snapshots",
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
	{ .name = "schema",
	  .group = "Other",
	  .words = "blueprint|preset|policy|openapi",
	  .summary = "Print what such a file, or the API, may have",
	  .more = "blueprint, preset, policy: a JSON Schema, with which an "
		  "editor checks the\nfiles. preset: those of prompts; the "
		  "others are policies.\n"
		  "openapi: the HTTP API of acd, as an OpenAPI 3.1 document.",
	  .rules = { ARG_SET(O_TALK), 1, 1, false },
	  .complete = { WORDS_SCHEMA },
	  .run = cmd_schema },
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
