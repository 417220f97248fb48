/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pager.c - shows output page by page, as git does
 */
#include "control/cli/layer/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/proc.h"

/* Returns the command, a line for sh, or NULL for none. */
static const char *command(void)
{
	const char *line = getenv("GIT_PAGER");

	if (!line)
		line = getenv("PAGER");
	if (!line)
		line = "less";
	return *line && strcmp(line, "cat") != 0 ? line : NULL;
}

/* Starts the pager, reading from @from. Returns its pid, 0 if it does not start. */
static pid_t start(const char *line, int from)
{
	const char *const argv[] = { "sh", "-c", line, NULL };
	const struct proc_opts opts = {
		.argv = argv,
		.fd = { from, STDOUT_FILENO, STDERR_FILENO },
	};
	pid_t pid = 0;

	/* As git: it ends by itself if all fits, and shows colours. */
	setenv("LESS", "FRX", 0);
	return proc_spawn(&opts, &pid, NULL) < 0 ? 0 : pid;
}

void pager_begin(const struct cli *cli, struct pager *ret)
{
	const char *line = cli->out_tty ? command() : NULL;
	SCOPED_FD from = -1;
	SCOPED_FILE out = NULL;
	int fds[2];

	*ret = (struct pager){ .out = stdout };
	if (!line || pipe2(fds, O_CLOEXEC) < 0)
		return;
	from = fds[0];
	out = fdopen(fds[1], "w");
	if (!out) {
		close(fds[1]);
		return;
	}
	ret->pid = start(line, from);
	if (ret->pid == 0)
		return;
	ret->out = ptr_take(&out);
	/* The user may leave before the end, and Ctrl-C is the pager's. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
}

int pager_end(struct pager *p, struct err *err)
{
	int status;

	if (p->pid == 0)
		return fflush(stdout) == EOF || ferror(stdout) ?
			       cli_stdout_failed(err) :
			       0;
	fclose(p->out);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	signal(SIGINT, SIG_DFL);
	p->out = stdout;
	p->pid = 0;
	return 0;
}
