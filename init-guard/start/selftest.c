/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest.c - tests that a runtime keeps the promises which the design needs
 *
 * Theory of operation: names and versions prove nothing. Each promise is tested
 * the way an agent would try to break it, in the order in which a real start
 * drops its own rights, so the later tests run under the filter and without
 * capabilities. An alarm ends a test that hangs.
 */
#include "init-guard/start/selftest.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "init-guard/start/peer.h"
#include "init-guard/start/seccomp.h"
#include "init-guard/start/setup.h"
#include "lib/proc.h"

#define TIME_LIMIT 20 /* seconds, for all tests */
#define VAULT_ID 990

static int tests_run;
static struct err first_failure;
static char copy_dir[64], copy_path[96]; /* of the setuid copy */

/* ---- children ---- */

typedef int (*selftest_fn)(void *arg);

static int become(uid_t id)
{
	if (id == 0)
		return 0;
	return setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0 ? -1 : 0;
}

static pid_t fork_as(uid_t id, selftest_fn fn, void *arg)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid > 0)
		return pid;
	_exit(become(id) < 0 ? 255 : fn(arg));
}

/* Runs @fn in a forked child with that uid and gid (and without capabilities
 * unless 0). Returns its result, 0 to 255, or -errno if the child did not get
 * that far. */
static int run_as(uid_t id, selftest_fn fn, void *arg)
{
	pid_t pid = fork_as(id, fn, arg);
	int status;

	if (pid < 0)
		return pid;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

/* ---- /proc of other users ---- */

static int proc_is_open(void *arg)
{
	static const char *const names[] = { "environ", "maps", "auxv", "fd",
					     "mem" };
	const pid_t pid = *(pid_t *)arg;
	char path[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid,
			       names[i]);
		if (open(path, O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
			return (int)i + 1;
	}
	return 0;
}

static int victim_main(void *arg)
{
	(void)arg;
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	while (pause() < 0)
		;
	return 0;
}

/* Our process is not dumpable, which alone protects it; the victim is. */
static int test_proc(struct err *err)
{
	pid_t pid[2] = { 1, fork_as(0, victim_main, NULL) };
	int i, rc = 0;

	if (pid[1] < 0)
		return err_set(err, pid[1], "fork: %s", err_text(pid[1]));
	for (i = 0; i < 2 && rc == 0; i++)
		rc = run_as(SELFTEST_STRANGER, proc_is_open, &pid[i]);
	kill(pid[1], SIGKILL);
	waitpid(pid[1], NULL, 0);
	if (rc != 0)
		return err_set(err, -EPERM,
			       "/proc of root is open to others "
			       "(check %d)",
			       rc);
	return 0;
}

/* ---- peers ---- */

static int stranger_main(void *arg)
{
	(void)arg;
	return peer_speak();
}

static int test_peer(struct err *err)
{
	SCOPED_FD lis = peer_listen(err);
	siginfo_t end;
	pid_t pid;
	int rc;

	if (lis < 0)
		return err->code;
	pid = fork_as(SELFTEST_STRANGER, stranger_main, NULL);
	if (pid < 0)
		return err_set(err, pid, "fork: %s", err_text(pid));
	if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT) < 0)
		rc = err_sys(err, "wait for a child");
	else
		rc = peer_judge(lis, pid, SELFTEST_STRANGER, err);
	waitpid(pid, NULL, 0);
	return rc;
}

/* ---- setuid ---- */

int selftest_print_ids(void)
{
	printf("%u %u\n", (unsigned int)geteuid(), (unsigned int)getegid());
	return 0;
}

static int copy_self(void *arg)
{
	const int from = *(int *)arg;
	int to = open(copy_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	static char chunk[64 * 1024];
	ssize_t n;

	if (to < 0)
		return 1;
	while ((n = read(from, chunk, sizeof(chunk))) > 0) {
		if (write(to, chunk, (size_t)n) != n)
			return 2;
	}
	if (n < 0 || fchmod(to, 06755) < 0)
		return 3;
	return close(to) < 0 ? 4 : 0;
}

/* Makes a folder on a mount where setuid files could work. */
static int copy_dir_make(struct err *err)
{
	static const char *const tops[] = { "/tmp", "/run", "/var/tmp", "" };
	struct statvfs vfs;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tops); i++) {
		if (statvfs(tops[i][0] ? tops[i] : "/", &vfs) < 0 ||
		    (vfs.f_flag & (ST_NOSUID | ST_NOEXEC | ST_RDONLY)))
			continue;
		(void)snprintf(copy_dir, sizeof(copy_dir),
			       "%s/.self-test-XXXXXX", tops[i]);
		if (!mkdtemp(copy_dir))
			continue;
		(void)snprintf(copy_path, sizeof(copy_path), "%s/guard",
			       copy_dir);
		if (chmod(copy_dir, 0755) == 0 &&
		    chown(copy_dir, VAULT_ID, VAULT_ID) == 0)
			return 0;
	}
	return err_set(err, -EROFS, "no file system for a setuid file");
}

