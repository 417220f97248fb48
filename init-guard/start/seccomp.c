/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp.c - the deny list of the agent
 *
 * Theory of operation: PID 1 loads the filter on itself, so that everything it
 * starts inherits it. It is loaded with CAP_SYS_ADMIN instead of no_new_privs,
 * because the agent's only privileged files are setuid to a user without rights
 * (990) and must continue to work.
 *
 * The list denies calls that expose more of the kernel or circumvent the
 * attestation: namespaces, mounts, tracing of others, keys, bpf, modules. It is
 * a deny list because agents run arbitrary tools; under gVisor the sentry is
 * the boundary, not this filter.
 *
 * Arguments that the kernel takes as 32 bits are compared as 32 bits: with a
 * 64-bit comparison the same call with garbage in the high half would pass.
 *
 * set-id bits: what the agent writes in its workspace is on the user's own
 * disk, owned by the user. A setuid file there would run as the user for any
 * other account of that machine, so no call may make one. mkdir() is not
 * covered: the kernel itself masks these bits there. openat2() hides its mode
 * behind a pointer that a filter cannot follow, and it does make setuid files:
 * it fails with ENOSYS, and its users fall back to openat(). clone3() likewise
 * hides its namespace flags, and libc falls back to clone().
 */
#include "init-guard/start/seccomp.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/tiocl.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define LOW32 0xffffffffu
/* The kernel's own bit of O_TMPFILE; the rest of that is O_DIRECTORY. */
#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

#define DENY_AS(call, err)                               \
	{                                                \
		.name = (call), .nr = -1, .error = (err) \
	}
#define DENY(call) DENY_AS(call, EPERM)
/* A call newer than some libseccomp; @n is the same on all architectures. */
#define DENY_NEW(call, n)                                 \
	{                                                 \
		.name = (call), .nr = (n), .error = EPERM \
	}
#define DENY_ARG(call, num, n, m, v, err)                               \
	{                                                               \
		.name = (call), .nr = (num), .error = (err), .cmps = 1, \
		.cmp = { { .arg = (n), .mask = (m), .value = (v) } },   \
	}
#define DENY_BIT(call, n, bit) DENY_ARG(call, -1, n, bit, bit, EPERM)
#define DENY_NEW_BIT(call, num, n, bit) DENY_ARG(call, num, n, bit, bit, EPERM)
#define DENY_INT(call, n, v, err) DENY_ARG(call, -1, n, LOW32, v, err)
#define DENY_SETID(call, n) \
	DENY_BIT(call, n, S_ISUID), DENY_BIT(call, n, S_ISGID)
/* Even the one device that any process may make, 0:0, hides a file where the
 * workspace becomes a layer of an overlay on the user's side. */
#define DENY_DEVICE(call, n)                           \
	DENY_ARG(call, -1, n, S_IFMT, S_IFCHR, EPERM), \
		DENY_ARG(call, -1, n, S_IFMT, S_IFBLK, EPERM)
/* The mode argument counts only if a file may be made. */
#define DENY_OPEN_BITS(call, n, make, bit)                                    \
	{                                                                     \
		.name = (call), .nr = -1, .error = EPERM, .cmps = 2,          \
		.cmp = { { .arg = (n), .mask = (make), .value = (make) },     \
			 { .arg = (n) + 1, .mask = (bit), .value = (bit) } }, \
	}
#define DENY_OPEN_SETID(call, n)                               \
	DENY_OPEN_BITS(call, n, O_CREAT, S_ISUID),             \
		DENY_OPEN_BITS(call, n, O_CREAT, S_ISGID),     \
		DENY_OPEN_BITS(call, n, TMPFILE_BIT, S_ISUID), \
		DENY_OPEN_BITS(call, n, TMPFILE_BIT, S_ISGID)

