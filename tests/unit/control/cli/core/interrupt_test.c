/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt_test.c - what Ctrl-C says, and how the program ends by it
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/cli/core/cli.h"
#include "lib/attr.h"
#include "tests/unit/tap.h"

static void (*ignored)(int) = SIG_DFL;

/* What a process says that gets SIGINT; returns how it ended. */
static int interrupt(bool tty, const char *text, const char *then, char *out,
		     size_t size)
{
	const struct cli cli = { .err_tty = tty };
	int pipe_fd[2], status = 0;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(pipe_fd) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(pipe_fd[1], STDERR_FILENO);
		signal(SIGINT, ignored);
		cli_on_interrupt(&cli, text);
		if (then != text)
			cli_on_interrupt(&cli, then);
		raise(SIGINT);
		_exit(0);
	}
	close(pipe_fd[1]);
	while ((n = read(pipe_fd[0], out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	close(pipe_fd[0]);
	waitpid(pid, &status, 0);
	return status;
}

int main(void)
{
	static const char kept[] = "All of it is kept";
	char said[200];
	int status = interrupt(false, kept, kept, said, sizeof(said));

	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT,
	   "it ends by the signal");
	is_str(said, "ac: interrupted. All of it is kept\n",
	       "and says what is");
	interrupt(true, kept, kept, said, sizeof(said));
	is_str(said, "\nac: interrupted. All of it is kept\n",
	       "on a terminal in a line of its own, behind the progress");
	status = interrupt(false, kept, NULL, said, sizeof(said));
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT,
	   "taken back: it ends all the same");
	is_str(said, "", "silently");
	ignored = SIG_IGN;
	status = interrupt(false, kept, NULL, said, sizeof(said));
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	   "who ignores it from the start goes on");
	is_str(said, "", "and has nothing to say");
	return done_testing();
}
