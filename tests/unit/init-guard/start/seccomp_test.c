/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp_test.c - what the filter says, without loading it
 *
 * The compiled program is exported and run by a small interpreter, so that
 * the table's meaning is tested to the instruction, on any kernel.
 */
#include "init-guard/start/seccomp.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/unit/tap.h"

#define HIGH (1ull << 32) /* rubbish above a 32-bit argument */

static struct sock_filter prog[BPF_MAXINSNS];
static size_t prog_len;

static bool bpf_jump(const struct sock_filter *i, uint32_t acc)
{
	switch (BPF_OP(i->code)) {
	case BPF_JEQ:
		return acc == i->k;
	case BPF_JGT:
		return acc > i->k;
	case BPF_JGE:
		return acc >= i->k;
	default: /* BPF_JSET */
		return acc & i->k;
	}
}

/* The action for one system call, or UINT32_MAX when the program is bad. */
static uint32_t bpf_run(const struct seccomp_data *data)
{
	uint32_t acc = 0;
	size_t pc = 0;

	while (pc < prog_len) {
		const struct sock_filter *i = &prog[pc++];

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			if (i->k > sizeof(*data) - 4)
				return UINT32_MAX;
			memcpy(&acc, (const uint8_t *)data + i->k, 4);
			break;
		case BPF_ALU: /* only the masks of comparisons */
			acc &= i->k;
			break;
		case BPF_JMP:
			if (BPF_OP(i->code) == BPF_JA)
				pc += i->k;
			else
				pc += bpf_jump(i, acc) ? i->jt : i->jf;
			break;
		case BPF_RET:
			return i->k;
		default:
			return UINT32_MAX;
		}
	}
	return UINT32_MAX;
}

static bool prog_load(void *filter)
{
	SCOPED_FD fd = memfd_create("bpf", MFD_CLOEXEC);
	ssize_t n;

	if (fd < 0 || seccomp_export_bpf(filter, fd) < 0)
		return false;
	n = pread(fd, prog, sizeof(prog), 0);
	prog_len = n > 0 ? (size_t)n / sizeof(prog[0]) : 0;
	return prog_len > 0;
}

struct call_case {
	const char *what;
	int nr;
	int want; /* errno, 0: allowed */
	uint64_t args[4];
};

static const struct call_case calls[] = {
	/* what any program does */
	{ "read", SYS_read, 0, { 0 } },
	{ "execve", SYS_execve, 0, { 0 } },
	{ "fork", SYS_clone, 0, { 17 } },
	{ "thread",
	  SYS_clone,
	  0,
	  { CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
	    CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
	    CLONE_CHILD_CLEARTID } },
	{ "vfork by clone", SYS_clone, 0, { CLONE_VM | CLONE_VFORK | 17 } },
	{ "prctl name", SYS_prctl, 0, { PR_SET_NAME } },
	{ "socket inet", SYS_socket, 0, { AF_INET } },
	{ "socket netlink", SYS_socket, 0, { AF_NETLINK } },
	{ "socket unix", SYS_socket, 0, { AF_UNIX } },
	{ "ioctl window size", SYS_ioctl, 0, { 0, TIOCGWINSZ } },
	{ "openat read", SYS_openat, 0, { 0, 0, O_RDONLY } },
	{ "openat create 0666", SYS_openat, 0, { 0, 0, O_CREAT, 0666 } },
	{ "openat read, rubbish for a mode",
	  SYS_openat,
	  0,
	  { 0, 0, O_RDONLY, ~0ull } },
	{ "openat directory, rubbish for a mode",
	  SYS_openat,
	  0,
	  { 0, 0, O_DIRECTORY, ~0ull } },
	{ "openat temporary 0600", SYS_openat, 0, { 0, 0, O_TMPFILE, 0600 } },
	{ "fchmodat 0755", SYS_fchmodat, 0, { 0, 0, 0755 } },
	{ "fchmodat sticky", SYS_fchmodat, 0, { 0, 0, 01777 } },
	{ "mknodat fifo", SYS_mknodat, 0, { 0, 0, S_IFIFO | 0644 } },
	{ "setresuid", SYS_setresuid, 0, { 0 } },
	{ "capset", SYS_capset, 0, { 0 } },
	{ "memfd_create", SYS_memfd_create, 0, { 0 } },
	{ "seccomp", SYS_seccomp, 0, { 0 } },
	/* what an agent may not */
	{ "ptrace", SYS_ptrace, EPERM, { 0 } },
	{ "unshare", SYS_unshare, EPERM, { 0 } },
	{ "setns", SYS_setns, EPERM, { 0 } },
	{ "mount", SYS_mount, EPERM, { 0 } },
	{ "bpf", SYS_bpf, EPERM, { 0 } },
	{ "io_uring_setup", SYS_io_uring_setup, EPERM, { 0 } },
	{ "mount_setattr", 442, EPERM, { 0 } },
	{ "clone3", SYS_clone3, ENOSYS, { 0 } },
	{ "openat2", 437, ENOSYS, { 0 } },
	{ "clone user namespace", SYS_clone, EPERM, { CLONE_NEWUSER | 17 } },
	{ "clone mount namespace", SYS_clone, EPERM, { CLONE_NEWNS | 17 } },
	{ "clone network, with rubbish",
	  SYS_clone,
	  EPERM,
	  { CLONE_NEWNET | 17 | HIGH } },
	{ "prctl mm", SYS_prctl, EPERM, { PR_SET_MM } },
	{ "prctl mm, with rubbish", SYS_prctl, EPERM, { PR_SET_MM | HIGH } },
	{ "ioctl TIOCSTI", SYS_ioctl, EPERM, { 0, TIOCSTI } },
	{ "ioctl TIOCSTI, with rubbish",
	  SYS_ioctl,
	  EPERM,
	  { 0, TIOCSTI | HIGH } },
	{ "ioctl TIOCLINUX, with rubbish",
	  SYS_ioctl,
	  EPERM,
	  { 0, TIOCLINUX | HIGH << 3 } },
	{ "socket packet", SYS_socket, EAFNOSUPPORT, { AF_PACKET } },
	{ "socket vsock, with rubbish",
	  SYS_socket,
	  EAFNOSUPPORT,
	  { AF_VSOCK | HIGH } },
	{ "fchmodat setuid", SYS_fchmodat, EPERM, { 0, 0, 04755 } },
	{ "fchmodat setgid", SYS_fchmodat, EPERM, { 0, 0, 02755 } },
	{ "fchmod setuid, with rubbish",
	  SYS_fchmod,
	  EPERM,
	  { 0, 04000 | HIGH } },
	{ "fchmodat2 setuid", 452, EPERM, { 0, 0, 04755 } },
	{ "mknod whiteout", SYS_mknod, EPERM, { 0, S_IFCHR } },
	{ "mknodat block device, with rubbish",
	  SYS_mknodat,
	  EPERM,
	  { 0, 0, S_IFBLK | 0600 | HIGH } },
	{ "mknodat setuid file",
	  SYS_mknodat,
	  EPERM,
	  { 0, 0, S_IFREG | 04755 } },
	{ "openat create setuid", SYS_openat, EPERM, { 0, 0, O_CREAT, 04755 } },
	{ "openat create setgid",
	  SYS_openat,
	  EPERM,
	  { 0, 0, O_CREAT | O_EXCL | O_WRONLY, 02755 } },
	{ "openat temporary setuid",
	  SYS_openat,
	  EPERM,
	  { 0, 0, O_TMPFILE | O_RDWR, 04755 } },
#ifdef SYS_chmod /* calls that newer architectures left out */
	{ "chmod 0755", SYS_chmod, 0, { 0, 0755 } },
	{ "chmod setuid", SYS_chmod, EPERM, { 0, 04755 } },
	{ "open create setuid", SYS_open, EPERM, { 0, O_CREAT, 04755 } },
	{ "open read, rubbish for a mode", SYS_open, 0, { 0, 0, ~0ull } },
	{ "creat setuid", SYS_creat, EPERM, { 0, 04755 } },
	{ "mkdir setgid is the kernel's to mask", SYS_mkdir, 0, { 0, 02755 } },
#endif
};

