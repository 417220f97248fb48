/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault-wrapper.c - gh and glab, for an agent that has no token
 *
 * Theory of operation: setuid and setgid to the vault's user, never root. As
 * that user it asks vaultd for a surrogate, closes the connection, becomes the
 * agent again for good, and only then runs the real client: no client, pager,
 * alias or extension ever runs as the vault. Its own inode decides which tool
 * it is, because the caller chooses argv[0] and the environment.
 *
 * Without a credential the real client runs all the same: `gh --help` needs
 * none, and commands that need one report it themselves.
 */
#include <string.h>

#include "lib/err.h"
#include "vault/client.h"
#include "vault/paths.h"
#include "vault/wrapper.h"

#define EXIT_USAGE 2

static void say(const struct wrapper_tool *t, int code)
{
	const char *name = strrchr(t->real, '/') + 1;

	if (code == -ENOENT)
		(void)dprintf(2,
			      "ac: no credential for %s in this sandbox; see "
			      "`ac vault add` and `ac run --credential`\n",
			      name);
	else
		(void)dprintf(2, "ac: no credential for %s: the vault %s\n",
			      name,
			      code == -EACCES       ? "refuses; the log of "
						      "ac says why" :
			      code == -EBUSY        ? "is busy, try again" :
			      code == -ETIMEDOUT    ? "does not answer" :
			      code == -ECONNREFUSED ? CLIENT_OVER :
						      "cannot be reached");
}

/* Returns 0 with a surrogate, or the reason for none: -ENOENT, -EACCES,
 * -EBUSY... */
static int surrogate_get(const struct wrapper_tool *t,
			 char surrogate[SURROGATE_MAX])
{
	struct vault_request request = { .op = t->op };
	struct vault_answer answer = { 0 };
	int rc = client_ask(VAULT_DIR, VAULT_SOCKET, &request, &answer);

	if (rc < 0)
		return rc;
	switch (answer.status) {
	case VAULT_OK:
		memcpy(surrogate, answer.surrogate, SURROGATE_MAX);
		break;
	case VAULT_NONE:
		rc = -ENOENT;
		break;
	case VAULT_BUSY:
		rc = -EBUSY;
		break;
	case VAULT_DENIED:
		rc = -EACCES;
		break;
	}
	explicit_bzero(&answer, sizeof(answer));
	return rc;
}

static int client_run(const struct wrapper_tool *t, char **argv, char **env)
{
	int error;

	execve(t->real, argv, env);
	error = errno;
	(void)dprintf(2, "ac: %s: %s\n", t->real, err_text(-error));
	return error == ENOENT ? 127 : 126;
}

int main(int argc, char **argv)
{
	char surrogate[SURROGATE_MAX] = "";
	const struct wrapper_tool *t;
	char **env = environ;
	int rc = client_begin();

	if (rc < 0)
		return EXIT_USAGE;
	if (argc < 1 || !argv[0] || client_check_caller() < 0) {
		(void)dprintf(2, "ac: not started as a client of the vault\n");
		return EXIT_USAGE;
	}
	t = wrapper_find(wrapper_tools, wrapper_tools_count, "/proc/self/exe");
	if (!t) {
		(void)dprintf(2, "ac: a copy of the vault's client\n");
		return EXIT_USAGE;
	}
	rc = surrogate_get(t, surrogate);
	if (client_drop() < 0) {
		(void)dprintf(2, "ac: cannot give up the vault's user\n");
		return EXIT_USAGE;
	}
	if (rc == 0)
		env = wrapper_env(t, environ, surrogate);
	else if (!wrapper_has_token(t, environ))
		say(t, rc);
	if (!env) {
		(void)dprintf(2, "ac: out of memory\n");
		return EXIT_USAGE;
	}
	return client_run(t, argv, env);
}
