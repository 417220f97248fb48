/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - the table of options
 */
#include "control/cli/core/options.h"

#include <string.h>

#include "lib/str.h"

const struct arg_option arg_options[ARG_MAX] = {
	[ARG_CPUS] = { "cpus", 0, ARG_MILLI, "N", "CPUs it may use (1.5)",
		       WORDS_NONE },
	[ARG_MEMORY] = { "memory", 'm', ARG_SIZE, "SIZE",
			 "memory it may use (512m, 2g)", WORDS_NONE },
	[ARG_GPUS] = { "gpus", 0, ARG_TEXT, "LIST",
		       "GPUs it may use: all, none or numbers (0,1)",
		       WORDS_NONE },
	[ARG_PIDS] = { "pids", 0, ARG_COUNT, "N", "processes it may have",
		       WORDS_NONE },
	[ARG_TIMEOUT] = { "timeout", 0, ARG_MS, "TIME",
			  "end it after this time (90s, 8h); exit code 124",
			  WORDS_NONE },
	[ARG_TTL] = { "ttl", 0, ARG_MS, "TIME",
		      "after this its run, home and log go (12h, 7d)",
		      WORDS_NONE },
	[ARG_IDLE] = { "idle", 0, ARG_MS, "TIME",
		       "stop it when nothing moved for so long (30m)",
		       WORDS_NONE },
	[ARG_HIBERNATE_AFTER] = { "hibernate-after", 0, ARG_MS, "TIME",
				  "hibernate when nothing moved for so long",
				  WORDS_NONE },
	[ARG_DISK] = { "disk", 0, ARG_SIZE, "SIZE",
		       "room for workspace and home together (10g)",
		       WORDS_NONE },
	[ARG_OUTPUT] = { "output", 0, ARG_SIZE, "SIZE",
			 "end it when it wrote so much (1g); exit code 124",
			 WORDS_NONE },
	[ARG_ENV] = { "env", 'e', ARG_TEXT, "NAME[=VALUE]",
		      "set a variable; without a value: yours", WORDS_NONE },
	[ARG_ENV_FILE] = { "env-file", 0, ARG_TEXT, "FILE",
			   "set the variables of a file, one NAME=VALUE a line",
			   WORDS_FILE },
	[ARG_ENV_CLEAR] = { "env-clear", 0, ARG_FLAG, NULL,
			    "forget the variables of earlier runs",
			    WORDS_NONE },
	[ARG_WORKDIR] = { "workdir", 'w', ARG_TEXT, "DIR",
			  "directory in the sandbox to start in", WORDS_NONE },
	[ARG_WORKSPACE] = { "workspace", 0, ARG_TEXT, "DIR[:MODE]",
			    "your directory to show at /workspace; MODE: copy "
			    "(default), live, ro",
			    WORDS_DIR },
	[ARG_ISOLATION] = { "isolation", 0, ARG_TEXT, "KIND",
			    "runsc (gVisor, the default) or crun",
			    WORDS_ISOLATION },
	[ARG_RUNTIME] = { "runtime", 0, ARG_TEXT, "KIND",
			  "who starts it: runsc (acd itself) or docker",
			  WORDS_RUNTIME },
	[ARG_EGRESS] = { "egress", 0, ARG_TEXT, "WORD[,WORD...]",
			 "what it reaches: locked, balanced, open, presets",
			 WORDS_EGRESS },
	[ARG_ALLOW] = { "allow", 0, ARG_TEXT, "HOST[:PORT]",
			"let it reach this host too, at port 443 or this one",
			WORDS_NONE },
	[ARG_DENY] = { "deny", 0, ARG_TEXT, "HOST[:PORT]",
		       "never let it reach this host, or this port of it",
		       WORDS_NONE },
	[ARG_USE_SERVICE] = { "service", 0, ARG_TEXT, "NAME",
			      "let it reach this one of `ac service`; none: "
			      "not one",
			      WORDS_SERVICE },
	[ARG_MODEL_URL] = { "model-url", 0, ARG_TEXT, "URL",
			    "ask a model here; none: as its blueprint says",
			    WORDS_NONE },
	[ARG_PUBLISH] = { "publish", 'p', ARG_TEXT, "[ADDR:]PORT[:PORT]",
			  "open a port: here, in it; none: publish nothing",
			  WORDS_NONE },
	[ARG_VOLUME] = { "volume", 0, ARG_TEXT, "NAME:/mnt/DIR[:ro]",
			 "show it one of `ac volume`; none: no volume",
			 WORDS_VOLUME_AT },
	[ARG_CREDENTIAL] = { "credential", 0, ARG_TEXT, "NAME",
			     "let it use one more of the vault's; none: not "
			     "one",
			     WORDS_CREDENTIAL },
	[ARG_SECRET] = { "secret", 0, ARG_TEXT, "NAME[:handover][=VAR]",
			 "the same, in VAR (NAME) alone; :handover: its value",
			 WORDS_CREDENTIAL },
	[ARG_BUILD] = { "build", 'b', ARG_FLAG, NULL,
			"build the image first, if its inputs changed",
			WORDS_NONE },
	[ARG_PROMPT] = { "prompt", 0, ARG_TEXT, "TEXT|-|@FILE",
			 "a task for an agent; prints its last message",
			 WORDS_NONE },
	[ARG_RESUME] = { "resume", 0, ARG_FLAG, NULL,
			 "let an agent go on with its last conversation",
			 WORDS_NONE },
	[ARG_DETACH] = { "detach", 'd', ARG_FLAG, NULL,
			 "leave it running and return at once", WORDS_NONE },
	[ARG_RM] = { "rm", 0, ARG_FLAG, NULL,
		     "remove the instance when the run ends", WORDS_NONE },
	[ARG_TTY] = { "tty", 't', ARG_FLAG, NULL,
		      "give it a terminal, whatever stdin and stdout are",
		      WORDS_NONE },
	[ARG_NO_TTY] = { "no-tty", 'T', ARG_FLAG, NULL,
			 "give it pipes, even here on a terminal", WORDS_NONE },
	[ARG_INTERACTIVE] = { "interactive", 'i', ARG_FLAG, NULL,
			      "pass stdin on, even a terminal or /dev/null",
			      WORDS_NONE },
	[ARG_DETACH_KEYS] = { "detach-keys", 0, ARG_TEXT, "KEYS",
			      "keys to leave it running (ctrl-p,ctrl-q)",
			      WORDS_NONE },
	[ARG_SIGNAL] = { "signal", 's', ARG_TEXT, "SIGNAL",
			 "which one, by name or number (TERM)", WORDS_NONE },
	[ARG_NO_CACHE] = { "no-cache", 0, ARG_FLAG, NULL, "do every step again",
			   WORDS_NONE },
	[ARG_FORCE] = { "force", 'f', ARG_FLAG, NULL,
			"stop what is running first", WORDS_NONE },
	[ARG_TAKE] = { "force", 'f', ARG_FLAG, NULL,
		       "take it from instances that do not run", WORDS_NONE },
	[ARG_LOOK] = { "force", 'f', ARG_FLAG, NULL,
		       "look at the image even if it was built since the start",
		       WORDS_NONE },
	[ARG_UPDATE] = { "update", 0, ARG_FLAG, NULL,
			 "build nothing; move what package.json or "
			 "requirements.in asks for to newer versions, and "
			 "show them",
			 WORDS_NONE },
	[ARG_YES] = { "yes", 'y', ARG_FLAG, NULL, "do not ask", WORDS_NONE },
	[ARG_IMAGES] = { "images", 0, ARG_FLAG, NULL,
			 "remove the nested images too", WORDS_NONE },
	[ARG_ALL] = { "all", 0, ARG_FLAG, NULL, "what was let through as well",
		      WORDS_NONE },
	[ARG_FOLLOW] = { "follow", 'f', ARG_FLAG, NULL, "go on as more comes",
			 WORDS_NONE },
	[ARG_LINKS] = { "follow", 'f', ARG_FLAG, NULL,
			"follow links in the path of --workspace", WORDS_NONE },
	[ARG_NO_PROJECT] = { "no-project", 0, ARG_FLAG, NULL,
			     "without the project's own .ac/blueprint.yaml",
			     WORDS_NONE },
	[ARG_TAIL] = { "tail", 'n', ARG_COUNT, "N",
		       "begin with the last N lines", WORDS_NONE },
	[ARG_GRACE] = { "grace", 0, ARG_MS, "TIME",
			"between the polite and the last signal (10s)",
			WORDS_NONE },
	[ARG_ONCE] = { "once", 0, ARG_FLAG, NULL, "one table, then exit",
		       WORDS_NONE },
	[ARG_INTERVAL] = { "interval", 0, ARG_MS, "TIME",
			   "between two looks (2s)", WORDS_NONE },
	[ARG_SINCE] = { "since", 0, ARG_TEXT, "TIME",
			"from then on: 24h ago, or 2026-01-31", WORDS_NONE },
	[ARG_NO_TRUNC] = { "no-trunc", 0, ARG_FLAG, NULL,
			   "cut nothing to the width of the terminal",
			   WORDS_NONE },
	[ARG_RUNNING] = { "running", 0, ARG_FLAG, NULL, "only what runs now",
			  WORDS_NONE },
	[ARG_RESOLVED] = { "resolved", 0, ARG_FLAG, NULL,
			   "with what it extends, and where each line is from",
			   WORDS_NONE },
	[ARG_FROM] = { "from", 0, ARG_TEXT, "PARENT",
		       "what the new one extends (base)", WORDS_BLUEPRINT },
	[ARG_OLDER] = { "older", 0, ARG_MS, "TIME",
			"only what stopped longer ago than this (12h, 7d)",
			WORDS_NONE },
	[ARG_DRY_RUN] = { "dry-run", 0, ARG_FLAG, NULL,
			  "print what would go, remove nothing", WORDS_NONE },
	[ARG_STAT] = { "stat", 0, ARG_FLAG, NULL,
		       "count the lines of each file", WORDS_NONE },
	[ARG_NAME_ONLY] = { "name-only", 0, ARG_FLAG, NULL,
			    "print the names of the files only", WORDS_NONE },
	[ARG_DRY_APPLY] = { "dry-run", 0, ARG_FLAG, NULL,
			    "print what would be done, change nothing",
			    WORDS_NONE },
	[ARG_THEIRS] = { "theirs", 0, ARG_FLAG, NULL,
			 "take the agent's version of what both have changed",
			 WORDS_NONE },
	[ARG_NO_MERGE] = { "no-merge", 0, ARG_FLAG, NULL,
			   "keep both versions of what both have changed",
			   WORDS_NONE },
	[ARG_UNDO] = { "undo", 0, ARG_FLAG, NULL, "take back the last apply",
		       WORDS_NONE },
	[ARG_LAST] = { "last", 0, ARG_FLAG, NULL,
		       "the host that was blocked last", WORDS_NONE },
	[ARG_INTO] = { "into", 0, ARG_TEXT, "DIR",
		       "into the repository of this directory", WORDS_DIR },
	[ARG_LIMIT] = { "limit", 0, ARG_SIZE, "SIZE",
			"refuse more from the sandbox than this (2g)",
			WORDS_NONE },
	[ARG_ONLY_SHOW] = { "dry-run", 0, ARG_FLAG, NULL,
			    "check and show all, change nothing here",
			    WORDS_NONE },
	[ARG_REMOVE] = { "remove", 0, ARG_FLAG, NULL,
			 "remove this snapshot instead", WORDS_NONE },
	[ARG_PROCESSES] = { "memory", 0, ARG_FLAG, NULL,
			    "with what runs in it, not its files alone",
			    WORDS_NONE },
	[ARG_FORKS] = { "count", 'n', ARG_COUNT, "N",
			"make N of each, named NEW-1, NEW-2, ... (1-64)",
			WORDS_NONE },
	[ARG_WRITE] = { "write", 0, ARG_FLAG, NULL,
			"keep it in a file, and print the line that includes "
			"it",
			WORDS_NONE },
	[ARG_AS] = { "as", 0, ARG_TEXT, "HOST",
		     "what sandboxes call it (NAME.internal)", WORDS_NONE },
	[ARG_PROTO] = { "proto", 0, ARG_TEXT, "PROTO",
			"what it speaks: http, tls, or any bytes: tcp",
			WORDS_PROTO },
	[ARG_STOP] = { "stop", 0, ARG_FLAG, NULL,
		       "serve it at the unix socket alone again", WORDS_NONE },
	[ARG_SCOPE] = { "scope", 0, ARG_TEXT, "SCOPE",
			"what it may: read, run, admin (run)", WORDS_NONE },
	[ARG_LASTS] = { "expires", 0, ARG_MS, "TIME",
			"it is refused after this (12h, 30d); else never",
			WORDS_NONE },
	[ARG_KIND] = { "kind", 0, ARG_TEXT, "KIND",
		       "what it is, when its shape does not tell (github)",
		       WORDS_SECRET },
	[ARG_HOST] = { "host", 0, ARG_TEXT, "HOST",
		       "may be sent to this host (again for more)",
		       WORDS_NONE },
	[ARG_FROM_FILE] = { "from-file", 0, ARG_TEXT, "FILE",
			    "read it from a file that only you can read",
			    WORDS_FILE },
	[ARG_FROM_ENV] = { "from-env", 0, ARG_TEXT, "VARIABLE",
			   "read it from your environment", WORDS_NONE },
	[ARG_FROM_CMD] = { "from-cmd", 0, ARG_TEXT, "COMMAND",
			   "read what this shell command prints", WORDS_NONE },
	[ARG_USER] = { "user", 0, ARG_TEXT, "USER",
		       "the user that belongs to it (Basic)", WORDS_NONE },
	[ARG_HEADER] = { "header", 0, ARG_TEXT, "NAME",
			 "is sent in this header", WORDS_NONE },
	[ARG_BASIC] = { "basic", 0, ARG_FLAG, NULL,
			"is sent as the password of --user", WORDS_NONE },
	[ARG_QUERY] = { "query", 0, ARG_TEXT, "NAME",
			"is sent in this parameter of the query", WORDS_NONE },
	[ARG_METHOD] = { "method", 0, ARG_TEXT, "METHOD",
			 "only with this method (again for more)", WORDS_NONE },
	[ARG_PATH] = { "path", 0, ARG_TEXT, "PATH",
		       "only below this path (/repos/me/*; again for more)",
		       WORDS_NONE },
	[ARG_BLUEPRINT] = { "blueprint", 0, ARG_TEXT, "BLUEPRINT",
			    "only for agents of it (again for more)",
			    WORDS_BLUEPRINT },
	[ARG_INSTANCE] = { "instance", 0, ARG_TEXT, "NAME",
			   "only for this instance (again for more; ci-*)",
			   WORDS_INSTANCE },
	[ARG_EXPIRES] = { "expires", 0, ARG_TEXT, "TIME",
			  "is refused after this (90d, 2031-12-24, never)",
			  WORDS_NONE },
	[ARG_ALLOW_CLASSIC] = { "allow-classic", 0, ARG_FLAG, NULL,
				"take a classic GitHub token all the same",
				WORDS_NONE },
	[ARG_HANDOVER] = { "allow-handover", 0, ARG_FLAG, NULL,
			   "a blueprint may hand the real value to its agent",
			   WORDS_NONE },
	[ARG_INSECURE] = { "insecure", 0, ARG_FLAG, NULL,
			   "send it to a service in plain http, too",
			   WORDS_NONE },
	[ARG_NOTE] = { "note", 0, ARG_TEXT, "TEXT", "a line for yourself",
		       WORDS_NONE },
	[ARG_ACCESS_KEY] = { "access-key", 0, ARG_TEXT, "ID",
			     "aws: the access key that belongs to it",
			     WORDS_NONE },
	[ARG_REGION] = { "region", 0, ARG_TEXT, "REGION",
			 "aws: the region to sign for", WORDS_NONE },
	[ARG_SERVICE] = { "service", 0, ARG_TEXT, "SERVICE",
			  "aws: the service to sign for (s3)", WORDS_NONE },
	[ARG_REPLACE] = { "replace", 0, ARG_FLAG, NULL,
			  "those that are there as well", WORDS_NONE },
	[ARG_JSON] = { "json", 0, ARG_FLAG, NULL, "print JSON", WORDS_NONE },
	[ARG_JSON_PROXY] = { "json", 0, ARG_FLAG, NULL,
			     "of proxy: print each line as it was written",
			     WORDS_NONE },
	[ARG_QUIET] = { "quiet", 'q', ARG_FLAG, NULL, "results and errors only",
			WORDS_NONE },
	[ARG_HELP] = { "help", 'h', ARG_FLAG, NULL, "print this help",
		       WORDS_NONE },
};

bool arg_set_meets(const struct arg_set *a, const struct arg_set *b)
{
	size_t i;

	for (i = 0; i < ARG_MAX; i++)
		if (a->has[i] && b->has[i])
			return true;
	return false;
}

enum arg_id arg_id_of(const struct arg_option *o)
{
	return (enum arg_id)(o - arg_options);
}

const struct arg_option *arg_find_long(const struct arg_set *set,
				       const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ARG_MAX; i++) {
		const struct arg_option *o = &arg_options[i];

		if (arg_set_takes(set, i) && strlen(o->name) == len &&
		    memcmp(o->name, name, len) == 0)
			return o;
	}
	return NULL;
}

const struct arg_option *arg_find_letter(const struct arg_set *set, char letter)
{
	size_t i;

	for (i = 0; i < ARG_MAX; i++)
		if (arg_set_takes(set, i) && arg_options[i].letter == letter &&
		    letter)
			return &arg_options[i];
	return NULL;
}

const struct arg_option *arg_find(const struct arg_set *set, const char *name)
{
	if (str_starts(name, "--"))
		return arg_find_long(set, name + 2, strlen(name + 2));
	if (name[0] == '-' && name[1] && !name[2])
		return arg_find_letter(set, name[1]);
	return NULL;
}
