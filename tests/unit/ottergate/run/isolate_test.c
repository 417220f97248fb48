/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate_test.c - what the gateway has given up cannot be had again
 *
 * Each case is a child of its own: it isolates itself and tries.
 */
#include "ottergate/run/isolate.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/file.h"
#include "lib/proc.h"
#include "tests/unit/tap.h"

#define KILLED (128 + SIGSYS)
#define DENIED 42
#define NOT_PERMITTED 77 /* no namespace to be had here */

static char dir[] = "/var/tmp/otter-isolate-XXXXXX";

/* Runs @fn in a child; its exit code, or 128 + signal. */
static int child(int (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		_exit(fn());
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return proc_code(status);
}

/* --- seccomp ------------------------------------------------------------- */

static int filtered(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	       isolate_seccomp(NULL) < 0;
}

static int try_nothing(void)
{
	return filtered();
}

static int try_exec(void)
{
	char *const argv[] = { NULL };

	return filtered() || execve("/bin/true", argv, argv);
}

static int try_fork(void)
{
	if (filtered())
		return 1;
	return fork() < 0;
}

static int try_ptrace(void)
{
	return filtered() || ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int try_mount(void)
{
	return filtered() || mount("none", "/tmp", "tmpfs", 0, NULL);
}

static int try_unshare(void)
{
	return filtered() || unshare(CLONE_NEWUSER);
}

static int try_chmod(void)
{
	return filtered() || chmod(dir, 0777);
}

static int try_kill(void)
{
	return filtered() || kill(getpid(), 0);
}

static int try_setuid(void)
{
	return filtered() || setuid(0);
}

static int try_bpf(void)
{
	return filtered() || syscall(SYS_bpf, 0, NULL, 0);
}

static int try_uring(void)
{
	return filtered() || syscall(SYS_io_uring_setup, 1, NULL);
}

static int try_edge_socket(void)
{
	return filtered() ||
	       socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) <
		       0;
}

static int try_unix_datagram(void)
{
	return filtered() ||
	       socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) <
		       0;
}

static int try_packet_socket(void)
{
	return filtered() || socket(AF_PACKET, SOCK_RAW, 0) < 0;
}

static int try_netlink_socket(void)
{
	return filtered() || socket(AF_NETLINK, SOCK_RAW, 0) < 0;
}

