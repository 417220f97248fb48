/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.c - from an arbitrary start by the runtime to a PID 1 without rights
 *
 * Nothing is assumed about how the runtime starts PID 1: descriptors may be
 * missing or leaked, signals ignored or pending, the environment hostile.
 */
#include "init-guard/start/setup.h"

#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lib/file.h"
#include "lib/proc.h"
#include "lib/sock.h"

#define STATUS_MAX 16384u /* bytes of /proc/self/status */

/* Reads a set of 64 from /proc/self/status: one file is quicker than a system
 * call for each member. Returns false if the kernel does not show it. */
static bool set_shown(const char *key, uint64_t *ret)
{
	SCOPED_STR text = NULL;
	const char *at;

	if (file_read("/proc/self/status", STATUS_MAX, &text, NULL) < 0)
		return false;
	at = strstr(text, key);
	/* always 16 hexadecimal digits (proc(5)) */
	return at && sscanf(at + strlen(key), "%16" SCNx64, ret) == 1;
}

static int fds_repair(struct err *err)
{
	int fd;

	/* open() returns the lowest free number, hence the ascending order */
	for (fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return err_sys(err, "open /dev/null as %d", fd);
	}
	/* Old gVisor refuses ~0U as the last one; a sandbox's limit is far
	 * below INT_MAX. */
	if (syscall(SYS_close_range, 3u, ~0u, 0u) < 0 &&
	    syscall(SYS_close_range, 3u, (unsigned int)INT_MAX, 0u) < 0)
		return err_sys(err, "close_range");
	return 0;
}

/* In gVisor, PID 1 dies of any signal with a default action. The synchronous
 * ones stay unblocked: blocked, they would kill it all the same. */
static int signals_block(struct err *err)
{
	static const int faults[] = { SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
				      SIGABRT, SIGTRAP, SIGSYS };
	sigset_t set;
	size_t i;

	sigfillset(&set);
	for (i = 0; i < ARRAY_SIZE(faults); i++)
		sigdelset(&set, faults[i]);
	if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
		return err_sys(err, "block signals");
	return 0;
}

static void environ_destroy(void)
{
	char **e;

	for (e = environ; e && *e; e++)
		explicit_bzero(*e, strlen(*e));
	(void)clearenv();
}

int setup_early(struct err *err)
{
	const struct rlimit none = { 0, 0 };
	int rc = signals_block(err);

	if (rc == 0)
		rc = fds_repair(err);
	if (rc < 0)
		return rc;
	umask(077);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(err, "PR_SET_DUMPABLE");
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_sys(err, "RLIMIT_CORE");
	if (chdir("/") < 0)
		return err_sys(err, "chdir /");
	environ_destroy();
	return 0;
}

int setup_be_init(struct err *err)
{
	if (getpid() != 1)
		return err_set(err, -EPERM, "must be PID 1 of a sandbox, is %d",
			       getpid());
	if (getuid() != 0 || geteuid() != 0)
		return err_set(err, -EPERM, "must start as root, is uid %u",
			       (unsigned int)geteuid());
	/* Inherited by every exec, so that none has to do it again. */
	if (setgroups(0, NULL) < 0)
		return err_sys(err, "drop supplementary groups");
	return 0;
}

/* Moves a descriptor where no child inherits it; @null takes its place. */
static int fd_move(int fd, int null, struct err *err)
{
	SCOPED_FD moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (moved < 0)
		return err_sys(err, "take the link from descriptor %d", fd);
	if (dup2(null, fd) < 0 || fd_nonblock(moved, 1) < 0)
		return err_sys(err, "take the link from descriptor %d", fd);
	return fd_take(&moved);
}

int setup_take_link(int *ret_in, int *ret_out, struct err *err)
{
	SCOPED_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
	SCOPED_FD in = -1;
	SCOPED_FD out = -1;
	struct stat st;

	if (null < 0)
		return err_sys(err, "open /dev/null");
	in = fd_move(0, null, err);
	if (in >= 0)
		out = fd_move(1, null, err);
	if (in < 0 || out < 0)
		return err->code;
	if (fstat(in, &st) < 0)
		return err_sys(err, "stat the link");
	/*
	 * A socket on 0 serves both directions, whatever is on 1: gVisor makes
	 * a host socket that is both 0 and 1 non-blocking for 0 only. What was
	 * on 1 stays open, unused: gVisor shuts a host socket down for all when
	 * one file of it closes.
	 */
	if (S_ISSOCK(st.st_mode)) {
		(void)fd_take(&out);
		out = fcntl(in, F_DUPFD_CLOEXEC, 3);
		if (out < 0)
			return err_sys(err, "duplicate the link");
	}
	*ret_in = fd_take(&in);
	*ret_out = fd_take(&out);
	return 0;
}

