/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate_seccomp.c - an allow-list of the gateway's system calls
 *
 * Theory of operation: any other call kills the process; acd restarts it and
 * the kernel logs it. Loaded before the threads start, so that all have it.
 * Arguments are checked where a call can do far more than is needed: memory
 * never becomes executable, sockets are of the internet families or a stream to
 * ac-edge, clone() makes threads only, prctl() only names them.
 *
 * Some calls are probes of the C library, which has an alternative; these fail
 * with the error that selects it: clone3() hides its flags behind a pointer,
 * and isatty() comes with a stream.
 *
 * Arguments that the kernel takes as 32 bits are compared as such.
 */
#include "ottergate/run/isolate.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define LOW32 0xffffffffu
#define THREAD_FLAGS \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)

static const char *const allowed[] = {
	/* bytes */
	"read",
	"write",
	"readv",
	"writev",
	"splice",
	"pipe2",
	"fcntl",
	"close",

	/* sockets; the listeners are open already */
	"accept4",
	"bind",
	"connect",
	"shutdown",
	"recvfrom",
	"sendto",
	"recvmsg",
	"sendmsg",
	"recvmmsg",
	"sendmmsg",
	"getsockopt",
	"setsockopt",
	"getsockname",
	"getpeername",

	/* waiting */
	"epoll_create1",
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"poll",
	"ppoll",
	"eventfd2",
	"signalfd4",
	"futex",
	"nanosleep",
	"clock_nanosleep",
	"restart_syscall",
	"sched_yield",

	/* files: the policy is read, the audit written and rotated; mounts and
	 * ids restrict which */
	"open",
	"openat",
	"fstat",
	"stat",
	"lstat",
	"newfstatat",
	"statx",
	"access",
	"faccessat",
	"faccessat2",
	"lseek",
	"pread64",
	"getdents64",
	"rename",
	"renameat",
	"renameat2",
	"unlink",
	"unlinkat",
	"ftruncate",
	"fallocate",
	"fstatfs",
	"readlink",
	"readlinkat",
	"uname",

	/* memory */
	"brk",
	"munmap",
	"mremap",
	"madvise",
	/* memory with tokens is kept out of swap (sodium_malloc()) */
	"mlock",
	"mlock2",
	"munlock",

	/* threads */
	"set_robust_list",
	"rseq",
	"gettid",
	"getpid",
	"tgkill",
	"sched_getaffinity",
	/* a reload lowers its priority; raising it needs a capability */
	"setpriority",
	"exit",
	"exit_group",

	/* signals */
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"sigaltstack",

	/* questions */
	"clock_gettime",
	"gettimeofday",
	"time",
	"getrandom",
	"getuid",
	"geteuid",
	"getgid",
	"getegid",
	"getrlimit",
	"sysinfo",
};

/* Allowed if the argument, or each of the two, has the value under the mask. */
static const struct {
	const char *name;
	struct scmp_arg_cmp cmp[2];
} allowed_if[] = {
	{ "socket", { { 0, SCMP_CMP_MASKED_EQ, LOW32, AF_INET } } },
	{ "socket", { { 0, SCMP_CMP_MASKED_EQ, LOW32, AF_INET6 } } },
	/* to ac-edge (dial.c) */
	{ "socket",
	  { { 0, SCMP_CMP_MASKED_EQ, LOW32, AF_UNIX },
	    { 1, SCMP_CMP_MASKED_EQ, LOW32,
	      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC } } },
	{ "mmap", { { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 } } },
	{ "mprotect", { { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 } } },
	{ "clone", { { 0, SCMP_CMP_MASKED_EQ, THREAD_FLAGS, THREAD_FLAGS } } },
	{ "prctl", { { 0, SCMP_CMP_MASKED_EQ, LOW32, PR_SET_NAME } } },
	/* to read, not to set */
	{ "prlimit64", { { 2, SCMP_CMP_EQ, 0, 0 } } },
};

static const struct {
	const char *name;
	int error;
} refused[] = {
	{ "clone3", ENOSYS },
	{ "ioctl", ENOTTY },
	{ "inotify_init1", ENOSYS },
};

static int filter_add(scmp_filter_ctx ctx, uint32_t action, const char *name,
		      unsigned cmps, const struct scmp_arg_cmp *cmp)
{
	int nr = seccomp_syscall_resolve_name(name);

	/* Not of this architecture, or newer than this libseccomp: a call
	 * without a number is not allowed. */
	if (nr < 0)
		return 0;
	return seccomp_rule_add_array(ctx, action, nr, cmps, cmp);
}

static int filter_fill(scmp_filter_ctx ctx)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(allowed) && rc >= 0; i++)
		rc = filter_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(allowed_if) && rc >= 0; i++)
		rc = filter_add(ctx, SCMP_ACT_ALLOW, allowed_if[i].name,
				allowed_if[i].cmp[1].op ? 2 : 1,
				allowed_if[i].cmp);
	for (size_t i = 0; i < ARRAY_SIZE(refused) && rc >= 0; i++)
		rc = filter_add(ctx, SCMP_ACT_ERRNO((unsigned)refused[i].error),
				refused[i].name, 0, NULL);
	return rc;
}

int isolate_seccomp(struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int rc;

	if (!ctx)
		return err_nomem(err);
	rc = filter_fill(ctx);
	/* A call of another architecture or of x32 is refused too. */
	if (rc >= 0)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
				      SCMP_ACT_KILL_PROCESS);
	/* Most calls are few numbers: a tree of them is faster than a list. */
	if (rc >= 0)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc >= 0)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc < 0 ? err_set(err, rc, "load the system call filter: %s",
				err_text(rc)) :
			0;
}
