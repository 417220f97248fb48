/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - the agent's environment, shell and limits
 */
#ifndef INIT_GUARD_START_AGENT_H
#define INIT_GUARD_START_AGENT_H

#include <limits.h>
#include <stdint.h>

#include "init-guard/link.h"

struct agent {
	struct link_assign_args assign;
	char **env; /* NULL-terminated, each name once; strings borrowed */
	size_t env_n;
	size_t room; /* entries that agent_default() may still add */
	char shell_env[PATH_MAX]; /* "SHELL=" and the login shell */
};

/* Sets the agent's login shell in @ag, which is zeroed: that of the image's
 * passwd file if it can be executed, else /bin/bash or /bin/sh. */
void agent_find(struct agent *ag);
/* Builds the agent's base environment after agent_find(): our variables, then
 * those of @a, which override them. Takes the contents of @a, even on failure,
 * and zeroes it. Returns 0, or -ENOMEM with @ag zeroed. Release with
 * agent_done(). */
int agent_init(struct agent *ag, struct link_assign_args *a) ATTR_WUR;
/* Frees what @ag holds and zeroes it. Accepts zeroed. */
void agent_done(struct agent *ag);
/* Adds an entry unless there is one of that name; ignored beyond
 * AGENT_DEFAULTS_MAX. @entry is borrowed until agent_done(). */
#define AGENT_DEFAULTS_MAX 16u
void agent_default(struct agent *ag, char *entry);
/* Replaces the entry of the same name; no effect if there is none. @entry is
 * borrowed until agent_done(). */
void agent_replace(struct agent *ag, char *entry);
/* Returns the absolute path of the login shell, owned by @ag. */
const char *agent_shell(const struct agent *ag);

/* Returns the environment of one exec: the agent's, then TERM if there is a
 * terminal, then @extra, which overrides. The caller frees the vector; its
 * strings are borrowed from @ag and @extra. NULL when out of memory. */
char **agent_env(const struct agent *ag, char *const *extra, int pty);
/* Returns the value of @name in a NULL-terminated environment, borrowed from
 * it, or NULL. */
const char *env_value(char *const *env, const char *name);

#endif
