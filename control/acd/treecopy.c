/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treecopy.c - all files of one tree into another, and nowhere else
 *
 * Theory of operation. cp writes through a link that lies where it is to put
 * a file, and the agent may have left one there: as acd, root, it would write
 * anywhere in ac-host. So it runs in a mount namespace whose root has the two
 * trees and, read-only, the programs; a link that leads elsewhere leads
 * nowhere. Links of the right name are removed before that, as is a file in
 * the place of a directory or the other way round: what is copied counts.
 */
#include "control/acd/treecopy.h"

#include <fcntl.h>
#include <fts.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/attr.h"
#include "lib/file.h"
#include "lib/proc.h"
#include "lib/str.h"

#define NEW_ROOT "/tmp" /* covered in the new namespace alone */
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define READ_ONLY (MS_RDONLY | MS_NOSUID | MS_NODEV)
#define EXIT_JAIL 125 /* cp has 0 and 1 */

/* ---- the child ---- */

/* The directory we are in appears as @target. */
static int bind_here(const char *target, unsigned long flags)
{
	if (mkdir(target, 0700) < 0 ||
	    mount(".", target, NULL, MS_BIND, NULL) < 0)
		return -errno;
	if (flags &&
	    mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | flags, NULL) < 0)
		return -errno;
	return 0;
}

/* A directory of programs, which is a link where all are below /usr. */
static int programs_bind(const char *name)
{
	SCOPED_STR path = str_printf("/%s", name);
	SCOPED_STR target = str_printf(NEW_ROOT "/%s", name);
	char link[PATH_MAX];
	ssize_t n = path ? readlink(path, link, sizeof(link) - 1) : 0;

	if (!path || !target)
		return -ENOMEM;
	if (n > 0) {
		link[n] = '\0';
		return symlink(link, target) < 0 ? -errno : 0;
	}
	if (chdir(path) < 0)
		return errno == ENOENT ? 0 : -errno;
	return bind_here(target, READ_ONLY);
}

static int jail_enter(const char *from, const char *to)
{
	static const char *const programs[] = { "usr", "bin", "lib", "lib64" };
	SCOPED_FD src = -1;
	SCOPED_FD dst = -1;
	int r;

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	src = open(from, DIR_FLAGS);
	dst = open(to, DIR_FLAGS);
	if (src < 0 || dst < 0 ||
	    mount("none", NEW_ROOT, "tmpfs", MS_NOSUID | MS_NODEV,
		  "mode=0700,size=1m") < 0 ||
	    fchdir(src) < 0)
		return -errno;
	r = bind_here(NEW_ROOT "/from", READ_ONLY);
	if (r == 0 && fchdir(dst) < 0)
		r = -errno;
	if (r == 0)
		r = bind_here(NEW_ROOT "/to", 0);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(programs); i++)
		r = programs_bind(programs[i]);
	if (r < 0)
		return r;
	return chdir(NEW_ROOT) < 0 || chroot(".") < 0 || chdir("/") < 0 ?
		       -errno :
		       0;
}

/* Removes from /to what cp would not replace, or write through. In the jail,
 * and from the top down: no parent of what is looked at is a link. */
static int way_clear(void)
{
	char root[] = "/from";
	char *const roots[] = { root, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL, NULL);
	int r = fts ? 0 : -errno;
	FTSENT *e;

	while (r == 0 && (errno = 0, e = fts_read(fts))) {
		SCOPED_STR to = NULL;
		struct stat st;

		if (e->fts_info == FTS_DP || e->fts_level == 0)
			continue;
		if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR ||
		    e->fts_info == FTS_NS) {
			r = -e->fts_errno;
			continue;
		}
		to = str_printf("/to%s", e->fts_path + sizeof(root) - 1);
		if (!to)
			r = -ENOMEM;
		else if (lstat(to, &st) < 0)
			r = errno == ENOENT ? 0 : -errno;
		else if (!S_ISDIR(st.st_mode) || e->fts_info != FTS_D)
			r = file_remove_tree(to);
	}
	if (r == 0 && errno != 0)
		r = -errno;
	if (fts)
		fts_close(fts);
	return r;
}

static ATTR_NORETURN void copy_child(const char *from, const char *to,
				     int report)
{
	const char *const argv[] = {
		"cp", "-a", "--", "/from/.", "/to/.", NULL
	};
	/* There is no /dev in the jail. */
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct proc_opts opts = {
		.argv = argv, .fd = { null, STDERR_FILENO, STDERR_FILENO }
	};
	int r = null < 0 ? -errno : jail_enter(from, to);

	if (r == 0)
		r = way_clear();
	if (r == 0)
		r = proc_exec(&opts);
	_exit(write(report, &r, sizeof(r)) == sizeof(r) ? EXIT_JAIL :
							  EXIT_JAIL + 1);
}

/* ---- who waits for it ---- */

int treecopy(const char *from, const char *to, struct err *err)
{
	int fds[2], status = 0, why = -EIO;
	pid_t pid, got;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	pid = fork();
	if (pid == 0)
		copy_child(from, to, fds[1]);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return err_sys(err, "start a process that copies files");
	}
	while ((got = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	if (got == pid && proc_code(status) == 0) {
		close(fds[0]);
		return 0;
	}
	/* Nothing is there to read when it was cp that failed. */
	if (read(fds[0], &why, sizeof(why)) != sizeof(why))
		why = -EIO;
	close(fds[0]);
	return err_set(err, why, "not all files of %s could be copied: %s",
		       from, err_text(why));
}
