/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - one process in a sandbox: ask acd for it, clear what is in its
 * way, stay with it until it ends
 */
#ifndef CONTROL_CLI_HOST_LAUNCH_H
#define CONTROL_CLI_HOST_LAUNCH_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"
#include "control/cli/wire/pump.h"
#include "control/cli/host/workspace.h"
#include "control/shared/paths.h"

struct launch {
	const struct cli *cli;
	struct client *client;
	const char *verb; /* "run", "exec", "attach": the end of the path */
	char name[AC_NAME_MAX + 1];
	char blueprint[AC_NAME_MAX + 1]; /* "" when it is not known */
	const char *what; /* first word of the command, NULL: none given */
	struct detach detach; /* of launch_set_keys() */
	bool tty, use_stdin, detached, shared;
	bool keys_only; /* as in pump.h */
	/* Nobody has asked yet whether acd is there and speaks our API: that
	 * is done when it does not do as it is asked. */
	bool unproven;
	const struct workspace *workspace; /* NULL: as the record says */
	int (*sink)(void *arg, struct slice data); /* as in pump.h */
	bool escape_err; /* as in pump.h */
	void (*on_stdin)(void *arg, size_t len); /* as in pump.h */
	void *arg;
	int in; /* instead of our stdin when use_stdin */
	bool reaches; /* words were given about what it may reach */
	/* Called once acd has begun it, before anything of its output; NULL:
	 * nothing. */
	void (*on_begun)(const struct launch *l, void *arg);
	void *begun_arg;
	/* Of launch_go(): it ended while we were there. */
	bool ended;
};

/* Fills tty, use_stdin, in from the options and what our stdio is. */
void launch_set_stdio(struct launch *l, const struct args *a);

/* The keys to detach: those of @keys, NULL: of AC_DETACH_KEYS, or the usual.
 * -EINVAL. Before anything is started that they could not leave. */
int launch_set_keys(struct launch *l, const char *keys, struct err *err);

/* The body of run and exec, but for what the caller adds: a new reference,
 * NULL without memory. @cmd may be NULL with @n_cmd 0. */
json_t *launch_body(const struct launch *l, char *const *cmd, size_t n_cmd);

/*
 * Asks until it runs: builds the image, hands over the workspace, waits for
 * the engine. Detached: prints and returns 0. Else stays; returns the exit
 * code of what ran.
 */
int launch_go(struct launch *l, const json_t *body, struct err *err);

#endif
