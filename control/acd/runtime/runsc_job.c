/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_job.c - children of acd that make and remove what a sandbox needs
 *
 * Theory of operation: both are forks of acd that never return. They have its
 * mount namespace, so their mounts are acd's, and its privileges. The first
 * moves into the sandbox's cgroup and becomes runsc, so the sandbox and its
 * gofer are in that cgroup from the start.
 *
 * acd knows what will have to be removed before it forks, since a child that is
 * killed half way cannot report.
 *
 * Limits are made before what they limit, and the port is pinned before
 * anything can use it. Removal is in the reverse order, except for the port,
 * which is unpinned first.
 */
#include "control/acd/runtime/runsc_job.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/proc.h"
#include "lib/str.h"

#define UNDO_LIMIT_MS 10000u
#define UNDO_NAP_MS 2
#define PREFIX_LEN 16u /* of AC_SUBNET */
#define EXIT_FAILED 125
#define FIRST_FD 3 /* the report; link and words follow */

struct runsc_job {
	struct loop_io *io;
	int fd; /* for the child's report */
	runsc_job_fn fn;
	void *arg;
};

/* ---- the child that makes ---- */

static int text_write(const struct runsc_paths *p, const char *file,
		      const char *text)
{
	SCOPED_STR path = str_printf("%s/%s", p->bundle, file);
	SCOPED_FD fd = -1;

	if (!path)
		return -ENOMEM;
	/* On a tmpfs and for this sandbox only, so not written atomically. */
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

static int bundle_make(const struct runsc_make *m, struct err *err)
{
	SCOPED_STR hosts =
		str_printf("127.0.0.1\tlocalhost\n"
			   "::1\tlocalhost ip6-localhost ip6-loopback\n"
			   "%s\t%s\n",
			   m->veth->address, m->name);
	SCOPED_STR hostname = str_printf("%s\n", m->name);
	int rc = hosts && hostname ? 0 : -ENOMEM;

	if (rc == 0)
		rc = file_mkdir_p(m->paths->bundle, 0700);
	if (rc == 0)
		rc = text_write(m->paths, "hosts", hosts);
	if (rc == 0)
		rc = text_write(m->paths, "hostname", hostname);
	if (rc == 0)
		rc = text_write(m->paths, "config.json", m->config);
	return rc < 0 ? err_set(err, rc, "write the bundle %s: %s",
				m->paths->bundle, err_text(rc)) :
			0;
}

static int root_make(const struct runsc_make *m, struct err *err)
{
	SCOPED_STR root = str_printf("%s/root", m->paths->bundle);
	int rc = root ? 0 : -ENOMEM;

	if (!m->image)
		return 0;
	if (rc == 0)
		rc = layers_mount_rw(m->image, m->paths->upper, root);
	return rc < 0 ? err_set(err, rc, "mount a root file system: %s",
				err_text(rc)) :
			0;
}

/* runsc keeps state, a lock and a socket, with the id in their names. */
static int state_remove(const char *dir, const char *id)
{
	SCOPED_DIR d = opendir(dir);
	const struct dirent *e;
	int rc = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while ((e = readdir(d)))
		if (strstr(e->d_name, id) &&
		    unlinkat(dirfd(d), e->d_name, 0) < 0 && errno != ENOENT)
			rc = -errno;
	return rc;
}

/* gVisor took the addresses of the old namespace, and runsc knows a sandbox that
 * has ended: neither is of use to the one that is restored. */
static int again_ready(const struct runsc_make *m, struct err *err)
{
	int rc;

	netns_destroy(m->paths->netns, AC_BRIDGE, m->before);
	rc = m->config ? text_write(m->paths, "config.json", m->config) : 0;
	if (rc == 0)
		rc = state_remove(m->again, m->id);
	return rc < 0 ? err_set(err, rc, "the files of runsc: %s",
				err_text(rc)) :
			0;
}

static int make_all(const struct runsc_make *m, struct err *err)
{
	const struct netns_spec net = {
		.path = m->paths->netns,
		.bridge = AC_BRIDGE,
		.gateway = AC_GATEWAY,
		.prefix = PREFIX_LEN,
	};
	int rc = m->again ? again_ready(m, err) :
			    cgroup_create(m->id, &m->limits, err);

	if (rc == 0 && !m->again)
		rc = bundle_make(m, err);
	if (rc == 0 && !m->again)
		rc = root_make(m, err);
	if (rc == 0)
		rc = netns_create(&net, m->veth, err);
	if (rc < 0)
		return rc;
	rc = cgroup_enter(m->id);
	return rc < 0 ? err_set(err, rc, "enter the sandbox's cgroup: %s",
				err_text(rc)) :
			0;
}

/* Makes @fds the descriptors 3, 4, 5, in order, and closes all others: acd's
 * are not the child's. */
static int fds_keep(int fds[static 3], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_FD + (int)n);
		if (fds[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < n; i++) {
		if (dup3(fds[i], FIRST_FD + (int)i, O_CLOEXEC) < 0)
			return -errno;
		fds[i] = FIRST_FD + (int)i;
	}
	return close_range((unsigned)(FIRST_FD + (int)n), ~0u, 0) < 0 ? -errno :
									0;
}

static int report_send(int fd, const struct err *err)
{
	return write(fd, err, sizeof(*err)) == (ssize_t)sizeof(*err) ? 0 : -EIO;
}

static ATTR_NORETURN void maker_run(const struct runsc_make *m, int report)
{
	int fds[3] = { report, m->link, m->words };
	struct err err = { 0 };
	/* The gofer keeps the environment, so it has nothing of acd's. */
	static const char *const env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
					   NULL };
	struct proc_opts opts = { .argv = m->argv,
				  .env = env,
				  .new_session = 1 };
	int rc = fds_keep(fds, ARRAY_SIZE(fds));

	if (rc < 0)
		err_set(&err, rc, "descriptors: %s", err_text(rc));
	else
		rc = make_all(m, &err);
	if (report_send(fds[0], &err) < 0 || rc < 0)
		_exit(EXIT_FAILED);
	/*
	 * If one socket is both 0 and 1, gVisor makes two files of it and shuts
	 * it down when either is closed. So stdout is /dev/null.
	 */
	opts.fd[0] = fds[1];
	opts.fd[1] = -1;
	opts.fd[2] = fds[2];
	rc = proc_exec(&opts);
	dprintf(fds[2], "run %s: %s\n", m->argv[0], err_text(rc));
	_exit(EXIT_FAILED);
}

