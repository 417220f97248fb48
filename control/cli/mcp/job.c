/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.c - what waits for acd, in a process of its own
 *
 * The child is a process group of its own, so that a Ctrl-C on the terminal reaches
 * the parent alone, which ends its children in their order.
 */
#include "control/cli/mcp/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/cli/mcp/feed.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/proc.h"

#define PIECE (64u * 1024)

struct job {
	pid_t pid;
	int fd; /* what it tells comes from here; owned */
	struct loop_io *io;
	struct feed feed;
	const struct job_ops *ops;
	void *arg;
	bool dying; /* freed when the round of told() is over */
	bool in_round;
};

/* ---- The child ---- */

static void child_stdio(int out)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(1);
	if (out > STDERR_FILENO + 1)
		(void)close_range(STDERR_FILENO + 1, (unsigned)out - 1, 0);
	(void)close_range((unsigned)out + 1, ~0u, 0);
}

static ATTR_NORETURN void child(job_fn fn, void *arg, int out, pid_t parent)
{
	sigset_t none;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* it ended before it could take us along */
	proc_signals_default();
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	child_stdio(out);
	fn(arg, out);
	_exit(0);
}

int job_tell(int out, json_t *what)
{
	SCOPED_STR text = what ? json_dumps(what, JSON_COMPACT) : NULL;
	size_t len = text ? strlen(text) : 0;
	int rc;

	json_decref(what);
	if (!text)
		return -ENOMEM;
	text[len] = '\n'; /* in the place of the NUL */
	rc = fd_write_all(out, text, len + 1);
	text[len] = '\0';
	return rc;
}

int job_tell_error(int out, const struct err *err)
{
	json_t *what = json_object();
	json_t *error =
		jsonx_error(*err->word ? err->word : "failed", NULL, err->msg);

	if (!what || !error || json_object_update(what, error) < 0) {
		json_decref(what);
		what = NULL;
	}
	json_decref(error);
	return job_tell(out, what);
}

/* ---- The parent ---- */

static void job_free(struct job *j)
{
	loop_del(j->io);
	fd_closep(&j->fd);
	feed_done(&j->feed);
	/* It has closed the pipe, so it is about to end; what it has started,
	 * and left, ends too. */
	(void)kill(-j->pid, SIGKILL);
	(void)kill(j->pid, SIGKILL);
	while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(j);
}

void job_kill(struct job *j)
{
	if (!j)
		return;
	j->dying = true;
	if (!j->in_round)
		job_free(j);
}

void job_signal(const struct job *j, int signo)
{
	(void)kill(-j->pid, signo);
}

static void on_line(void *arg, struct slice line)
{
	struct job *j = arg;
	json_t *what;

	if (j->dying || !line.ptr)
		return;
	what = json_loadb((const char *)line.ptr, line.len, JSON_ALLOW_NUL,
			  NULL);
	if (json_is_object(what))
		j->ops->told(j->arg, what);
	json_decref(what);
}

static void on_pipe(void *arg, uint32_t events)
{
	struct job *j = arg;
	uint8_t piece[PIECE];
	ssize_t n = read(j->fd, piece, sizeof(piece));
	int rc = 0;

	(void)events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	j->in_round = true;
	if (n > 0)
		rc = feed_take(&j->feed, piece, (size_t)n, on_line, j);
	if ((n <= 0 || rc < 0) && !j->dying) {
		j->dying = true;
		j->ops->ended(j->arg);
	}
	j->in_round = false;
	if (j->dying)
		job_free(j);
}

struct job *job_start(struct loop *l, job_fn fn, void *fn_arg,
		      const struct job_ops *ops, void *arg)
{
	struct job *j = calloc(1, sizeof(*j));
	pid_t parent = getpid();
	int fds[2];

	if (!j || pipe2(fds, O_CLOEXEC) < 0) {
		free(j);
		return NULL;
	}
	*j = (struct job){ .fd = fds[0], .ops = ops, .arg = arg };
	feed_init(&j->feed, JOB_LINE_MAX);
	j->io = loop_add(l, j->fd, EPOLLIN, on_pipe, j);
	j->pid = j->io ? fork() : -1;
	if (j->pid == 0)
		child(fn, fn_arg, fds[1], parent);
	close(fds[1]);
	if (j->pid > 0) {
		(void)setpgid(j->pid, j->pid); /* as the child does */
		return j;
	}
	loop_del(j->io);
	close(j->fd);
	free(j);
	return NULL;
}