static int try_exec_memory(void)
{
	return filtered() ||
	       mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

static int try_exec_protect(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return filtered() || mprotect(p, 4096, PROT_READ | PROT_EXEC);
}

static int try_rlimit(void)
{
	const struct rlimit lim = { 10, 10 };

	return filtered() || setrlimit(RLIMIT_NOFILE, &lim);
}

static int try_dumpable(void)
{
	return filtered() || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static int try_ioctl(void)
{
	return filtered() || isatty(0) || errno != ENOTTY;
}

static void *thread_main(void *arg)
{
	SCOPED_FD fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*(bool *)arg = fd >= 0;
	return arg;
}

static int try_thread(void)
{
	bool done = false;
	pthread_t t;

	if (filtered() || pthread_create(&t, NULL, thread_main, &done) != 0 ||
	    pthread_join(t, NULL) != 0)
		return 1;
	return !done;
}

static void *thread_mount(void *arg)
{
	mount("none", "/tmp", "tmpfs", 0, NULL);
	return arg;
}

static int try_thread_mount(void)
{
	pthread_t t;

	if (filtered() || pthread_create(&t, NULL, thread_mount, NULL) != 0)
		return 1;
	return pthread_join(t, NULL);
}

static int try_files(void)
{
	SCOPED_STR text = NULL;

	return filtered() || file_read("/etc/passwd", 1 << 20, &text, NULL) < 0;
}

static void test_seccomp(void)
{
	static const struct {
		const char *what;
		int (*fn)(void);
		int want;
	} rows[] = {
		{ "the filter is loaded", try_nothing, 0 },
		{ "a thread with a socket", try_thread, 0 },
		{ "a file is read", try_files, 0 },
		{ "ioctl is answered: no terminal", try_ioctl, 0 },
		{ "execve", try_exec, KILLED },
		{ "fork", try_fork, KILLED },
		{ "ptrace", try_ptrace, KILLED },
		{ "mount", try_mount, KILLED },
		{ "mount in a thread", try_thread_mount, KILLED },
		{ "unshare", try_unshare, KILLED },
		{ "chmod", try_chmod, KILLED },
		{ "kill", try_kill, KILLED },
		{ "setuid", try_setuid, KILLED },
		{ "bpf", try_bpf, KILLED },
		{ "io_uring", try_uring, KILLED },
		{ "a stream to ac-edge", try_edge_socket, 0 },
		{ "a unix socket of another type", try_unix_datagram, KILLED },
		{ "a packet socket", try_packet_socket, KILLED },
		{ "a netlink socket", try_netlink_socket, KILLED },
		{ "executable memory", try_exec_memory, KILLED },
		{ "memory made executable", try_exec_protect, KILLED },
		{ "a limit is set", try_rlimit, KILLED },
		{ "dumps are turned on", try_dumpable, KILLED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(child(rows[i].fn), rows[i].want, "seccomp: %s",
		       rows[i].what);
}

/* --- ids ----------------------------------------------------------------- */

static bool caps_are_one(void)
{
	cap_t caps = cap_get_proc(),
	      want = cap_from_text("cap_net_bind_service=ep");
	bool same = caps && want && cap_compare(caps, want) == 0;

	cap_free(caps);
	cap_free(want);
	return same;
}

static int check_ids(void)
{
	struct rlimit core;

	if (isolate_ids(ISOLATE_UID, ISOLATE_UID, NULL) < 0)
		return 1;
	if (getuid() != ISOLATE_UID || getgid() != ISOLATE_UID ||
	    getgroups(0, NULL) != 0)
		return 2;
	if (!caps_are_one())
		return 3;
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			return 4;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ||
	    prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return 5;
	if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max != 0)
		return 6;
	if (setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0)
		return 7;
	if (prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) == 0 ||
	    prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0)
		return 8;
	return DENIED;
}

static int check_port(void)
{
	const struct sockaddr sa = { .sa_family = AF_INET,
				     .sa_data = { 0, 99, 127, 0, 0, 9 } };
	SCOPED_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (isolate_ids(ISOLATE_UID, ISOLATE_UID, NULL) < 0)
		return 1;
	return bind(fd, &sa, sizeof(sa)) < 0;
}

static void test_ids(void)
{
	is_int(child(check_ids), DENIED, "ids and capabilities are gone");
	is_int(child(check_port), 0, "a low port can still be had");
}

/* --- the root ------------------------------------------------------------ */

static bool can_write(const char *path)
{
	SCOPED_FD fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd >= 0;
}

static int check_root(void)
{
	const char *const writable[] = { dir, NULL };
	struct err err = { 0 };
	char path[64];

	if (isolate_root(writable, &err) < 0)
		return err.code == -EPERM || err.code == -EACCES ?
			       NOT_PERMITTED :
			       1;
	snprintf(path, sizeof(path), "%s/file", dir);
	if (!can_write(path))
		return 2;
	if (can_write("/tmp/otter-isolate") || errno != EROFS)
		return 3;
	if (can_write("/etc/otter-isolate") || errno != EROFS)
		return 4;
	if (can_write("/dev/shm/otter-isolate") || errno != EROFS)
		return 5;
	return can_write("/dev/null") ? DENIED : 6;
}

static int check_root_missing(void)
{
	const char *const writable[] = { "/does/not/exist", NULL };
	int rc = isolate_root(writable, NULL);

	if (rc == -EPERM || rc == -EACCES)
		return NOT_PERMITTED;
	return rc == -ENOENT ? DENIED : 1;
}

static void test_root(void)
{
	int rc = child(check_root);

	if (rc == NOT_PERMITTED) {
		skip("no mount namespace may be made here");
		return;
	}
	is_int(rc, DENIED, "all is read-only but the folder");
	ok(can_write("/tmp/otter-isolate"), "not for the parent");
	unlink("/tmp/otter-isolate");
	is_int(child(check_root_missing), DENIED, "a folder that is missing");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_seccomp();
	if (geteuid() == 0) {
		test_ids();
		test_root();
	} else {
		skip("only root can give root up");
	}
	file_remove_tree(dir);
	return done_testing();
}