/* ---- the child that removes ---- */

static void nap(void)
{
	const struct timespec t = { .tv_nsec = UNDO_NAP_MS * 1000000 };

	nanosleep(&t, NULL);
}

/* Kills the processes and waits; acd reaps them meanwhile. */
static int processes_end(const char *id)
{
	uint64_t limit = clock_ms() + UNDO_LIMIT_MS;
	int rc = cgroup_kill(id);

	while (rc == 0 && (rc = cgroup_remove(id)) == -EBUSY &&
	       clock_ms() < limit) {
		nap();
		rc = cgroup_kill(id);
	}
	return rc;
}

static int root_remove(const struct runsc_paths *p)
{
	SCOPED_STR root = str_printf("%s/root", p->bundle);

	if (!root)
		return -ENOMEM;
	if (umount2(root, UMOUNT_NOFOLLOW) < 0 && errno != EINVAL &&
	    errno != ENOENT)
		return -errno;
	return file_remove_tree(p->upper);
}

static int undo_all(const char *id, const struct runsc_paths *p,
		    const struct veth *veth, const char *state_dir,
		    struct err *err)
{
	const char *what = "its network";
	int rc;

	netns_destroy(p->netns, AC_BRIDGE, veth);
	what = "its processes";
	rc = processes_end(id);
	if (rc == 0) {
		what = "its state";
		rc = state_remove(state_dir, id);
	}
	if (rc == 0) {
		what = "its root file system";
		rc = root_remove(p);
	}
	if (rc == 0) {
		what = "its bundle";
		rc = file_remove_tree(p->bundle);
	}
	return rc < 0 ? err_set(err, rc, "remove sandbox %s: %s: %s", id, what,
				err_text(rc)) :
			0;
}

