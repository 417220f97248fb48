/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h - options and words of a command line; pure but for env files
 *
 * Options (options.h) may stand before, between and after the words. What
 * follows "--", or begins with the first word too many, is the command to run
 * in the sandbox.
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

struct args {
	struct arg_set given; /* the options that were there, but --help */
	bool help;
	uint64_t cpus_milli, memory, pids, timeout_ms; /* bytes, ms */
	uint64_t ttl_ms, idle_ms, disk, output;
	uint64_t tail, grace_ms, interval_ms, older_ms;
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
	struct arg_set options; /* --help is always taken */
	unsigned words_min, words_max;
	bool takes_cmd;
};

static inline bool args_has(const struct args *a, enum arg_id id)
{
	return id == ARG_HELP ? a->help : a->given.has[id];
}

/*
 * @argv begins after the command's name and is borrowed by @ret. -EINVAL
 * with a message for the user; -ENODATA: words are missing. With --help the
 * count of words is not checked. Release with args_done() whatever the result.
 */
int args_parse(const struct args_rules *rules, int argc, char **argv,
	       struct args *ret, struct err *err);
void args_done(struct args *a);

/* As if the option had been there with @value. -EINVAL. */
int args_give(struct args *a, enum arg_id id, const char *value,
	      struct err *err);

#endif
