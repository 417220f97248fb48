/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrapper.h - runs gh and glab with a surrogate in place of a token
 */
#ifndef VAULT_WRAPPER_H
#define VAULT_WRAPPER_H

#include <stdbool.h>

#include "vault/wire.h"

struct wrapper_tool {
	const char *self; /* path of the wrapper */
	const char *real; /* the program that it runs */
	enum vault_op op;
	const char *variable; /* gets the surrogate: "GH_TOKEN" */
	/* variables the tool would take a token from too; NULL-terminated */
	const char *others[4];
};
extern const struct wrapper_tool wrapper_tools[];
extern const size_t wrapper_tools_count;

/* Returns the tool whose wrapper is the file @exe, by device and inode,
 * whatever name it was started by; NULL if there is none. */
const struct wrapper_tool *wrapper_find(const struct wrapper_tool *tools,
					size_t n, const char *exe);
/*
 * Returns a copy of @env with the tool's variable set to @surrogate and without
 * the others that it takes a token from; NULL when out of memory. The caller
 * owns the vector and its first string; the other strings are borrowed from
 * @env.
 */
char **wrapper_env(const struct wrapper_tool *t, char *const *env,
		   const char *surrogate);
/* Returns true if @env already contains a variable with a token for the
 * tool. */
bool wrapper_has_token(const struct wrapper_tool *t, char *const *env);

#endif
