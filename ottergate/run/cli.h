/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - the command line: common options and a table of commands
 */
#ifndef OTTERGATE_RUN_CLI_H
#define OTTERGATE_RUN_CLI_H

#include "ottergate/admin.h"
#include "ottergate/run/gate.h"

/* Exit codes. */
#define CLI_FAILED 1
#define CLI_USAGE 2
#define CLI_DENIED 3 /* `check`: denied (0: allowed) */

#define CLI_WORDS_MAX 256u

/* The parsed command line; all pointers are borrowed. */
struct cli {
	struct gate_opts gate;
	const char *agent; /* --as, --agent */
	const char *since; /* seconds since 1970 */
	const char *called; /* PATH=NAME */
	bool json, explain, resolve, check, help, version, log_json, debug;
	const char *words[CLI_WORDS_MAX + 1]; /* NULL-terminated */
	size_t n_words;
};

/* Runs the program and reports errors. Returns its exit code. */
int cli_main(int argc, char **argv);

/* A command; prints its answer on stdout. cli->words[0] is the first word after
 * the command's name. Returns an exit code, mostly 0. Fails with a negative
 * errno and @err, which the caller reports. */
typedef int (*cli_fn)(const struct cli *cli, struct err *err);

/* cli_offline.c: these need no running gateway, but cli_check() and cli_show()
 * ask one if neither --policy nor --agents was given. */
/* Checks files. Returns CLI_FAILED if the linter found an error. */
int cli_lint(const struct cli *cli, struct err *err);
/* Prints the verdict on a URL. Returns CLI_DENIED if it is denied, and
 * CLI_USAGE if the word is no URL. */
int cli_check(const struct cli *cli, struct err *err);
/* Prints the effective policy of a sandbox, or the built-in denials. */
int cli_show(const struct cli *cli, struct err *err);
/* Verifies the chain of an audit; -EBADMSG if it does not hold. */
int cli_verify(const struct cli *cli, struct err *err);
/* Prints the schema of policy files. */
int cli_schema(const struct cli *cli, struct err *err);
/* Print a policy made from an audit, and the use of models in an audit. */
int cli_observe(const struct cli *cli, struct err *err);
int cli_model_usage(const struct cli *cli, struct err *err);

/* cli_client.c: these ask a running gateway; -EREMOTEIO has its message. */
int cli_ping(const struct cli *cli, struct err *err);
int cli_stats(const struct cli *cli, struct err *err);
int cli_metrics(const struct cli *cli, struct err *err);
int cli_connections(const struct cli *cli, struct err *err);
int cli_reload(const struct cli *cli, struct err *err);
int cli_bind(const struct cli *cli, struct err *err);
int cli_unbind(const struct cli *cli, struct err *err);
int cli_follow(const struct cli *cli, struct err *err);
/* Sends one request and appends the whole answer to @out. @a may be NULL for
 * "". Returns 0. Fails with -EREMOTEIO and the gateway's message, or with
 * another negative errno and @err; @out may have a part of the answer then. */
int cli_ask(const struct cli *cli, enum admin_verb verb, const char *a,
	    struct slice b, struct buf *out, struct err *err);

#endif
