/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - who the agent is: its environment, shell and limits
 */
#ifndef INIT_GUARD_AGENT_H
#define INIT_GUARD_AGENT_H

#include <limits.h>
#include <stdint.h>

#include "init-guard/link.h"

struct agent {
	struct link_assign_args assign;
	char **env; /* NULL-terminated, one entry a name; borrows strings */
	size_t env_n;
	size_t room; /* entries that agent_default() may add */
	char shell_env[PATH_MAX]; /* "SHELL=" and the login shell */
};

/* What the image says about the agent: its login shell. */
void agent_find(struct agent *ag);
/*
 * Builds the base environment of an agent that was found: ours, then that of
 * @a, the later one of a name wins. Takes what @a holds, also on failure
 * (-ENOMEM). Release with agent_done().
 */
int agent_init(struct agent *ag, struct link_assign_args *a) ATTR_WUR;
void agent_done(struct agent *ag); /* accepts zeroed */
/* Adds an entry, borrowed for good, unless there is one of that name. At most
 * AGENT_DEFAULTS_MAX. */
#define AGENT_DEFAULTS_MAX 16u
void agent_default(struct agent *ag, char *entry);
/* Puts an entry, borrowed for good, in place of the one of that name, which
 * must be there. */
void agent_replace(struct agent *ag, char *entry);
const char *agent_shell(const struct agent *ag); /* absolute path */

/*
 * The environment of one exec: the agent's, a TERM when there is a terminal,
 * then @extra. The vector is the caller's to free, its strings are borrowed
 * from @ag and @extra. NULL without memory.
 */
char **agent_env(const struct agent *ag, char *const *extra, int pty);
/* Value of @name in a NULL-terminated environment, or NULL. */
const char *env_value(char *const *env, const char *name);

#endif