static void test_calls(uint32_t arch)
{
	struct seccomp_data data;
	uint32_t want;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		data = (struct seccomp_data){ .nr = calls[i].nr, .arch = arch };
		memcpy(data.args, calls[i].args, sizeof(calls[i].args));
		want = calls[i].want ?
			       SECCOMP_RET_ERRNO | (uint32_t)calls[i].want :
			       SECCOMP_RET_ALLOW;
		is_int(bpf_run(&data), want, "%s is %s", calls[i].what,
		       calls[i].want ? "denied" : "allowed");
	}
}

static void test_table(void)
{
	size_t i;

	for (i = 0; i < guard_rules_count; i++) {
		const struct guard_rule *r = &guard_rules[i];

		if (seccomp_syscall_resolve_name(r->name) == __NR_SCMP_ERROR &&
		    r->nr < 0)
			ok(false, "%s is known", r->name);
		if (r->error <= 0 || r->cmps > ARRAY_SIZE(r->cmp))
			ok(false, "%s is sound", r->name);
	}
	ok(guard_rules_count > 80, "the table has %zu rules",
	   guard_rules_count);
}

/* gVisor refuses a filter with an action that it does not know. */
static void test_actions(void)
{
	size_t i;
	bool plain = true;

	for (i = 0; i < prog_len; i++) {
		if (BPF_CLASS(prog[i].code) != BPF_RET)
			continue;
		switch (prog[i].k & SECCOMP_RET_ACTION_FULL) {
		case SECCOMP_RET_ALLOW:
		case SECCOMP_RET_ERRNO:
		case SECCOMP_RET_KILL_THREAD:
			break;
		default:
			plain = false;
		}
	}
	ok(plain, "only actions that every kernel has");
}

int main(void)
{
	const uint32_t arch = seccomp_arch_native();
	struct seccomp_data foreign = { .nr = 0, .arch = AUDIT_ARCH_I386 };
	struct err err = { 0 };
	void *filter;

	test_table();
	filter = guard_filter_new(&err);
	if (ok(filter != NULL, "the table compiles") &&
	    ok(prog_load(filter), "... and is exported")) {
		test_calls(arch);
		test_actions();
		is_int(bpf_run(&foreign), SECCOMP_RET_KILL_THREAD,
		       "a call of another architecture kills");
	}
	guard_filter_free(filter);
	return done_testing();
}
