/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - one process in a sandbox: asks acd to start it, provides what acd
 * lacks, and stays with it until it ends
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
	const char *verb; /* "run", "exec", "attach" */
	/* For a run, launch_go() sets these from what acd answers. */
	char name[AC_NAME_MAX + 1];
	char blueprint[AC_NAME_MAX + 1]; /* "" if unknown */
	const char *what; /* first word of the command, NULL: none */
	struct detach detach; /* of launch_set_keys() */
	bool tty, use_stdin, detached, shared;
	/* Of a detached run: prints nothing, and sets @begun to the record,
	 * which the caller frees. */
	bool silent;
	json_t *begun;
	bool keys_only; /* as in pump.h */
	/* It is not known whether acd answers and speaks our API: to be checked
	 * after a failure. */
	bool unproven;
	const struct workspace *workspace; /* NULL: that of the record */
	bool shows; /* set by launch_go(): the run is shown a directory of the
		     * user's */
	int (*sink)(void *arg, struct slice data); /* as in pump.h */
	void (*err_sink)(void *arg, struct slice data); /* as in pump.h */
	bool escape_err; /* as in pump.h */
	void (*on_stdin)(void *arg, size_t len); /* as in pump.h */
	void *arg;
	int in; /* instead of our stdin when use_stdin */
	bool reaches; /* egress options were given */
	/* Called for a run whose body says "create": false, if the instance
	 * does not exist. Puts into @body what only a new one gets. */
	int (*on_new)(struct launch *l, json_t *body, struct err *err);
	void *new_arg;
	/* Called for a credential that the blueprint names and the vault does
	 * not have, with the refusal in @err; may be NULL. Keeps it in the
	 * vault, or leaves it out in @body, and returns 0 to ask again. */
	int (*on_lacks)(struct launch *l, const char *credential, json_t *body,
			struct err *err);
	/* What the run says of the project's own blueprint; NULL: acd has to
	 * ask. Owned by the caller. */
	json_t *project;
	/* Called when acd has to know the project's own blueprint, or refuses
	 * it until it is approved, with its word @code and the refusal in @err;
	 * may be NULL. Returns 0 to ask again. */
	int (*on_project)(struct launch *l, const char *code, json_t *body,
			  struct err *err);
	/* Called when the run is about to be shown @ws; may be NULL. */
	void (*on_workspace)(const struct launch *l, const struct workspace *ws,
			     void *arg);
	/* Called when acd has started it, before its output; may be NULL. */
	void (*on_begun)(const struct launch *l, void *arg);
	void *begun_arg; /* of both */
	/* Set by launch_go(): it ended while we were attached. */
	bool ended;
	/* Set by launch_go() if it fails: it runs already. */
	bool runs;
};

/* Sets tty, use_stdin and in from the options and the kind of our stdio. */
void launch_set_stdio(struct launch *l, const struct args *a);

/* Sets the keys to detach: @keys, or AC_DETACH_KEYS if it is NULL, or the
 * default. To be called before anything is started. Returns 0 or -EINVAL. */
int launch_set_keys(struct launch *l, const char *keys, struct err *err);

/* Says in @err that a text of @len bytes is not UTF-8; @option stands before it.
 * Returns -EINVAL. */
int launch_refuse_text(const char *option, const char *text, size_t len,
		       struct err *err);

/* Returns the body of a run or exec, for the caller to add to: a new reference;
 * NULL with @err, without memory or if a word is not UTF-8. @cmd may be NULL if
 * @n_cmd is 0. */
json_t *launch_body(const struct launch *l, char *const *cmd, size_t n_cmd,
		    struct err *err);

/*
 * Asks acd until the process runs: builds the image, hands over the workspace,
 * waits for the engine, and writes into @body what that changes. If detached,
 * prints and returns 0. Else stays attached and returns the exit code. Returns
 * a negative errno with @err on failure.
 */
int launch_go(struct launch *l, json_t *body, struct err *err);

#endif
