/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treejob.c - work on directory trees without holding up the loop
 *
 * A sandbox made these trees: they may be deep and large enough to take
 * minutes. A child does the work and reports through a pipe, so that its
 * outcome does not depend on who reaps it.
 */
#include "control/acd/treejob.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/file.h"

struct treejob {
	struct loop_io *io;
	int fd; /* the child's report */
	treejob_fn fn;
	void *arg;
};

static void treejob_child(treejob_work work, const void *what, int fd)
{
	struct err report = { 0 };

	/* acd's connections should not live as long as this child. Only the
	 * report's descriptor is kept, as number 3. */
	if (fd != 3 && dup2(fd, 3) < 0)
		_exit(1);
	close_range(4, ~0U, 0);
	if (work(what, &report) < 0 && report.code == 0)
		err_set(&report, -EIO, "failed without a reason");
	_exit(write(3, &report, sizeof(report)) != sizeof(report));
}

static void treejob_done(void *arg, uint32_t events)
{
	struct treejob *j = arg;
	treejob_fn fn = j->fn;
	void *fn_arg = j->arg;
	struct err err = { 0 };
	ssize_t n = read(j->fd, &err, sizeof(err));

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(err))
		err_set(&err, -EIO, "the process that works on files died");
	treejob_forget(j);
	fn(fn_arg, err.code < 0 ? &err : NULL);
}

int treejob_run(struct loop *loop, treejob_work work, const void *what,
		treejob_fn fn, void *arg, struct treejob **ret, struct err *err)
{
	struct treejob *j = calloc(1, sizeof(*j));
	int fds[2], code;
	pid_t pid;

	if (!j)
		return err_set(err, -ENOMEM, "no memory");
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(j);
		return err_sys(err, "pipe");
	}
	*j = (struct treejob){ .fd = fds[0], .fn = fn, .arg = arg };
	j->io = loop_add(loop, j->fd, EPOLLIN, treejob_done, j);
	pid = j->io ? fork() : -1;
	if (pid == 0)
		treejob_child(work, what, fds[1]);
	if (pid < 0) {
		code = err_sys(err, "cannot start a process to work on files");
		close(fds[1]);
		treejob_forget(j);
		return code;
	}
	close(fds[1]);
	*ret = j;
	return 0;
}

static int remove_all(const void *what, struct err *err)
{
	const char *const *paths = what;
	int code = 0;

	for (size_t i = 0; paths[i] && code == 0; i++)
		code = file_remove_tree(paths[i]);
	if (code < 0)
		err_set(err, code, "cannot remove all files: %s",
			err_text(code));
	return code;
}

int treejob_start(struct loop *loop, const char *const *paths, treejob_fn fn,
		  void *arg, struct treejob **ret, struct err *err)
{
	return treejob_run(loop, remove_all, paths, fn, arg, ret, err);
}

void treejob_forget(struct treejob *j)
{
	if (!j)
		return;
	loop_del(j->io);
	close(j->fd);
	free(j);
}
