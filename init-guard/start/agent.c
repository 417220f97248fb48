/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - the agent's environment, shell and limits
 */
#include "init-guard/start/agent.h"

#include <string.h>

#include "init-guard/start/etc.h"
#include "init-guard/start/setup.h"
#include "lib/file.h"

#define PASSWD_MAX (256u * 1024)

#define SHELL_PREFIX "SHELL="

/* Writable only because execve() wants char *const. The root file system is
 * read-only, so what is installed for all users must go to the home. */
static char base_env[][136] = {
	"PATH=" AGENT_HOME "/.local/bin:" AGENT_HOME "/.npm-global/bin:"
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=" AGENT_HOME,
	"NPM_CONFIG_PREFIX=" AGENT_HOME "/.npm-global",
	"PIP_BREAK_SYSTEM_PACKAGES=1",
	"GIT_CONFIG_SYSTEM=" ETC_GITCONFIG,
	"USER=node",
	"LOGNAME=node",
	"LANG=C.UTF-8",
	/* brk(2), mmap(2) and new pages cost far more in gVisor than in Linux,
	 * so the C library returns less. It keeps at most 4 MiB at the end of a
	 * heap; its own limit grows to 64 MiB with what a program frees. */
	"MALLOC_TRIM_THRESHOLD_=4194304",
	"MALLOC_MMAP_THRESHOLD_=2097152",
	"MALLOC_TOP_PAD_=262144",
};
static char base_term[] = "TERM=xterm-256color";

/* Compares the names of two NAME=value entries. */
static bool same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, "=");

	return strncmp(a, b, len) == 0 && b[len] == '=';
}

/* Adds or replaces an entry; @env has room for one more. */
static void env_set(char **env, size_t *n, char *entry)
{
	size_t i;

	for (i = 0; i < *n; i++) {
		if (same_name(env[i], entry))
			break;
	}
	env[i] = entry;
	if (i == *n)
		(*n)++;
}

const char *env_value(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++) {
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	}
	return NULL;
}

static size_t vec_len(char *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	return n;
}

/* Returns field @n (from 0) of a passwd line, cutting the line in place. */
static char *passwd_field(char *line, int n)
{
	for (; n > 0; n--) {
		line = strchr(line, ':');
		if (!line)
			return NULL;
		line++;
	}
	line[strcspn(line, ":")] = '\0';
	return line;
}

/* Read before any process of the agent could change it. */
void agent_find(struct agent *ag)
{
	const size_t size = sizeof(ag->shell_env);
	char *line, *next, *field;
	SCOPED_STR text = NULL;
	char uid[16];

	(void)snprintf(ag->shell_env, size, SHELL_PREFIX "/bin/%s",
		       access("/bin/bash", X_OK) == 0 ? "bash" : "sh");
	if (file_read("/etc/passwd", PASSWD_MAX, &text, NULL) < 0)
		return;
	(void)snprintf(uid, sizeof(uid), ":%d:", AGENT_UID);
	for (line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		field = strchr(line, ':'); /* name:password:uid:... */
		field = field ? strchr(field + 1, ':') : NULL;
		if (!field || strncmp(field, uid, strlen(uid)) != 0)
			continue;
		field = passwd_field(line, 6);
		if (field && field[0] == '/' && access(field, X_OK) == 0 &&
		    strlen(field) < size - strlen(SHELL_PREFIX))
			(void)snprintf(ag->shell_env, size, SHELL_PREFIX "%s",
				       field);
		return;
	}
}

int agent_init(struct agent *ag, struct link_assign_args *a)
{
	size_t i;

	ag->assign = *a;
	*a = (struct link_assign_args){ 0 };
	ag->room = AGENT_DEFAULTS_MAX;
	ag->env = calloc(ARRAY_SIZE(base_env) + 1 + vec_len(ag->assign.env) +
				 AGENT_DEFAULTS_MAX + 1,
			 sizeof(*ag->env));
	if (!ag->env) {
		agent_done(ag);
		return -ENOMEM;
	}
	env_set(ag->env, &ag->env_n, ag->shell_env);
	for (i = 0; i < ARRAY_SIZE(base_env); i++)
		env_set(ag->env, &ag->env_n, base_env[i]);
	for (i = 0; ag->assign.env[i]; i++)
		env_set(ag->env, &ag->env_n, ag->assign.env[i]);
	return 0;
}

void agent_default(struct agent *ag, char *entry)
{
	size_t i;

	for (i = 0; i < ag->env_n; i++) {
		if (same_name(ag->env[i], entry))
			return;
	}
	if (ag->room == 0)
		return;
	ag->room--;
	ag->env[ag->env_n++] = entry;
}

void agent_replace(struct agent *ag, char *entry)
{
	size_t i;

	for (i = 0; i < ag->env_n; i++) {
		if (same_name(ag->env[i], entry))
			ag->env[i] = entry;
	}
}

void agent_done(struct agent *ag)
{
	free(ag->env);
	link_assign_args_done(&ag->assign);
	*ag = (struct agent){ 0 };
}

const char *agent_shell(const struct agent *ag)
{
	return ag->shell_env + strlen(SHELL_PREFIX);
}

char **agent_env(const struct agent *ag, char *const *extra, int pty)
{
	size_t n = ag->env_n, i;
	char **env = calloc(n + 1 + vec_len(extra) + 1, sizeof(*env));

	if (!env)
		return NULL;
	memcpy(env, ag->env, n * sizeof(*env));
	if (pty && !env_value(ag->env, "TERM"))
		env[n++] = base_term;
	for (i = 0; extra && extra[i]; i++)
		env_set(env, &n, extra[i]);
	return env;
}
