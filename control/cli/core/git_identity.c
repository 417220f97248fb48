/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_identity.c - the user's name and e-mail in git, for a new instance
 */
#include "control/cli/core/git_identity.h"

#include <string.h>

#include "lib/proc.h"

#define GIT_MS 2000u

/* Returns true if the instance has an identity of its own. */
static bool has_own(const struct strv *env)
{
	static const char *const names[] = {
		"AC_GIT_NAME=",        "AC_GIT_EMAIL=",
		"GIT_AUTHOR_NAME=",    "GIT_AUTHOR_EMAIL=",
		"GIT_COMMITTER_NAME=", "GIT_COMMITTER_EMAIL="
	};

	for (size_t i = 0; i < env->n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			if (str_starts(env->v[i], names[k]))
				return true;
	return false;
}

static bool is_good(const char *value)
{
	size_t len = strlen(value);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)value[i] < ' ' || value[i] == 127)
			return false;
	return len > 0 && len <= GIT_IDENTITY_MAX;
}

/* Returns the value of @key in @scope, a heap string, or NULL if it is
 * unusable. */
static char *ask(const char *scope, const char *key)
{
	const char *const argv[] = { "git",   "config", scope, "--includes",
				     "--get", key,      NULL };
	/* In the root directory git finds no project. */
	const struct proc_opts opts = { .argv = argv,
					.cwd = "/",
					.fd = { -1, -1, -1 },
					.timeout_ms = GIT_MS };
	struct err ignored = { 0 };
	char *text = NULL;
	size_t len;

	if (proc_capture(&opts, 2 * GIT_IDENTITY_MAX, &text, &ignored) != 0) {
		free(text);
		return NULL;
	}
	len = strlen(text);
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = '\0';
	if (is_good(text))
		return text;
	free(text);
	return NULL;
}

static char *find(const char *key)
{
	char *value = ask("--global", key);

	return value ? value : ask("--system", key);
}

int git_identity_get(const struct strv *env, struct strv *ret)
{
	SCOPED_STR name = NULL;
	SCOPED_STR email = NULL;

	if (has_own(env))
		return 0;
	name = find("user.name");
	email = find("user.email");
	if ((name && strv_pushf(ret, "AC_GIT_NAME=%s", name) < 0) ||
	    (email && strv_pushf(ret, "AC_GIT_EMAIL=%s", email) < 0))
		return -ENOMEM;
	return 0;
}

/* Returns what follows @key in @identity, "" for nothing. */
static const char *of(const struct strv *identity, const char *key)
{
	for (size_t i = 0; i < identity->n; i++)
		if (str_starts(identity->v[i], key))
			return identity->v[i] + strlen(key);
	return "";
}

void git_identity_tell(const struct cli *cli, const struct strv *identity)
{
	const char *name = of(identity, "AC_GIT_NAME=");
	const char *email = of(identity, "AC_GIT_EMAIL=");

	if (*name || *email)
		say_info(cli,
			 "git in it commits as %s%s%s%s (yours; --env "
			 "GIT_AUTHOR_NAME=… names another)",
			 name, *email ? " <" : "", email, *email ? ">" : "");
}
