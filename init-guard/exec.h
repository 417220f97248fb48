/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.h - start one program as the agent
 */
#ifndef INIT_GUARD_EXEC_H
#define INIT_GUARD_EXEC_H

#include <stdbool.h>
#include <sys/types.h>

#include "init-guard/agent.h"

struct exec_opts {
	char *const *argv; /* NULL-terminated; empty: the login shell */
	char *const *env;
	const char *cwd;
	int fd[3]; /* become 0, 1, 2: each above 2 or its own; borrowed */
	bool tty; /* fd[0] becomes the controlling terminal */
};

/*
 * Starts it in a session of its own, with the agent's ids, limits and none
 * of PID 1's rights. Returns 0 and the pid once the program runs; else the
 * negative errno of what failed, and whether that was the working directory.
 */
int exec_spawn(const struct agent *ag, const struct exec_opts *opts,
	       pid_t *ret_pid, bool *ret_cwd_failed) ATTR_WUR;
/* Makes the first one quicker, at the price of a fork. */
void exec_warm_up(void);

#endif
