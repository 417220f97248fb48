/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h - parses a command line's options and words; reads env files, else
 * without side effects
 *
 * Options (options.h) may stand before, between and after the words. What
 * follows "--", or the last word that the command takes, is the command to run
 * in the sandbox. For a command that takes --workspace, a word that is a path is
 * that directory, and the last word that it takes; with --no-project among its
 * options, it may be the only one.
 */
#ifndef CONTROL_CLI_CORE_ARGS_H
#define CONTROL_CLI_CORE_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "control/cli/core/options.h"
#include "control/cli/core/reach.h"
#include "lib/err.h"
#include "lib/str.h"

#define ARGS_WORDS_MAX 64u

struct args_vault {
	const char *kind, *from_file, *from_env, *from_cmd, *user, *header;
	const char *query, *expires, *note, *access_key, *region, *service;
	struct strv hosts, methods, paths, blueprints, instances;
};

struct args_mcp {
	const char *tools, *name, *shell, *about, *about_more;
	uint64_t timeout_ms, output_limit;
};

struct args {
	struct arg_set given; /* options that were given, except --help */
	bool help;
	uint64_t cpus_milli, memory, pids, timeout_ms; /* bytes, ms */
	uint64_t ttl_ms, idle_ms, hibernate_ms, disk, output;
	uint64_t tail, grace_ms, interval_ms, older_ms;
	const char *gpus, *workdir, *workspace, *isolation, *runtime;
	const char *detach_keys, *signal, *prompt;
	const char *since, *from;
	const char *as, *proto; /* of a service */
	const char *into; /* of a fetch */
	uint64_t limit;
	uint64_t forks; /* of each name */
	const char *scope; /* of a token */
	uint64_t lasts_ms; /* likewise */
	struct strv env; /* "NAME=value", also from files, in order */
	struct strv credentials, secrets; /* as given */
	struct strv publish; /* as given; "none" alone: none any more */
	struct strv volumes; /* likewise */
	struct reach reach;
	struct args_vault vault;
	struct args_mcp mcp;
	const char *words[ARGS_WORDS_MAX];
	size_t n_words;
	char *dir; /* a word that is a path, with ~/ replaced; NULL: none */
	char **cmd; /* in argv, NULL-terminated */
	size_t n_cmd;
};

struct args_rules {
	struct arg_set options; /* that the command takes, besides --help */
	unsigned words_min, words_max;
	bool takes_cmd;
};

static inline bool args_has(const struct args *a, enum arg_id id)
{
	return id == ARG_HELP ? a->help : a->given.has[id];
}

/* Returns the length of @word without the mode of a directory behind it (":copy",
 * ":live", ":ro"), and sets *ret_mode to that, without the colon; "": none. Both
 * are static. */
size_t args_dir_mode(const char *word, const char **ret_mode);
/* Returns true if a word can only be a path: ".", "..", or one that begins with
 * "/", "./", "../" or "~/"; each also with ":copy", ":live" or
 * ":ro" behind it. */
bool args_is_path(const char *word);

/*
 * Parses @argv, which begins after the command's name and is borrowed by @ret.
 * Returns 0; -EINVAL with a message for the user; -ENODATA if words are
 * missing; another negative errno. With --help the number of words is not
 * checked. The caller calls args_done() in any case.
 */
int args_parse(const struct args_rules *rules, int argc, char **argv,
	       struct args *ret, struct err *err);
void args_done(struct args *a);

/* Adds an option with @value as if it had been given. Returns 0, -EINVAL or
 * -ENOMEM. */
int args_give(struct args *a, enum arg_id id, const char *value,
	      struct err *err);

#endif
