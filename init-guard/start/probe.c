/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c - tests at every start that dropped rights are gone
 *
 * Theory of operation: acd has tested the runtime with init-guard --self-test
 * already. This is the short form for the actual sandbox, in which a flag or a
 * mount may differ: one child on borrowed memory (see exec.c) takes an unused
 * uid, makes each attempt and leaves the number of the first that succeeded. No
 * process of the agent exists yet.
 */
#include "init-guard/start/probe.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "init-guard/start/peer.h"
#include "lib/file.h"

#define STRANGER 65533 /* a uid without a user */
#define STACK_SIZE (32u * 1024)
#define SETID_LIST "/usr/libexec/ac/setid-files"
#define SETID_MAX 4096u

static _Alignas(16) uint8_t child_stack[STACK_SIZE];

/* ---- the image ---- */

int probe_image(struct report *r, struct err *err)
{
	SCOPED_STR text = NULL;
	struct stat st;
	int rc = file_read(SETID_LIST, SETID_MAX, &text, NULL);

	if (rc < 0) {
		err_set(err, -EPERM,
			"the image has no list of its setuid files, which "
			"builds that start from ac/base make (" SETID_LIST
			": %s)",
			err_text(rc));
		return report_judge(r, "setuid-files", -EPERM, err);
	}
	if (lstat(SETID_LIST, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != 0 || (st.st_mode & 022))
		return err_set(err, -EPERM, SETID_LIST " is not root's alone");
	if (text[0])
		return err_set(err, -EPERM,
			       "the image has a setuid, setgid or capability "
			       "file: %.*s",
			       (int)strcspn(text, "\n"), text);
	report_ok(r, "setuid-files");
	return 0;
}

/* ---- the child: system calls only ---- */

static int try_ids(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { 0 };
	int i;

	if (syscall(SYS_setresuid, 0, 0, 0) == 0 ||
	    syscall(SYS_capget, &head, data) < 0)
		return -1;
	for (i = 0; i < 2; i++) {
		if (data[i].effective | data[i].permitted | data[i].inheritable)
			return -1;
	}
	return prctl(PR_CAPBSET_READ, CAP_SETUID, 0, 0, 0) == 0 ? 0 : -1;
}

static int try_proc(void)
{
	static const char *const names[] = { "/proc/1/environ", "/proc/1/mem",
					     "/proc/1/fd" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (open(names[i], O_RDONLY | O_CLOEXEC) >= 0 ||
		    errno != EACCES)
			return -1;
	}
	return 0;
}

static int try_signal(void)
{
	return kill(1, 0) < 0 && errno == EPERM ? 0 : -1;
}

static int try_userns(void)
{
	if (syscall(SYS_unshare, CLONE_NEWUSER) == 0 || errno != EPERM)
		return -1;
	/* Without the filter it would fail because of the missing argument. */
	return syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS ? 0 : -1;
}

/* No descriptor -1, which would fail without the filter too. */
static int try_filter(void)
{
	if (ioctl(-1, TIOCSTI, "") == 0 || errno != EPERM)
		return -1;
	return fchmod(-1, 04755) < 0 && errno == EPERM ? 0 : -1;
}

/* gVisor allows opening other processes' namespaces, Linux does not; neither
 * may allow entering one. */
static int try_setns(void)
{
	int fd = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return errno == EACCES ? 0 : -1;
	rc = setns(fd, CLONE_NEWNET) < 0 && errno == EPERM ? 0 : -1;
	close(fd);
	return rc;
}

static const struct {
	const char *check, *failure;
	int (*fn)(void);
} tries[] = {
	{ "peer-credentials", "cannot speak to a socket of PID 1", peer_speak },
	{ "capabilities", "dropped rights can be regained", try_ids },
	{ "proc", "/proc of PID 1 is open to others", try_proc },
	{ "signals", "PID 1 can be signalled", try_signal },
	{ "user-namespaces", "a user namespace can be made", try_userns },
	{ "namespaces", "a namespace of PID 1 can be entered", try_setns },
	{ "seccomp", "the filter leaks", try_filter },
};

/* Returns its exit code: 0, or the number of the attempt that succeeded. */
static int stranger_main(void *arg)
{
	size_t i;

	(void)arg;
	if (syscall(SYS_setresgid, STRANGER, STRANGER, STRANGER) < 0 ||
	    syscall(SYS_setresuid, STRANGER, STRANGER, STRANGER) < 0)
		_exit(255);
	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		if (tries[i].fn() != 0)
			_exit((int)i + 1);
	}
	_exit(0);
}

static int stranger_judge(int status, struct report *r, struct err *err)
{
	size_t code = WIFEXITED(status) ? (size_t)WEXITSTATUS(status) : 255, i;

	if (code > ARRAY_SIZE(tries))
		return err_set(err, -EPERM, "self-test: no test process (%#x)",
			       (unsigned int)status);
	if (code > 0)
		return err_set(err, -EPERM, "self-test: %s",
			       tries[code - 1].failure);
	for (i = 0; i < ARRAY_SIZE(tries); i++)
		report_ok(r, tries[i].check);
	return 0;
}

/* Setuid to the vault's uid must work for its wrappers. */
static int judge_nnp(struct report *r, struct err *err)
{
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0) {
		report_ok(r, "setuid");
		return 0;
	}
	err_set(err, -EPERM, "no_new_privs is set");
	return report_judge(r, "setuid", -EPERM, err);
}

int probe_rights(struct report *r, struct err *err)
{
	SCOPED_FD lis = peer_listen(err);
	int status = 0, rc;
	pid_t pid;

	if (lis < 0)
		return err->code;
	pid = clone(stranger_main, child_stack + STACK_SIZE,
		    CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	if (pid < 0)
		return err_sys(err, "self-test: clone");
	rc = peer_judge(lis, pid, STRANGER, err);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* The child's failure explains more. */
	if (status != 0 || rc == 0)
		rc = stranger_judge(status, r, err);
	return rc < 0 ? rc : judge_nnp(r, err);
}
