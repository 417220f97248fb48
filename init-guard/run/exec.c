/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.c - starts a program as the agent
 *
 * Theory of operation: a fork costs more than a millisecond in gVisor, a child
 * that borrows our memory until its execve a tenth of that. So the child is a
 * clone with CLONE_VM and CLONE_VFORK on a stack of its own, and PID 1 waits
 * until it has execed or died. Everything that needs memory is prepared before;
 * the child makes system calls only, and leaves the errno of a failure in our
 * memory.
 *
 * While it lives, a process of the agent's uid shares PID 1's memory. It cannot
 * be read: the memory is not dumpable, and stays so when the ids change. But
 * another process of the agent can stop it between its change of ids and its
 * execve, and PID 1 with it: the agent has then hung its own sandbox. The next
 * exec of acd gets no STARTED, acd PINGs, and ends the sandbox from outside
 * when no PONG comes (control/acd/guest/session.c).
 *
 * The ids are changed by raw system calls: libc's wrappers would synchronise
 * all threads. The filter, the empty bounding set, the empty supplementary
 * groups, RLIMIT_CORE and the umask are inherited from PID 1; leaving uid 0
 * clears the other capability sets.
 */
#include "init-guard/run/exec.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "init-guard/start/setup.h"

#define STACK_SIZE (64u * 1024)

struct child {
	const struct exec_opts *opts;
	char *const *argv;
	const char *file; /* absolute, relative, or a name to search for */
	const char *search; /* colon-separated; NULL: no search */
	struct rlimit nproc, nofile;
	bool set_nproc, set_nofile;
	/* results, valid if the child has not execed */
	int error;
	bool cwd_failed;
};

/* One child at a time, and PID 1 waits: stack and path can be static. */
static _Alignas(16) uint8_t child_stack[STACK_SIZE];
static char child_path[PATH_MAX];

/* Writes "dir/file" to child_path. Returns false if it does not fit. */
static bool path_join(const char *dir, size_t dir_len, const char *file)
{
	size_t file_len = strlen(file);

	if (dir_len + 1 + file_len >= sizeof(child_path))
		return false;
	memcpy(child_path, dir, dir_len);
	child_path[dir_len] = '/';
	memcpy(child_path + dir_len + 1, file, file_len + 1);
	return true;
}

/* Runs execve() along the agent's PATH with the agent's rights. Returns the
 * errno of the first program found that could not be run, else ENOENT. */
static int child_search(const struct child *c)
{
	const char *dir = c->search;
	int denied = 0;

	for (;;) {
		size_t len = strcspn(dir, ":");

		/* An empty entry means the working directory, which holds the
		 * agent's own files: skip it. */
		if (len > 0 && path_join(dir, len, c->file)) {
			execve(child_path, c->argv, c->opts->env);
			if (errno == EACCES)
				denied = EACCES;
			else if (errno != ENOENT && errno != ENOTDIR)
				return errno;
		}
		if (dir[len] == '\0')
			return denied ? denied : ENOENT;
		dir += len + 1;
	}
}

static int child_limits(const struct child *c)
{
	if (c->set_nproc && setrlimit(RLIMIT_NPROC, &c->nproc) < 0)
		return -1;
	if (c->set_nofile && setrlimit(RLIMIT_NOFILE, &c->nofile) < 0)
		return -1;
	return 0;
}

static int child_become_agent(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[2] = { 0 };

	if (syscall(SYS_setresgid, AGENT_GID, AGENT_GID, AGENT_GID) < 0 ||
	    syscall(SYS_setresuid, AGENT_UID, AGENT_UID, AGENT_UID) < 0)
		return -1;
	return (int)syscall(SYS_capset, &head, none);
}

static int child_stdio(const struct exec_opts *opts)
{
	int i;

	if (setsid() < 0)
		return -1;
	if (opts->tty && ioctl(opts->fd[0], TIOCSCTTY, 0) < 0)
		return -1;
	for (i = 0; i < 3; i++) {
		if (opts->fd[i] != i && dup2(opts->fd[i], i) < 0)
			return -1;
	}
	return 0;
}

static int child_main(void *arg)
{
	struct child *c = arg;
	sigset_t none;

	if (child_stdio(c->opts) < 0 || child_limits(c) < 0 ||
	    child_become_agent() < 0) {
		c->error = errno;
		_exit(127);
	}
	if (chdir(c->opts->cwd) < 0) {
		c->error = errno;
		c->cwd_failed = true;
		_exit(127);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (c->search) {
		c->error = child_search(c);
	} else {
		execve(c->file, c->argv, c->opts->env);
		c->error = errno;
	}
	_exit(127);
}

/* Gets both limits of @what as requested, but not above the hard limit. */
static bool limit_of(__rlimit_resource_t what, uint32_t value,
		     struct rlimit *ret)
{
	if (value == 0 || getrlimit(what, ret) < 0)
		return false;
	if (value < ret->rlim_max) /* RLIM_INFINITY is the largest */
		ret->rlim_max = value;
	ret->rlim_cur = ret->rlim_max;
	return true;
}

static void child_find(struct child *c, const struct agent *ag,
		       char **login_argv)
{
	c->argv = c->opts->argv;
	if (!c->argv[0]) {
		c->argv = login_argv;
		c->file = agent_shell(ag);
		return;
	}
	c->file = c->argv[0];
	if (!strchr(c->file, '/')) {
		c->search = env_value(c->opts->env, "PATH");
		if (!c->search)
			c->search = "/usr/bin:/bin";
	}
}

int exec_spawn(const struct agent *ag, const struct exec_opts *opts,
	       pid_t *ret_pid, bool *ret_cwd_failed)
{
	struct child c = { .opts = opts };
	char login[NAME_MAX + 2], *login_argv[] = { login, NULL };
	const char *shell = strrchr(agent_shell(ag), '/');
	pid_t pid;

	*ret_cwd_failed = false;
	(void)snprintf(login, sizeof(login), "-%s", shell ? shell + 1 : "sh");
	child_find(&c, ag, login_argv);
	if (c.file[0] == '\0')
		return -ENOENT;
	c.set_nproc = limit_of(RLIMIT_NPROC, ag->assign.nproc, &c.nproc);
	c.set_nofile = limit_of(RLIMIT_NOFILE, ag->assign.nofile, &c.nofile);

	pid = clone(child_main, child_stack + STACK_SIZE,
		    CLONE_VM | CLONE_VFORK | SIGCHLD, &c);
	if (pid < 0)
		return -errno;
	if (c.error != 0) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		*ret_cwd_failed = c.cwd_failed;
		return -c.error;
	}
	*ret_pid = pid;
	return 0;
}

/* gVisor makes an address space on the host for the first process that needs
 * one of its own, and reuses it after that process. This one is PID 1 itself:
 * no program of the image runs. */
void exec_warm_up(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