const struct guard_rule guard_rules[] = {
	/* other processes */
	DENY("ptrace"),
	DENY("process_vm_readv"),
	DENY("process_vm_writev"),
	DENY("pidfd_getfd"),
	DENY("kcmp"),
	DENY("process_madvise"),
	DENY_INT("prctl", 0, PR_SET_MM, EPERM),
	DENY_INT("prctl", 0, PR_SET_PTRACER, EPERM),

	/* namespaces and mounts */
	DENY("setns"),
	DENY("unshare"),
	DENY_AS("clone3", ENOSYS),
	DENY_BIT("clone", 0, CLONE_NEWUSER),
	DENY_BIT("clone", 0, CLONE_NEWNS),
	DENY_BIT("clone", 0, CLONE_NEWPID),
	DENY_BIT("clone", 0, CLONE_NEWNET),
	DENY_BIT("clone", 0, CLONE_NEWIPC),
	DENY_BIT("clone", 0, CLONE_NEWUTS),
	DENY_BIT("clone", 0, CLONE_NEWCGROUP),
	DENY("mount"),
	DENY("umount2"),
	DENY("pivot_root"),
	DENY("chroot"),
	DENY("fsopen"),
	DENY("fsconfig"),
	DENY("fsmount"),
	DENY("fspick"),
	DENY("open_tree"),
	DENY("move_mount"),
	DENY_NEW("mount_setattr", 442),
	DENY_NEW("open_tree_attr", 467),

	/* ways around the file checks */
	DENY("open_by_handle_at"),
	DENY("name_to_handle_at"),
	DENY("fanotify_init"),
	DENY_AS("openat2", ENOSYS),
	DENY_SETID("chmod", 1),
	DENY_SETID("fchmod", 1),
	DENY_SETID("fchmodat", 2),
	DENY_NEW_BIT("fchmodat2", 452, 2, S_ISUID),
	DENY_NEW_BIT("fchmodat2", 452, 2, S_ISGID),
	DENY_SETID("mknod", 1),
	DENY_SETID("mknodat", 2),
	DENY_DEVICE("mknod", 1),
	DENY_DEVICE("mknodat", 2),
	DENY_SETID("creat", 1),
	DENY_OPEN_SETID("open", 1),
	DENY_OPEN_SETID("openat", 2),

	/* kernel interfaces that no agent needs */
	DENY("keyctl"),
	DENY("add_key"),
	DENY("request_key"),
	DENY("bpf"),
	DENY("perf_event_open"),
	DENY("userfaultfd"),
	DENY("io_uring_setup"),
	DENY("io_uring_enter"),
	DENY("io_uring_register"),
	DENY("move_pages"),
	DENY("mbind"),
	DENY("lookup_dcookie"),
	DENY("nfsservctl"),
	DENY("syslog"),
	DENY("vhangup"),
	DENY("quotactl"),
	DENY_NEW("quotactl_fd", 443),
	DENY_INT("socket", 0, AF_PACKET, EAFNOSUPPORT),
	DENY_INT("socket", 0, AF_VSOCK, EAFNOSUPPORT),

	/* typing, and on a console pasting, into a terminal that another
	 * process reads */
	DENY_INT("ioctl", 1, TIOCSTI, EPERM),
	DENY_INT("ioctl", 1, TIOCLINUX, EPERM),
	/* A disk limit counts by the project of a file, which an owner may
	 * change. */
	DENY_INT("ioctl", 1, FS_IOC_FSSETXATTR, EPERM),
	DENY_INT("ioctl", 1, FS_IOC_SETFLAGS, EPERM),
	DENY_INT("ioctl", 1, FS_IOC32_SETFLAGS, EPERM),
	DENY_NEW("file_setattr", 469),

	/* the machine */
	DENY("kexec_load"),
	DENY("kexec_file_load"),
	DENY("init_module"),
	DENY("finit_module"),
	DENY("delete_module"),
	DENY("acct"),
	DENY("swapon"),
	DENY("swapoff"),
	DENY("reboot"),
	DENY("settimeofday"),
	DENY("clock_settime"),
	DENY("clock_adjtime"),
	DENY("adjtimex"),
	DENY("iopl"),
	DENY("ioperm"),
};
const size_t guard_rules_count = ARRAY_SIZE(guard_rules);

static int filter_add(scmp_filter_ctx ctx, const struct guard_rule *r)
{
	struct scmp_arg_cmp cmp[2] = { 0 };
	int nr = seccomp_syscall_resolve_name(r->name);
	unsigned int i;

	if (nr == __NR_SCMP_ERROR)
		nr = r->nr;
	if (nr == -1)
		return -ENOENT;
	for (i = 0; i < r->cmps; i++)
		cmp[i] = (struct scmp_arg_cmp){
			.arg = r->cmp[i].arg,
			.op = SCMP_CMP_MASKED_EQ,
			.datum_a = r->cmp[i].mask,
			.datum_b = r->cmp[i].value,
		};
	return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((unsigned)r->error),
				      nr, r->cmps, cmp);
}

void *guard_filter_new(struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	size_t i;
	int rc;

	if (!ctx) {
		err_set(err, -ENOMEM, "seccomp filter: no memory");
		return NULL;
	}
	rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_NNP, 0);
	/* A balanced tree of numbers: a dozen steps for any call. */
	if (rc == 0)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc < 0) {
		err_set(err, rc, "seccomp filter: %s", err_text(rc));
		seccomp_release(ctx);
		return NULL;
	}
	for (i = 0; i < guard_rules_count; i++) {
		rc = filter_add(ctx, &guard_rules[i]);
		if (rc == 0)
			continue;
		err_set(err, rc, "seccomp rule for %s: %s", guard_rules[i].name,
			err_text(rc));
		seccomp_release(ctx);
		return NULL;
	}
	return ctx;
}

void guard_filter_free(void *filter)
{
	if (filter)
		seccomp_release(filter);
}

int guard_filter_load(void *filter, struct err *err)
{
	int rc = seccomp_load(filter);

	if (rc < 0)
		return err_set(err, rc,
			       "seccomp filter refused by this kernel: %s",
			       err_text(rc));
	return 0;
}
