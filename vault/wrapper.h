/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrapper.h - gh and glab, started with a surrogate in place of a token
 */
#ifndef VAULT_WRAPPER_H
#define VAULT_WRAPPER_H

#include <stdbool.h>

#include "vault/wire.h"

struct wrapper_tool {
	const char *self; /* where the wrapper lies */
	const char *real; /* what it runs */
	enum vault_op op;
	const char *variable; /* that gets the surrogate: "GH_TOKEN" */
	const char *others[4]; /* that would count besides; NULL-terminated */
};
extern const struct wrapper_tool wrapper_tools[];
extern const size_t wrapper_tools_count;

/*
 * Which of @tools, of @n, the file at @exe is: by device and inode, whatever
 * name it was started by. NULL: none.
 */
const struct wrapper_tool *wrapper_find(const struct wrapper_tool *tools,
					size_t n, const char *exe);
/*
 * @env with the tool's variable set to @surrogate, and without all others that
 * the tool would take a token from. On the heap, the caller's; the strings of
 * @env are borrowed. NULL without memory.
 */
char **wrapper_env(const struct wrapper_tool *t, char *const *env,
		   const char *surrogate);
/* Has the user given a token himself? */
bool wrapper_has_token(const struct wrapper_tool *t, char *const *env);

#endif
