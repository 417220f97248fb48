/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.c - starts programs
 *
 * Theory of operation
 *
 * The child reports a failed step over a close-on-exec pipe: step and errno.
 * The parent reads until end of file, which a successful exec causes.
 *
 * All signals are blocked across the fork, so that no handler of the parent
 * ever runs in the child; the child resets them to their defaults and unblocks
 * them last. Any of the parent's descriptors 0, 1, 2 may be closed or be the
 * source of another one, so all sources, and the pipe, are first moved above
 * them.
 */
#include "lib/proc.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/buf.h"

#define CAPTURE_CHUNK 4096u
#define NAP_MAX_MS 10

enum step { STEP_FD, STEP_GROUP, STEP_SESSION, STEP_CWD, STEP_EXEC };

struct report {
	int step; /* enum step */
	int code; /* errno */
};

/* exec takes pointers to what it does not change as not const. */
static char *const *vector_of(const char *const *in)
{
	char *const *out;

	memcpy(&out, &in, sizeof(out));
	return out;
}

int proc_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

static ATTR_NORETURN void child_fail(int report_fd, enum step step)
{
	struct report report = { .step = (int)step, .code = errno };

	while (write(report_fd, &report, sizeof(report)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* Marks all descriptors above 2 close-on-exec. */
static int child_cloexec(void)
{
	SCOPED_DIR dir = NULL;
	struct dirent *de;

	if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) == 0)
		return 0;
	/* Before Linux 5.11, or refused by an older engine's seccomp. */
	dir = opendir("/proc/self/fd");
	if (!dir)
		return -errno;
	while ((de = readdir(dir))) {
		int fd = atoi(de->d_name);

		if (fd > 2 && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
			return -errno;
	}
	return 0;
}

static int child_fds(const int want[static 3])
{
	int high[3];

	for (int i = 0; i < 3; i++) {
		SCOPED_FD null = -1;

		if (want[i] < 0)
			null = open("/dev/null", O_RDWR | O_CLOEXEC);
		high[i] =
			fcntl(want[i] < 0 ? null : want[i], F_DUPFD_CLOEXEC, 3);
		if (high[i] < 0)
			return -1;
	}
	for (int i = 0; i < 3; i++) {
		if (dup2(high[i], i) < 0)
			return -1;
	}
	return 0;
}

void proc_signals_default(void)
{
	/* All zero is SIG_DFL, no flags, an empty mask (rt_sigaction(2)). */
	static const unsigned long dfl[8];

	/* A raw system call, since libc refuses the two signals that it
	 * reserves for itself: the parent may have left even those ignored. */
	for (int signo = 1; signo < NSIG; signo++)
		syscall(SYS_rt_sigaction, signo, dfl, NULL, (size_t)8);
}

static void child_signals(void)
{
	sigset_t none;

	proc_signals_default();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void proc_worker_begin(unsigned seconds)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 0);
	child_signals();
	alarm(seconds);
}

/* Before there are descriptors to lose, or a program that could fork. */
static int child_groups(const char *const *files)
{
	for (; files && *files; files++) {
		SCOPED_FD fd = open(*files, O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, "0", 1) != 1)
			return -1;
	}
	return 0;
}

static ATTR_NORETURN void child_exec(const struct proc_opts *opts, pid_t parent,
				     int report_fd)
{
	char *const *argv = vector_of(opts->argv);
	int fd = fcntl(report_fd, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		child_fail(report_fd, STEP_FD);
	if (opts->die_with_parent) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127); /* it died before we could ask */
	}
	if (child_groups(opts->groups) < 0)
		child_fail(fd, STEP_GROUP);
	if (opts->timeout_ms && !opts->new_session && setpgid(0, 0) < 0)
		child_fail(fd, STEP_SESSION);
	if (opts->new_session && setsid() < 0)
		child_fail(fd, STEP_SESSION);
	if (child_fds(opts->fd) < 0 || child_cloexec() < 0)
		child_fail(fd, STEP_FD);
	if (opts->cwd && chdir(opts->cwd) < 0)
		child_fail(fd, STEP_CWD);
	child_signals();
	if (opts->env)
		execvpe(argv[0], argv, vector_of(opts->env));
	else
		execvp(argv[0], argv);
	child_fail(fd, STEP_EXEC);
}

int proc_exec(const struct proc_opts *opts)
{
	char *const *argv = vector_of(opts->argv);
	int rc;

	if (opts->new_session && setsid() < 0)
		return -errno;
	if (child_fds(opts->fd) < 0)
		return -errno;
	rc = child_cloexec();
	if (rc < 0)
		return rc;
	if (opts->cwd && chdir(opts->cwd) < 0)
		return -errno;
	child_signals();
	if (opts->env)
		execvpe(argv[0], argv, vector_of(opts->env));
	else
		execvp(argv[0], argv);
	return -errno;
}