static ATTR_NORETURN void undoer_run(const char *id,
				     const struct runsc_paths *p,
				     const struct veth *veth,
				     const char *state_dir, int report)
{
	int fds[3] = { report, -1, -1 };
	struct err err = { 0 };
	int rc = fds_keep(fds, 1);

	if (rc < 0)
		err_set(&err, rc, "descriptors: %s", err_text(rc));
	else
		undo_all(id, p, veth, state_dir, &err);
	_exit(report_send(fds[0], &err) < 0);
}

/* ---- acd's side ---- */

static void on_report(void *arg, uint32_t events)
{
	struct runsc_job *j = arg;
	struct err err = { 0 };
	ssize_t n = read(j->fd, &err, sizeof(err));
	runsc_job_fn fn = j->fn;
	void *fn_arg = j->arg;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(err))
		err_set(&err, -EIO, "the process that does it died");
	runsc_job_forget(j);
	fn(fn_arg, err.code < 0 ? &err : NULL);
}

/* acd's half of a fork; *ret_fd is the child's end of the report. */
static int job_new(struct loop *loop, runsc_job_fn fn, void *arg,
		   struct runsc_job **ret, int *ret_fd, struct err *err)
{
	struct runsc_job *j = calloc(1, sizeof(*j));
	int fds[2];

	if (!j)
		return err_nomem(err);
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(j);
		return err_sys(err, "pipe");
	}
	*j = (struct runsc_job){ .fd = fds[0], .fn = fn, .arg = arg };
	j->io = loop_add(loop, j->fd, EPOLLIN, on_report, j);
	if (!j->io) {
		close(fds[1]);
		runsc_job_forget(j);
		return err_nomem(err);
	}
	*ret_fd = fds[1];
	*ret = j;
	return 0;
}

int runsc_job_make(struct loop *loop, const struct runsc_make *m,
		   runsc_job_fn fn, void *arg, struct runsc_job **ret,
		   pid_t *ret_pid, struct err *err)
{
	SCOPED_FD fd = -1;
	pid_t pid;
	int rc = job_new(loop, fn, arg, ret, &fd, err);

	if (rc < 0)
		return rc;
	pid = fork();
	if (pid == 0)
		maker_run(m, fd);
	if (pid < 0) {
		rc = err_sys(err, "start a process for the sandbox");
		runsc_job_forget(*ret);
		*ret = NULL;
		return rc;
	}
	*ret_pid = pid;
	return 0;
}

int runsc_job_undo(struct loop *loop, const char *id,
		   const struct runsc_paths *paths, const struct veth *veth,
		   const char *state_dir, runsc_job_fn fn, void *arg,
		   struct runsc_job **ret, struct err *err)
{
	SCOPED_FD fd = -1;
	pid_t pid;
	int rc = job_new(loop, fn, arg, ret, &fd, err);

	if (rc < 0)
		return rc;
	pid = fork(); /* reaped like any other child */
	if (pid == 0)
		undoer_run(id, paths, veth, state_dir, fd);
	if (pid < 0) {
		rc = err_sys(err, "start a process that removes a sandbox");
		runsc_job_forget(*ret);
		*ret = NULL;
		return rc;
	}
	return 0;
}

void runsc_job_forget(struct runsc_job *j)
{
	if (!j)
		return;
	loop_del(j->io);
	close(j->fd);
	free(j);
}
