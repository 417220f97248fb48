/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.c - what ac-edge gives up before it reads a byte
 *
 * The container has taken all capabilities, a writable root and every mount but
 * that of the sockets. The allow-list here leaves what copying needs: streams of
 * three families, files only to bind a unix socket at. No program, process or
 * thread can be started, no file opened and no memory made executable.
 *
 * A filter cannot see which address connect(2) is for. So a taken-over ac-edge
 * may connect to what its user may: docs/THREATS.md says so.
 */
#include "control/edge/confine.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define LOW32 0xffffffffu
#define STREAM_MASK (LOW32 & ~(unsigned)(SOCK_NONBLOCK | SOCK_CLOEXEC))

static const char *const allowed[] = {
	/* bytes */
	"read",
	"write",
	"close",
	"recvfrom",
	"sendto",
	"recvmsg",
	"sendmsg",
	"shutdown",

	/* sockets */
	"accept4",
	"bind",
	"connect",
	"listen",
	"getsockopt",
	"getsockname",
	"setsockopt",
	"fcntl",

	/* the file of a unix socket: lib/sock.c */
	"chmod",
	"fchmod",
	"fchmodat",
	"lstat",
	"newfstatat",
	"statx",
	"unlink",
	"unlinkat",

	/* waiting */
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"futex",
	"restart_syscall",

	/* memory */
	"brk",
	"munmap",
	"mremap",
	"madvise",

	/* the end, and signals */
	"exit",
	"exit_group",
	"getpid",
	"gettid",
	"tgkill",
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"sigaltstack", /* of a build with sanitizers, at its end */

	/* questions */
	"clock_gettime",
	"gettimeofday",
	"getrandom",
};

/* Allowed if each argument has the value under the mask. */
static const struct {
	const char *name;
	struct scmp_arg_cmp cmp[3];
} allowed_if[] = {
#define STREAM(family)                                                \
	{                                                             \
		"socket",                                             \
		{                                                     \
			{ 0, SCMP_CMP_MASKED_EQ, LOW32, (family) },   \
				{ 1, SCMP_CMP_MASKED_EQ, STREAM_MASK, \
				  SOCK_STREAM },                      \
				{ 2, SCMP_CMP_MASKED_EQ, LOW32, 0 },  \
		}                                                     \
	}
	STREAM(AF_UNIX),
	STREAM(AF_INET),
	STREAM(AF_INET6),
	{ "mmap", { { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 } } },
	{ "mprotect", { { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 } } },
};

static int filter_fill(scmp_filter_ctx ctx)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(allowed) && rc >= 0; i++) {
		int nr = seccomp_syscall_resolve_name(allowed[i]);

		/* One that this architecture lacks cannot be called. */
		if (nr >= 0)
			rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(allowed_if) && rc >= 0; i++) {
		int nr = seccomp_syscall_resolve_name(allowed_if[i].name);
		unsigned n = 1;

		while (n < ARRAY_SIZE(allowed_if[i].cmp) &&
		       allowed_if[i].cmp[n].op)
			n++;

		if (nr >= 0)
			rc = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, nr, n,
						    allowed_if[i].cmp);
	}
	return rc;
}

int confine(struct err *err)
{
	scmp_filter_ctx ctx;
	int rc;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(err, "give up new privileges and dumps");
	ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	if (!ctx)
		return err_nomem(err);
	rc = filter_fill(ctx);
	if (rc >= 0)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
				      SCMP_ACT_KILL_PROCESS);
	if (rc >= 0)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc < 0 ? err_set(err, rc, "load the system call filter: %s",
				err_text(rc)) :
			0;
}
