/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h - options and words of a command line; pure but for env files
 *
 * One table of options serves all commands: an option means the same
 * everywhere, and each command says which of them it takes. Options may
 * stand before, between and after the words. What follows "--", or begins
 * with the first word too many, is the command to run in the sandbox.
 */
#ifndef CONTROL_CLI_ARGS_H
#define CONTROL_CLI_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "control/cli/reach.h"
#include "lib/err.h"
#include "lib/str.h"

enum arg_id {
	ARG_CPUS,
	ARG_MEMORY,
	ARG_GPUS,
	ARG_PIDS,
	ARG_TIMEOUT,
	ARG_TTL,
	ARG_IDLE,
	ARG_DISK,
	ARG_OUTPUT,
	ARG_ENV,
	ARG_ENV_FILE,
	ARG_ENV_CLEAR,
	ARG_WORKDIR,
	ARG_WORKSPACE,
	ARG_ISOLATION,
	ARG_RUNTIME,
	ARG_EGRESS,
	ARG_ALLOW,
	ARG_DENY,
	ARG_CREDENTIAL,
	ARG_SECRET,
	ARG_BUILD,
	ARG_DETACH,
	ARG_RM,
	ARG_TTY,
	ARG_NO_TTY,
	ARG_INTERACTIVE,
	ARG_DETACH_KEYS,
	ARG_SIGNAL,
	ARG_NO_CACHE,
	ARG_FORCE,
	ARG_YES,
	ARG_IMAGES,
	ARG_ALL,
	ARG_FOLLOW,
	ARG_TAIL,
	ARG_GRACE,
	ARG_ONCE,
	ARG_INTERVAL,
	ARG_SINCE,
	ARG_NO_TRUNC,
	/* of `ac vault` */
	ARG_KIND,
	ARG_HOST,
	ARG_FROM_FILE,
	ARG_FROM_ENV,
	ARG_FROM_CMD,
	ARG_USER,
	ARG_HEADER,
	ARG_BASIC,
	ARG_QUERY,
	ARG_METHOD,
	ARG_PATH,
	ARG_BLUEPRINT,
	ARG_INSTANCE,
	ARG_EXPIRES,
	ARG_ALLOW_CLASSIC,
	ARG_HANDOVER,
	ARG_NOTE,
	ARG_ACCESS_KEY,
	ARG_REGION,
	ARG_SERVICE,
	ARG_REPLACE,
	ARG_JSON,
	ARG_QUIET,
	ARG_HELP,
	ARG_MAX
};

/* --help has none: every command takes it. */
#define ARG_BIT(id) ((id) == ARG_HELP ? UINT64_C(0) : UINT64_C(1) << ((id)&63))

enum arg_kind { ARG_FLAG, ARG_TEXT, ARG_SIZE, ARG_MILLI, ARG_MS, ARG_COUNT };

/* What can stand there, for shell completion. */
enum arg_words {
	WORDS_NONE,
	WORDS_INSTANCE,
	WORDS_BLUEPRINT,
	WORDS_EITHER, /* instance or blueprint */
	WORDS_RUNNING, /* instances that run */
	WORDS_LOG, /* host, proxy, gateway, gvisor, engine, agent, instances */
	WORDS_SHELL, /* bash, zsh, fish */
	WORDS_COMMAND,
	WORDS_COPY, /* a file here, or INSTANCE: */
	WORDS_DIR,
	WORDS_FILE,
	WORDS_ISOLATION,
	WORDS_RUNTIME, /* who starts sandboxes */
	WORDS_EGRESS, /* modes and presets, by commas */
	WORDS_MODE, /* open, balanced, locked */
	WORDS_VERB, /* the second word of `ac policy`, `ac vault` */
	WORDS_CREDENTIAL,
	WORDS_SECRET, /* kinds of credentials */
	WORDS_CONFIG, /* keys of config.yaml */
};

struct arg_option {
	const char *name; /* without the dashes */
	char letter; /* 0: none; unique among those of one command */
	enum arg_kind kind;
	const char *value; /* what help calls the value, NULL for flags */
	const char *help;
	enum arg_words words; /* completes the value */
};

extern const struct arg_option arg_options[ARG_MAX];

#define ARGS_WORDS_MAX 64u

struct args_vault {
	const char *kind, *from_file, *from_env, *from_cmd, *user, *header;
	const char *query, *expires, *note, *access_key, *region, *service;
	struct strv hosts, methods, paths, blueprints, instances;
};

struct args {
	uint64_t given; /* ARG_BIT of each option that was there */
	bool help;
	uint64_t cpus_milli, memory, pids, timeout_ms; /* bytes, ms */
	uint64_t ttl_ms, idle_ms, disk, output;
	uint64_t tail, grace_ms, interval_ms;
	const char *gpus, *workdir, *workspace, *isolation, *runtime;
	const char *detach_keys, *signal;
	const char *since;
	struct strv env; /* "NAME=value", those of files too, in order */
	struct strv credentials, secrets; /* as given */
	struct reach reach;
	struct args_vault vault;
	const char *words[ARGS_WORDS_MAX];
	size_t n_words;
	char **cmd; /* borrowed from argv, NULL-terminated */
	size_t n_cmd;
};

struct args_rules {
	uint64_t options; /* ARG_BITs; --help is always taken */
	unsigned words_min, words_max;
	bool takes_cmd;
};

static inline bool args_has(const struct args *a, enum arg_id id)
{
	return id == ARG_HELP ? a->help : (a->given & ARG_BIT(id)) != 0;
}

/* Does a command that takes @options take this one? */
static inline bool args_takes(uint64_t options, size_t id)
{
	return id == ARG_HELP || (options & ARG_BIT(id)) != 0;
}

/*
 * @argv begins after the command's name and is borrowed by @ret. -EINVAL
 * with a message for the user; -ENODATA: words are missing. With --help the count of words is not
 * checked. Release with args_done() whatever the result.
 */
int args_parse(const struct args_rules *rules, int argc, char **argv,
	       struct args *ret, struct err *err);
void args_done(struct args *a);

/* As if the option had been there with @value. -EINVAL. */
int args_give(struct args *a, enum arg_id id, const char *value,
	      struct err *err);

/* The option that @name (with its dashes, "--cpus" or "-m") is for a command
 * that takes @options; NULL when it is none of them. */
const struct arg_option *args_find(uint64_t options, const char *name);

#endif
