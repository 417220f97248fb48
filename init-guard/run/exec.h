/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.h - starts a program as the agent
 */
#ifndef INIT_GUARD_RUN_EXEC_H
#define INIT_GUARD_RUN_EXEC_H

#include <stdbool.h>
#include <sys/types.h>

#include "init-guard/start/agent.h"

struct exec_opts {
	char *const *argv; /* NULL-terminated; empty: the login shell */
	char *const *env; /* all of it, NULL-terminated (agent_env()) */
	const char *cwd;
	/* become 0, 1, 2; each is above 2 or at its own number; borrowed */
	int fd[3];
	bool tty; /* fd[0] becomes the controlling terminal */
};

/*
 * Starts the program in a session of its own, with the agent's ids and limits
 * and none of PID 1's rights. A name without "/" is searched in the PATH of
 * opts->env. Returns 0 with *ret_pid, a child of ours, when the program runs.
 * Else returns the negative errno of the failure, and there is no child;
 * *ret_cwd_failed tells whether it is that of opts->cwd.
 */
int exec_spawn(const struct agent *ag, const struct exec_opts *opts,
	       pid_t *ret_pid, bool *ret_cwd_failed) ATTR_WUR;
/* Makes the first exec_spawn() faster, at the cost of a fork now. */
void exec_warm_up(void);

#endif
