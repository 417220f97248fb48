/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - the table of options, and sets of them
 *
 * One table serves all commands: an option means the same everywhere. Each
 * command has the set of those that it takes.
 */
#ifndef CONTROL_CLI_CORE_OPTIONS_H
#define CONTROL_CLI_CORE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum arg_id {
	ARG_CPUS,
	ARG_MEMORY,
	ARG_GPUS,
	ARG_PIDS,
	ARG_TIMEOUT,
	ARG_TTL,
	ARG_IDLE,
	ARG_HIBERNATE_AFTER,
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
	ARG_USE_SERVICE,
	ARG_MODEL_URL,
	ARG_PUBLISH,
	ARG_VOLUME,
	ARG_CREDENTIAL,
	ARG_SECRET,
	ARG_BUILD,
	ARG_PROMPT,
	ARG_RESUME,
	ARG_DETACH,
	ARG_RM,
	ARG_TTY,
	ARG_NO_TTY,
	ARG_INTERACTIVE,
	ARG_DETACH_KEYS,
	ARG_SIGNAL,
	ARG_NO_CACHE,
	ARG_FORCE,
	ARG_LOOK,
	ARG_UPDATE,
	ARG_YES,
	ARG_IMAGES,
	ARG_ALL,
	ARG_FOLLOW,
	ARG_LINKS,
	ARG_NO_PROJECT,
	ARG_TAIL,
	ARG_GRACE,
	ARG_ONCE,
	ARG_INTERVAL,
	ARG_SINCE,
	ARG_NO_TRUNC,
	ARG_RUNNING,
	ARG_RESOLVED,
	ARG_FROM,
	ARG_OLDER,
	ARG_DRY_RUN,
	/* of `ac diff` and `ac apply` */
	ARG_STAT,
	ARG_NAME_ONLY,
	ARG_DRY_APPLY,
	ARG_THEIRS,
	ARG_NO_MERGE,
	ARG_UNDO,
	ARG_LAST,
	/* of `ac fetch` */
	ARG_INTO,
	ARG_LIMIT,
	ARG_ONLY_SHOW,
	/* of `ac snapshot` and `ac fork` */
	ARG_REMOVE,
	ARG_FORKS,
	ARG_PROCESSES,
	/* of `ac ssh-config` */
	ARG_WRITE,
	/* of `ac service` */
	ARG_AS,
	ARG_PROTO,
	/* of `ac volume` */
	ARG_TAKE,
	/* of `ac serve` and `ac token` */
	ARG_STOP,
	ARG_E2B_ENV,
	ARG_SCOPE,
	ARG_LASTS,
	/* of `ac mcp` */
	ARG_TOOLS,
	ARG_USE_NAME,
	ARG_USE_SHELL,
	ARG_CALL_TIMEOUT,
	ARG_OUTPUT_LIMIT,
	ARG_ABOUT,
	ARG_ABOUT_MORE,
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
	ARG_INSECURE,
	ARG_NOTE,
	ARG_ACCESS_KEY,
	ARG_REGION,
	ARG_SERVICE,
	ARG_REPLACE,
	ARG_JSON,
	ARG_JSON_PROXY,
	ARG_QUIET,
	ARG_HELP,
	ARG_MAX
};

/* A set of options. Constants name them: ARG_SET(ARG_IN(JSON), ARG_IN(QUIET));
 * ARG_SET_NONE is empty. */
struct arg_set {
	bool has[ARG_MAX];
};

#define ARG_IN(name) [ARG_##name] = true
#define ARG_SET(...)                \
	{                           \
		{                   \
			__VA_ARGS__ \
		}                   \
	}
#define ARG_SET_NONE ARG_SET(false)

enum arg_kind { ARG_FLAG, ARG_TEXT, ARG_SIZE, ARG_MILLI, ARG_MS, ARG_COUNT };

/* Possible words, for shell completion. */
enum arg_words {
	WORDS_NONE,
	WORDS_INSTANCE,
	WORDS_SAVED, /* INSTANCE[:TAG] */
	WORDS_BLUEPRINT,
	WORDS_IMAGE,
	WORDS_DEFINITION, /* a local file, or a blueprint */
	WORDS_EITHER, /* instance or blueprint */
	WORDS_RUNNING, /* running instances */
	WORDS_LOG, /* host, proxy, gateway, gvisor, engine, agent, instances */
	WORDS_SHELL, /* bash, zsh, fish */
	WORDS_SCHEMA, /* blueprint, preset, policy, openapi */
	WORDS_COMMAND,
	WORDS_COPY, /* a local file, or INSTANCE: */
	WORDS_DIR,
	WORDS_FILE,
	WORDS_ISOLATION,
	WORDS_RUNTIME, /* that starts sandboxes */
	WORDS_EGRESS, /* modes and presets, separated by commas */
	WORDS_PRESET, /* presets of all kinds */
	WORDS_MODE, /* open, balanced, locked */
	WORDS_VERB, /* the second word of `ac policy`, `ac vault` … */
	WORDS_CREDENTIAL,
	WORDS_SERVICE, /* of the user's network */
	WORDS_VOLUME,
	WORDS_VOLUME_AT, /* NAME:/mnt/NAME */
	WORDS_PROTO, /* http, tls, tcp */
	WORDS_SECRET, /* kinds of credentials */
	WORDS_CONFIG, /* keys of config.yaml */
	WORDS_TOOLS, /* one, full */
};

struct arg_option {
	const char *name; /* without the dashes */
	char letter; /* 0: none; unique within one command */
	enum arg_kind kind;
	const char *value; /* its name in the help, NULL for flags */
	const char *help;
	enum arg_words words; /* completes the value */
};

extern const struct arg_option arg_options[ARG_MAX];

/* Returns true if a command with @set takes the option; all take --help. */
static inline bool arg_set_takes(const struct arg_set *set, size_t id)
{
	return id == ARG_HELP || set->has[id];
}

/* Returns true if an option is in both. */
bool arg_set_meets(const struct arg_set *a, const struct arg_set *b);

/* Return an option of a command with @set, by its long name (@len bytes,
 * without dashes) or by its letter, or NULL. */
const struct arg_option *arg_find_long(const struct arg_set *set,
				       const char *name, size_t len);
const struct arg_option *arg_find_letter(const struct arg_set *set,
					 char letter);

/* The same for @name with its dashes: "--cpus" or "-m". */
const struct arg_option *arg_find(const struct arg_set *set, const char *name);

/* Returns the option's index in the table. */
enum arg_id arg_id_of(const struct arg_option *o);

#endif
