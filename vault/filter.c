/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - the system calls that vaultd may make: an allow list
 *
 * A classic BPF program, seccomp(2), since only init-guard may use libseccomp.
 * openat() may only read. Refused calls fail with EPERM instead of killing: in
 * gVisor a kill ends only one thread.
 */
#include "vault/filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0 /* matches nothing: vaultd does not start there */
#endif

#define FIELD(f) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, f))
#define RETURN(v) BPF_STMT(BPF_RET | BPF_K, (v))
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW(nr)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
		RETURN(SECCOMP_RET_ALLOW)
/* Reads the low half of the third argument; args are little-endian here. */
#define ALLOW_READING(nr)                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 4), FIELD(args[2]), \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,                     \
			 O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1),   \
		REFUSE, RETURN(SECCOMP_RET_ALLOW)

static struct sock_filter program[] = {
	FIELD(arch),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	REFUSE,
	FIELD(nr),
	ALLOW(SYS_recvmsg),
	ALLOW(SYS_sendto),
	ALLOW(SYS_accept4),
	ALLOW(SYS_getsockopt),
	ALLOW(SYS_close),
	ALLOW(SYS_read),
	ALLOW(SYS_write),
	ALLOW(SYS_epoll_ctl),
	ALLOW(SYS_epoll_pwait),
#ifdef SYS_epoll_wait
	ALLOW(SYS_epoll_wait),
#endif
	ALLOW(SYS_clock_gettime),
	ALLOW(SYS_getrandom),
	ALLOW(SYS_brk),
	ALLOW(SYS_mmap),
	ALLOW(SYS_munmap),
	ALLOW(SYS_mremap),
	ALLOW(SYS_mprotect),
	ALLOW(SYS_madvise),
	ALLOW(SYS_futex),
	ALLOW(SYS_getpid),
	ALLOW(SYS_gettid),
	ALLOW(SYS_tgkill),
	ALLOW(SYS_rt_sigaction),
	ALLOW(SYS_rt_sigprocmask),
	ALLOW(SYS_rt_sigreturn),
	ALLOW(SYS_restart_syscall),
	ALLOW(SYS_exit_group),
	ALLOW(SYS_exit),
	ALLOW_READING(SYS_openat),
	REFUSE,
};

int filter_load(void)
{
	const struct sock_fprog prog = {
		.len = (unsigned short)ARRAY_SIZE(program),
		.filter = program,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		return -errno;
	return 0;
}