static int dir_is_empty(int fd, struct err *err)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPED_DIR dir = own < 0 ? NULL : fdopendir(own);
	struct dirent *e;

	if (!dir) {
		fd_closep(&own);
		return err_sys(err, "read directory");
	}
	while ((e = readdir(dir))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			return 0;
	}
	return 1;
}

/* Asks the kernel, with the agent's ids, whether the agent may write there. */
static int dir_check_as_agent(int fd)
{
	int rc = 0;

	if (setegid(AGENT_GID) < 0 || seteuid(AGENT_UID) < 0)
		return -errno;
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		rc = -errno;
	if (seteuid(0) < 0 || setegid(0) < 0)
		return -errno;
	return rc;
}

/* Gives an empty directory that an image or an engine made as root to the
 * agent. Other directories keep their owner. */
static int place_ensure(const char *path, struct err *err)
{
	SCOPED_FD fd = -1;
	struct stat st;
	int rc;

	if (mkdir(path, 0755) == 0)
		(void)chmod(path, 0755); /* despite our umask */
	/* O_PATH: without CAP_DAC_OVERRIDE, even root may not read it. */
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "open %s", path);
	if (st.st_uid == 0) {
		rc = dir_is_empty(fd, err);
		if (rc < 0)
			return err_wrap(err, "%s", path);
		if (rc > 0 &&
		    fchownat(fd, "", AGENT_UID, AGENT_GID, AT_EMPTY_PATH) < 0 &&
		    errno != EROFS)
			return err_sys(err, "chown %s", path);
	}
	rc = dir_check_as_agent(fd);
	if (rc < 0 && rc != -EROFS) /* a read-only workspace is fine */
		return err_set(err, rc,
			       "%s (owner %u, mode %04o) cannot be written by "
			       "the agent, uid %d: %s",
			       path, (unsigned int)st.st_uid,
			       (unsigned int)(st.st_mode & 07777), AGENT_UID,
			       err_text(rc));
	return 0;
}

int setup_places(struct err *err)
{
	int rc;

	if (mkdir("/home", 0755) == 0)
		(void)chmod("/home", 0755);
	rc = place_ensure(AGENT_WORKSPACE, err);
	return rc < 0 ? rc : place_ensure(AGENT_HOME, err);
}

/* Keeps the capabilities. Verified by what the kernel reports afterwards, not
 * by the success of the call. */
static int caps_keep(bool nameless, struct err *err)
{
	static const cap_value_t keep[] = { CAP_KILL, CAP_SETUID, CAP_SETGID,
					    CAP_CHOWN, CAP_SYS_ADMIN };
	const int n = (int)ARRAY_SIZE(keep) - !nameless;
	cap_t want = cap_init(), have = NULL; /* all clear */
	int rc = 0;

	if (!want || cap_set_flag(want, CAP_PERMITTED, n, keep, CAP_SET) < 0 ||
	    cap_set_flag(want, CAP_EFFECTIVE, n, keep, CAP_SET) < 0 ||
	    cap_set_proc(want) < 0 || !(have = cap_get_proc()))
		rc = err_sys(err, "drop capabilities");
	else if (cap_compare(want, have) != 0)
		rc = err_set(err, -EPERM, "capabilities could not be dropped");
	cap_free(have);
	cap_free(want);
	return rc;
}

/* Finds the bounding set by a system call for each capability, which is slow,
 * hence only if the kernel does not show it. */
static uint64_t bounding_asked(void)
{
	uint64_t set = 0;
	cap_value_t c;

	for (c = 0; c < cap_max_bits(); c++) {
		if (cap_get_bound(c) != 0)
			set |= UINT64_C(1) << c;
	}
	return set;
}

static uint64_t bounding_set(void)
{
	uint64_t set;

	return set_shown("\nCapBnd:\t", &set) ? set : bounding_asked();
}

static int bounding_drop(struct err *err)
{
	uint64_t set = bounding_set();
	cap_value_t c;

	for (c = 0; c < 64; c++) {
		if (!(set >> c & 1))
			continue;
		if (cap_drop_bound(c) < 0)
			return err_sys(err,
				       "drop capability %d from the "
				       "bounding set",
				       c);
	}
	set = bounding_set();
	return set == 0 ?
		       0 :
		       err_set(err, -EPERM,
			       "the bounding set is not empty: %" PRIx64, set);
}

int setup_drop_caps(bool nameless, struct err *err)
{
	int rc;

	/* A kernel without ambient sets has none to clear. In one call, where
	 * libcap asks for each capability first. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 &&
	    errno != EINVAL)
		return err_sys(err, "clear ambient capabilities");
	rc = bounding_drop(err);
	return rc < 0 ? rc : caps_keep(nameless, err);
}

int setup_drop_rest(struct err *err)
{
	return caps_keep(false, err);
}
