/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - the command line: options once for all commands, a table of these
 */
#ifndef OTTERGATE_RUN_CLI_H
#define OTTERGATE_RUN_CLI_H

#include "ottergate/admin.h"
#include "ottergate/run/gate.h"

/* Exit codes. */
#define CLI_FAILED 1
#define CLI_USAGE 2
#define CLI_DENIED 3 /* `check`: 0 is allowed */

#define CLI_WORDS_MAX 256u

struct cli {
	struct gate_opts gate;
	const char *agent; /* --as, --agent */
	const char *since; /* seconds since the epoch */
	bool json, explain, resolve, check, help, version, log_json, debug;
	const char *words[CLI_WORDS_MAX + 1]; /* NULL-terminated */
	size_t n_words;
};

/* Runs the program; its exit code. */
int cli_main(int argc, char **argv);

/* The commands return an exit code, or -errno with @err. words[0] is the first
 * one after the command's name. */
typedef int (*cli_fn)(const struct cli *cli, struct err *err);

/* cli_offline.c: need no running gateway. */
int cli_lint(const struct cli *cli, struct err *err);
int cli_check(const struct cli *cli, struct err *err);
int cli_show(const struct cli *cli, struct err *err);
int cli_verify(const struct cli *cli, struct err *err);
int cli_observe(const struct cli *cli, struct err *err);
int cli_model_usage(const struct cli *cli, struct err *err);

/* cli_client.c: ask one. */
int cli_ping(const struct cli *cli, struct err *err);
int cli_stats(const struct cli *cli, struct err *err);
int cli_metrics(const struct cli *cli, struct err *err);
int cli_connections(const struct cli *cli, struct err *err);
int cli_reload(const struct cli *cli, struct err *err);
int cli_bind(const struct cli *cli, struct err *err);
int cli_unbind(const struct cli *cli, struct err *err);
int cli_follow(const struct cli *cli, struct err *err);
/* The whole answer to one request into @out. */
int cli_ask(const struct cli *cli, enum admin_verb verb, const char *a,
	    struct slice b, struct buf *out, struct err *err);

#endif
