/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrapper.c - runs gh and glab with a surrogate in place of a token
 */
#include "vault/wrapper.h"

#include <string.h>
#include <sys/stat.h>

#include "lib/str.h"
#include "vault/paths.h"

const struct wrapper_tool wrapper_tools[] = {
	{ VAULT_GH,
	  VAULT_REAL_GH,
	  VAULT_OP_GH,
	  "GH_TOKEN",
	  { "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN",
	    NULL } },
	{ VAULT_GLAB,
	  VAULT_REAL_GLAB,
	  VAULT_OP_GLAB,
	  "GITLAB_TOKEN",
	  { "GITLAB_ACCESS_TOKEN", "OAUTH_TOKEN", NULL } },
};
const size_t wrapper_tools_count = ARRAY_SIZE(wrapper_tools);

const struct wrapper_tool *wrapper_find(const struct wrapper_tool *tools,
					size_t n, const char *exe)
{
	struct stat own, st;
	size_t i;

	if (stat(exe, &own) < 0)
		return NULL;
	for (i = 0; i < n; i++) {
		if (lstat(tools[i].self, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_dev == own.st_dev && st.st_ino == own.st_ino)
			return &tools[i];
	}
	return NULL;
}

static bool is_variable(const char *entry, const char *name)
{
	const size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

static bool is_token(const struct wrapper_tool *t, const char *entry)
{
	const char *const *o;

	if (is_variable(entry, t->variable))
		return true;
	for (o = t->others; *o; o++) {
		if (is_variable(entry, *o))
			return true;
	}
	return false;
}

bool wrapper_has_token(const struct wrapper_tool *t, char *const *env)
{
	for (; env && *env; env++) {
		if (is_token(t, *env))
			return true;
	}
	return false;
}

char **wrapper_env(const struct wrapper_tool *t, char *const *env,
		   const char *surrogate)
{
	char *entry = str_printf("%s=%s", t->variable, surrogate), **ret;
	size_t n = 0, i;

	while (env && env[n])
		n++;
	ret = entry ? calloc(n + 2, sizeof(*ret)) : NULL;
	if (!ret) {
		free(entry);
		return NULL;
	}
	ret[0] = entry;
	n = 1;
	for (i = 0; env && env[i]; i++) {
		if (!is_token(t, env[i]))
			ret[n++] = env[i];
	}
	return ret;
}
