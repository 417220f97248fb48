/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treejob.c - works on directory trees without blocking the loop
 *
 * A sandbox made these trees: they may take minutes. A child does the work and
 * reports through a pipe, so the outcome does not depend on which code reaps
 * it.
 *
 * A child is told through a socket to stop, and never killed: a program that it
 * runs may be rewriting a file system, and it has to clean up its own mounts
 * and partial copies.
 */
#include "control/acd/storage/treejob.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/file.h"

struct treejob {
	struct loop_io *io;
	int fd; /* the child's report */
	int word; /* tells the child to stop */
	treejob_fn fn;
	void *arg;
};

/* In the child. */
#define REPORT_FD 3
#define WORD_FD 4
#define OUT_FD TREEJOB_OUT_FD

static bool is_child, canceled;

bool treejob_is_canceled(void)
{
	char byte;

	/* End of file is no request to stop: acd lost interest or is gone. */
	if (is_child && !canceled)
		canceled = recv(WORD_FD, &byte, 1, MSG_DONTWAIT) == 1;
	return canceled;
}

static void treejob_child(treejob_work work, const void *what, int report_fd,
			  int word, int out)
{
	struct err report = { 0 };
	bool has_out = out >= 0;

	/* acd's connections must not live as long as this child. Move the
	 * descriptors out of each other's way, CLOEXEC: a program of the work
	 * that hangs would keep the report open. */
	report_fd = fcntl(report_fd, F_DUPFD, OUT_FD + 1);
	word = fcntl(word, F_DUPFD, OUT_FD + 1);
	out = has_out ? fcntl(out, F_DUPFD, OUT_FD + 1) : -1;
	if (dup3(report_fd, REPORT_FD, O_CLOEXEC) < 0 ||
	    dup3(word, WORD_FD, O_CLOEXEC) < 0 ||
	    (has_out && dup3(out, OUT_FD, O_CLOEXEC) < 0))
		_exit(1);
	close_range(has_out ? OUT_FD + 1 : WORD_FD + 1, ~0U, 0);
	is_child = true;
	if (work(what, &report) < 0 && report.code == 0)
		err_set(&report, -EIO, "failed without a reason");
	_exit(write(REPORT_FD, &report, sizeof(report)) != sizeof(report));
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

static struct treejob *job_new(struct loop *loop, treejob_fn fn, void *arg,
			       int *ret_report, int *ret_word)
{
	struct treejob *j = calloc(1, sizeof(*j));
	int report[2], word[2];

	if (!j)
		return NULL;
	if (pipe2(report, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(j);
		return NULL;
	}
	*ret_report = report[1];
	*j = (struct treejob){
		.fd = report[0], .word = -1, .fn = fn, .arg = arg
	};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, word) == 0) {
		j->word = word[0];
		*ret_word = word[1];
		j->io = loop_add(loop, j->fd, EPOLLIN, treejob_done, j);
	}
	if (j->io)
		return j;
	treejob_forget(j);
	return NULL;
}

int treejob_run(struct loop *loop, treejob_work work, const void *what,
		treejob_fn fn, void *arg, struct treejob **ret, struct err *err)
{
	return treejob_run_to(loop, work, what, -1, fn, arg, ret, err);
}

int treejob_run_to(struct loop *loop, treejob_work work, const void *what,
		   int out, treejob_fn fn, void *arg, struct treejob **ret,
		   struct err *err)
{
	SCOPED_FD report = -1;
	SCOPED_FD word = -1;
	struct treejob *j = job_new(loop, fn, arg, &report, &word);
	int rc;
	pid_t pid = j ? fork() : -1;

	if (pid == 0)
		treejob_child(work, what, report, word, out);
	if (pid < 0) {
		rc = err_sys(err, "cannot start a process to work on files");
		treejob_forget(j);
		return rc;
	}
	*ret = j;
	return 0;
}

static int remove_all(const void *what, struct err *err)
{
	const char *const *paths = what;
	int rc = 0;

	for (size_t i = 0; paths[i] && rc == 0; i++)
		rc = file_remove_tree(paths[i]);
	if (rc < 0)
		err_set(err, rc, "cannot remove all files: %s", err_text(rc));
	return rc;
}

int treejob_start(struct loop *loop, const char *const *paths, treejob_fn fn,
		  void *arg, struct treejob **ret, struct err *err)
{
	return treejob_run(loop, remove_all, paths, fn, arg, ret, err);
}

void treejob_cancel(const struct treejob *j)
{
	/* If the child is gone, nothing is lost. */
	if (j)
		send(j->word, "c", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void treejob_forget(struct treejob *j)
{
	if (!j)
		return;
	loop_del(j->io);
	fd_closep(&j->fd);
	fd_closep(&j->word);
	free(j);
}
