/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate_seccomp.c - the system calls that the gateway makes, and no other
 *
 * Theory of operation: an allow-list; anything else kills the process, acd
 * starts it anew and the kernel's log tells. Loaded before the threads start,
 * so that all have it. Arguments are looked at where a call is far wider than
 * its use: memory never becomes executable, sockets are of the internet
 * families, clone() makes threads only, prctl() names them only.
 *
 * Some calls are probes of the C library that have another way to go on; these
 * get the error that sends them there: clone3() hides its flags behind a
 * pointer, and isatty() comes with a stream.
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

	/* sockets: those of the listeners are open already */
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

	/* files: policy is read, the audit written and rotated; where, the
	 * mounts and the ids decide */
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
	/* what holds secrets stays out of the swap (sodium_malloc()) */
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
	/* a reload gives way to the workers; up needs a capability */
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

/* Allowed when the argument, under the mask, has the value. */
static const struct {
	const char *name;
	struct scmp_arg_cmp cmp;
} allowed_if[] = {
	{ "socket", { 0, SCMP_CMP_MASKED_EQ, LOW32, AF_INET } },
	{ "socket", { 0, SCMP_CMP_MASKED_EQ, LOW32, AF_INET6 } },
	{ "mmap", { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 } },
	{ "mprotect", { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 } },
	{ "clone", { 0, SCMP_CMP_MASKED_EQ, THREAD_FLAGS, THREAD_FLAGS } },
	{ "prctl", { 0, SCMP_CMP_MASKED_EQ, LOW32, PR_SET_NAME } },
	/* To ask, not to set. */
	{ "prlimit64", { 2, SCMP_CMP_EQ, 0, 0 } },
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
	 * that cannot be named is not allowed. */
	if (nr < 0)
		return 0;
	return seccomp_rule_add_array(ctx, action, nr, cmps, cmp);
}

static int filter_fill(scmp_filter_ctx ctx)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(allowed) && r >= 0; i++)
		r = filter_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(allowed_if) && r >= 0; i++)
		r = filter_add(ctx, SCMP_ACT_ALLOW, allowed_if[i].name, 1,
			       &allowed_if[i].cmp);
	for (size_t i = 0; i < ARRAY_SIZE(refused) && r >= 0; i++)
		r = filter_add(ctx, SCMP_ACT_ERRNO((unsigned)refused[i].error),
			       refused[i].name, 0, NULL);
	return r;
}

int isolate_seccomp(struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r;

	if (!ctx)
		return err_nomem(err);
	r = filter_fill(ctx);
	/* A call of another architecture or of x32 is as unknown. */
	if (r >= 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
				     SCMP_ACT_KILL_PROCESS);
	/* Most calls are few numbers: a tree of them costs less than a list. */
	if (r >= 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r >= 0)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r < 0 ? err_set(err, r, "load the system call filter: %s",
			       err_text(r)) :
		       0;
}