static int copy_make(struct err *err)
{
	SCOPED_FD self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int rc;

	if (self < 0)
		return err_sys(err, "open /proc/self/exe");
	if (copy_dir_make(err) < 0)
		return err->code;
	rc = run_as(VAULT_ID, copy_self, &self);
	if (rc != 0)
		return err_set(err, -EIO, "make a setuid file: step %d", rc);
	return 0;
}

static int copy_exec(void *arg)
{
	char *argv[] = { copy_path, (char[]){ SELFTEST_EUID }, NULL };
	char *env[] = { NULL };

	if (dup2(*(int *)arg, 1) < 0)
		return 1;
	execve(copy_path, argv, env);
	return 2;
}

static int test_setuid(struct err *err)
{
	SCOPED_FD in = -1;
	SCOPED_FD out = -1;
	char text[32] = "", want[32];
	int end[2], rc;

	if (pipe2(end, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	in = end[0];
	out = end[1];
	rc = run_as(SELFTEST_STRANGER, copy_exec, &out);
	fd_closep(&out);
	if (rc != 0 || read(in, text, sizeof(text) - 1) < 0)
		return err_set(err, -EPERM,
			       "a setuid program does not run "
			       "(step %d)",
			       rc);
	(void)snprintf(want, sizeof(want), "%d %d\n", VAULT_ID, VAULT_ID);
	if (strcmp(text, want) != 0)
		return err_set(err, -EPERM, "setuid to %d gave \"%.*s\"",
			       VAULT_ID, (int)strcspn(text, "\n"), text);
	return 0;
}

static int copy_remove(void *arg)
{
	(void)arg;
	return unlink(copy_path) < 0;
}

/* ---- the program's name ---- */

/* Runs in a user namespace of its own, where it would have every capability. */
static int exe_is_forged(void *arg)
{
	int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);

	(void)arg;
	(void)unshare(CLONE_NEWUSER);
	return prctl(PR_SET_MM, PR_SET_MM_EXE_FILE, (long)fd, 0, 0) == 0;
}

static int test_exe(struct err *err)
{
	if (run_as(SELFTEST_STRANGER, exe_is_forged, NULL) != 0 ||
	    run_as(0, exe_is_forged, NULL) != 0)
		return err_set(err, -EPERM, "PR_SET_MM_EXE_FILE is allowed");
	return 0;
}

/* ---- terminals ---- */

/* EINVAL here leaves the screens of some agents blank. */
static int test_pty(struct err *err)
{
	SCOPED_FD master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	SCOPED_FD slave = -1;
	char path[64], c = 'x';
	int fd[2], i;

	if (master < 0 || unlockpt(master) < 0 ||
	    ptsname_r(master, path, sizeof(path)) != 0)
		return err_sys(err, "open a terminal");
	slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return err_sys(err, "open %s", path);
	fd[0] = master;
	fd[1] = slave;
	for (i = 0; i < 2; i++) {
		if (pwrite(fd[i], &c, 1, 0) >= 0 || errno != ESPIPE)
			return err_sys(err, "pwrite on a terminal, not ESPIPE");
		if (pread(fd[i], &c, 1, 0) >= 0 || errno != ESPIPE)
			return err_sys(err, "pread on a terminal, not ESPIPE");
	}
	return 0;
}

/* ---- the hardening itself ---- */

static int test_filter(struct err *err)
{
	void *filter = guard_filter_new(err);
	int rc;

	if (!filter)
		return err->code;
	rc = guard_filter_load(filter, err);
	guard_filter_free(filter);
	if (rc == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0)
		rc = err_set(err, -EPERM, "no_new_privs was set");
	return rc;
}

static int filter_is_leaky(void *arg)
{
	(void)arg;
	if (unshare(CLONE_NEWUSER) == 0 || errno != EPERM)
		return 1;
	if (syscall(SYS_clone3, NULL, 0) >= 0 || errno != ENOSYS)
		return 2;
	if (prctl(PR_SET_MM, PR_SET_MM_EXE_FILE, 0L, 0, 0) == 0 ||
	    errno != EPERM)
		return 3;
	if (chmod("/", 04755) == 0 || errno != EPERM)
		return 4;
	return 0;
}

static int test_filter_holds(struct err *err)
{
	int rc = run_as(AGENT_UID, filter_is_leaky, NULL);

	if (rc != 0)
		return err_set(err, -EPERM, "the filter leaks (check %d)", rc);
	return 0;
}

static int has_caps(void *arg)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { 0 };
	unsigned long c;
	int i;

	(void)arg;
	if (syscall(SYS_capget, &head, data) < 0)
		return 1;
	for (i = 0; i < 2; i++) {
		if (data[i].effective | data[i].permitted | data[i].inheritable)
			return 2;
	}
	for (c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++) {
		if (prctl(PR_CAPBSET_READ, c, 0, 0, 0) != 0)
			return 3;
	}
	return setuid(0) == 0 ? 4 : 0;
}