static int child_wait(pid_t pid, int *ret_status)
{
	pid_t r;

	do {
		r = waitpid(pid, ret_status, 0);
	} while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

/* Waits for the exec, or for the report of what failed. */
static int report_read(int fd, struct report *ret)
{
	ssize_t n;

	do {
		n = read(fd, ret, sizeof(*ret));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == sizeof(*ret);
}

static int report_explain(const struct proc_opts *opts,
			  const struct report *report, struct err *err)
{
	errno = report->code;
	switch ((enum step)report->step) {
	case STEP_GROUP:
		return err_sys(err, "start %s: enter its control group",
			       opts->argv[0]);
	case STEP_SESSION:
		return err_sys(err, "start %s: own process group",
			       opts->argv[0]);
	case STEP_CWD:
		return err_sys(err, "start %s in %s", opts->argv[0], opts->cwd);
	case STEP_EXEC:
		return err_sys(err, "start %s", opts->argv[0]);
	case STEP_FD:
		break;
	}
	return err_sys(err, "start %s: descriptors", opts->argv[0]);
}

int proc_spawn(const struct proc_opts *opts, pid_t *ret_pid, struct err *err)
{
	SCOPED_FD rd = -1;
	SCOPED_FD wr = -1;
	pid_t parent = getpid(), pid;
	struct report report;
	int fd[2], status, rc;
	sigset_t all, old;

	if (!opts->argv[0])
		return err_set(err, -EINVAL, "start: no program given");
	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_sys(err, "start %s: pipe", opts->argv[0]);
	rd = fd[0];
	wr = fd[1];
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = fork();
	if (pid == 0)
		child_exec(opts, parent, wr);
	rc = -errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return err_set(err, rc, "start %s: fork: %s", opts->argv[0],
			       err_text(rc));
	fd_closep(&wr);
	rc = report_read(rd, &report);
	if (rc == 0) {
		*ret_pid = pid;
		return 0;
	}
	if (rc < 0)
		report = (struct report){ .step = STEP_FD, .code = -rc };
	child_wait(pid, &status);
	return report_explain(opts, &report, err);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* 0: no limit. */
static uint64_t deadline_of(const struct proc_opts *opts)
{
	return opts->timeout_ms ? now_ms() + opts->timeout_ms : 0;
}

/* Milliseconds for poll(2). */
static int time_left(uint64_t deadline)
{
	uint64_t now = now_ms();

	if (!deadline)
		return -1;
	return deadline > now ? (int)(deadline - now) : 0;
}

/* With short naps: a pidfd cannot be had on every kernel and in every
 * container, and SIGCHLD belongs to the caller. */
static int child_wait_until(pid_t pid, uint64_t deadline, int *ret_status)
{
	int nap = 1;

	for (;;) {
		pid_t r = waitpid(pid, ret_status, WNOHANG);

		if (r == pid)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
		if (time_left(deadline) == 0)
			return -ETIMEDOUT;
		poll(NULL, 0, nap);
		nap = nap < NAP_MAX_MS ? nap * 2 : NAP_MAX_MS;
	}
}

static int proc_wait(const struct proc_opts *opts, pid_t pid, uint64_t deadline,
		     struct err *err)
{
	int status;
	int rc = deadline ? child_wait_until(pid, deadline, &status) :
			    child_wait(pid, &status);

	if (rc == -ETIMEDOUT) {
		kill(-pid, SIGKILL); /* not reaped yet: the number is its own */
		child_wait(pid, &status);
		return err_set(err, rc, "%s did not end within %u ms",
			       opts->argv[0], opts->timeout_ms);
	}
	if (rc < 0)
		return err_set(err, rc, "wait for %s: %s", opts->argv[0],
			       err_text(rc));
	return proc_code(status);
}

int proc_run(const struct proc_opts *opts, struct err *err)
{
	uint64_t deadline = deadline_of(opts);
	pid_t pid = -1;
	int rc = proc_spawn(opts, &pid, err);

	return rc < 0 ? rc : proc_wait(opts, pid, deadline, err);
}

/* Reads to the end of file or to @deadline; what does not fit is read and
 * dropped. */
static int capture_read(int fd, uint64_t deadline, struct buf *out)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	uint8_t chunk[CAPTURE_CHUNK];

	for (;;) {
		size_t fits = buf_room(out);
		ssize_t n = poll(&pfd, 1, time_left(deadline));

		if (n == 0 || (deadline && time_left(deadline) == 0))
			return -ETIMEDOUT;
		if (n > 0)
			n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		if (fits > (size_t)n)
			fits = (size_t)n;
		if (buf_append(out, chunk, fits) < 0)
			return -ENOMEM;
	}
}

int proc_capture(const struct proc_opts *opts, size_t max, char **ret_out,
		 struct err *err)
{
	struct proc_opts with_pipe = *opts;
	SCOPED_FD rd = -1;
	SCOPED_FD wr = -1;
	SCOPED_STR text = NULL;
	struct buf out;
	int fd[2], rc, ended;
	uint64_t deadline;
	pid_t pid = -1;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_sys(err, "start %s: pipe", opts->argv[0]);
	rd = fd[0];
	wr = fd[1];
	with_pipe.fd[1] = wr;
	deadline = deadline_of(opts);
	rc = proc_spawn(&with_pipe, &pid, err);
	if (rc < 0)
		return rc;
	fd_closep(&wr);
	buf_init(&out, max);
	rc = capture_read(rd, deadline, &out);
	fd_closep(&rd); /* or a child that still writes would never end */
	ended = proc_wait(opts, pid, deadline, err);
	if (rc == 0)
		rc = slice_dup_str(buf_slice(&out), &text);
	buf_done(&out);
	if (ended < 0)
		return ended;
	if (rc < 0)
		return err_set(err, rc, "output of %s: %s", opts->argv[0],
			       err_text(rc));
	*ret_out = ptr_take(&text);
	return ended;
}
