/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine_test.c - what ac-edge can no longer do
 *
 * Each case is a child of its own: it gives up, and tries.
 */
#include "control/edge/confine.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/proc.h"
#include "tests/unit/tap.h"

#define KILLED (128 + SIGSYS)

static int try_nothing(void)
{
	return 0;
}

static int try_streams(void)
{
	static const int families[] = { AF_UNIX, AF_INET, AF_INET6 };

	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (socket(families[i],
			   SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) < 0 &&
		    errno != EAFNOSUPPORT)
			return 1;
	return 0;
}

static int try_datagram(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int try_raw(void)
{
	return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int try_netlink(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 0);
}

static int try_open(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0;
}

static int try_exec(void)
{
	char *const argv[] = { NULL };

	return execve("/bin/true", argv, argv);
}

static int try_fork(void)
{
	return fork() < 0;
}

static int try_ptrace(void)
{
	return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int try_kill(void)
{
	return kill(getpid(), 0);
}

static int try_uring(void)
{
	return (int)syscall(SYS_io_uring_setup, 1, NULL);
}

static int try_exec_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

static int try_dumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* Runs @fn in a child; its exit code, or 128 + signal. */
static int child(int (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		const struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		_exit(confine(NULL) < 0 ? 99 : fn());
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return proc_code(status);
}

int main(void)
{
	static const struct {
		const char *what;
		int (*fn)(void);
		int want;
	} rows[] = {
		{ "the filter is loaded", try_nothing, 0 },
		{ "streams of three families", try_streams, 0 },
		{ "a datagram socket", try_datagram, KILLED },
		{ "a raw socket", try_raw, KILLED },
		{ "a netlink socket", try_netlink, KILLED },
		{ "a file is opened", try_open, KILLED },
		{ "execve", try_exec, KILLED },
		{ "fork", try_fork, KILLED },
		{ "ptrace", try_ptrace, KILLED },
		{ "a signal", try_kill, KILLED },
		{ "io_uring", try_uring, KILLED },
		{ "executable memory", try_exec_memory, KILLED },
		{ "dumps are turned on", try_dumpable, KILLED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(child(rows[i].fn), rows[i].want, "%s", rows[i].what);
	return done_testing();
}