static int test_caps(struct err *err)
{
	int rc;

	if (setup_drop_caps(false, err) < 0)
		return err->code;
	rc = run_as(AGENT_UID, has_caps, NULL);
	if (rc != 0)
		return err_set(err, -EPERM, "capabilities are left (check %d)",
			       rc);
	return 0;
}

static int can_signal_init(void *arg)
{
	(void)arg;
	return kill(1, SIGTERM) == 0 || errno != EPERM;
}

static int test_signals(struct err *err)
{
	sigset_t set;

	if (kill(getpid(), SIGTERM) < 0 || sigpending(&set) < 0 ||
	    !sigismember(&set, SIGTERM))
		return err_set(err, -EPERM, "a signal to PID 1 is not held");
	if (run_as(AGENT_UID, can_signal_init, NULL) != 0)
		return err_set(err, -EPERM, "the agent may signal PID 1");
	return 0;
}

static int test_init(struct err *err)
{
	return setup_be_init(err);
}

/* ---- the run ---- */

static const struct {
	const char *name;
	int (*fn)(struct err *err);
	bool vital; /* without it the other tests make no sense */
} tests[] = {
	{ "runs as PID 1 and root", test_init, true },
	{ "peers of a socket are named truly", test_peer, false },
	{ "/proc of root is closed to others", test_proc, false },
	{ "setuid file made", copy_make, false },
	{ "setuid to another user works", test_setuid, false },
	{ "PR_SET_MM_EXE_FILE is refused", test_exe, false },
	{ "pread and pwrite on a terminal give ESPIPE", test_pty, false },
	{ "the filter loads without no_new_privs", test_filter, true },
	{ "the filter holds", test_filter_holds, false },
	{ "setuid works behind the filter", test_setuid, false },
	{ "PR_SET_MM_EXE_FILE is refused behind the filter", test_exe, false },
	{ "capabilities are empty after the drop", test_caps, false },
	{ "signals to PID 1 are held back", test_signals, false },
};

/* Async-signal-safe, as a test may hang anywhere. */
static void on_alarm(int signo)
{
	static const char text[] = "# self-test FAILED: timeout\n";
	ssize_t n = write(1, text, sizeof(text) - 1);

	(void)signo;
	(void)n;
	_exit(GUARD_EXIT_UNSAFE);
}

static void alarm_arm(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	sigset_t set;

	sigaction(SIGALRM, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	alarm(TIME_LIMIT);
}

static bool test_one(size_t i)
{
	struct err err = { 0 };
	const bool good = tests[i].fn(&err) >= 0;

	printf("%sok %d - %s\n", good ? "" : "not ", ++tests_run,
	       tests[i].name);
	if (!good) {
		printf("# %s\n", err.msg);
		if (first_failure.code == 0)
			first_failure = err;
	}
	return good || !tests[i].vital;
}

int selftest_run(void)
{
	struct utsname uts;
	size_t i;

	/* children must not print buffered lines again */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (setup_early(&first_failure) == 0) {
		proc_signals_default();
		alarm_arm();
		if (uname(&uts) == 0)
			printf("# kernel %s %s %s\n", uts.sysname, uts.release,
			       uts.version);
		for (i = 0; i < ARRAY_SIZE(tests) && test_one(i); i++)
			;
		if (copy_path[0]) {
			(void)run_as(VAULT_ID, copy_remove, NULL);
			(void)rmdir(copy_dir);
		}
		printf("1..%d\n", tests_run);
	}
	if (first_failure.code != 0) {
		printf("# self-test FAILED: %s\n", first_failure.msg);
		return GUARD_EXIT_UNSAFE;
	}
	printf("# self-test passed\n");
	return 0;
}
