/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reap.c - PID 1's duties: reaping and killing processes
 */
#include "init-guard/run/reap.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/attr.h"
#include "lib/str.h"

/* Passes over a session that forks while it is being killed. */
#define SESSION_PASSES 8

int reap_all(reap_fn fn, void *arg)
{
	struct rusage usage;
	int status;
	pid_t pid;

	for (;;) {
		pid = wait4(-1, &status, WNOHANG, &usage);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return pid == 0;
		fn(arg, pid, status, &usage);
	}
}

/* The session is the fourth field after the command's name. The process chooses
 * that name, which may contain spaces and parentheses: it ends at the last
 * parenthesis. */
static bool stat_in_session(const char *stat, pid_t session)
{
	const char *p = strrchr(stat, ')');
	char state;
	int ppid, group, sid;

	return p &&
	       sscanf(p + 1, " %c %d %d %d", &state, &ppid, &group, &sid) ==
		       4 &&
	       sid == session && state != 'Z';
}

static bool proc_in_session(int procfd, const char *pid, pid_t session)
{
	char path[32], text[1024];
	SCOPED_FD fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%.16s/stat", pid);
	fd = openat(procfd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return stat_in_session(text, session);
}

/* Kills in one walk through /proc. Returns how many were killed. */
static int session_pass(pid_t session)
{
	SCOPED_DIR dir = opendir("/proc");
	struct dirent *e;
	uint64_t pid;
	int killed = 0;

	if (!dir) {
		kill(-session, SIGKILL);
		return 0;
	}
	while ((e = readdir(dir))) {
		if (str_parse_u64(e->d_name, 2, INT32_MAX, &pid) < 0)
			continue;
		if (!proc_in_session(dirfd(dir), e->d_name, session))
			continue;
		kill((pid_t)pid, SIGKILL);
		killed++;
	}
	return killed;
}

void reap_kill_session(pid_t session)
{
	int i;

	for (i = 0; i < SESSION_PASSES; i++) {
		if (session_pass(session) == 0)
			return;
	}
}

void reap_kill_everything(unsigned int ms, reap_fn fn, void *arg)
{
	const struct timespec tick = { .tv_nsec = 5 * 1000 * 1000 };
	unsigned int waited;

	kill(-1, SIGKILL);
	for (waited = 0; waited < ms; waited += 5) {
		if (!reap_all(fn, arg))
			return;
		/* For processes that were being forked at the first signal. */
		kill(-1, SIGKILL);
		nanosleep(&tick, NULL);
	}
}
