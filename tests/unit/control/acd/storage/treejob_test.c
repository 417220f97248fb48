/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treejob_test.c - work in a child, to its end or until it is not wanted
 */
#include "control/acd/storage/treejob.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/step.h"
#include "tests/unit/tap.h"

static struct {
	int calls, code;
	char msg[512];
} seen;

static void on_done(void *arg, const struct err *err)
{
	(void)arg;
	seen.calls++;
	seen.code = err ? err->code : 0;
	snprintf(seen.msg, sizeof(seen.msg), "%s", err ? err->msg : "");
}

static int work_short(const void *what, struct err *err)
{
	return treejob_is_canceled() ? err_set(err, -EBADMSG, "canceled") :
	       *(const int *)what    ? err_set(err, -EIO, "as asked for") :
				       0;
}

/* What a program that it runs would have of it. */
static int work_fds(const void *what, struct err *err)
{
	(void)what;
	for (int fd = 3; fd < 32; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (flags >= 0 && !(flags & FD_CLOEXEC))
			return err_set(err, -EBADF, "descriptor %d", fd);
	}
	return 0;
}

/* As long as it is not told to leave off. */
static int work_long(const void *what, struct err *err)
{
	(void)what;
	while (!treejob_is_canceled())
		usleep(1000);
	return err_set(err, -ECANCELED, "left off");
}

static void run(struct loop *loop, treejob_work work, int what, bool cancel)
{
	struct treejob *j = NULL;
	struct err err = { 0 };

	memset(&seen, 0, sizeof(seen));
	is_int(treejob_run(loop, work, &what, on_done, NULL, &j, &err), 0,
	       "a job %s", err.msg);
	if (cancel) {
		treejob_cancel(j);
		treejob_cancel(j);
	}
	STEP_UNTIL(loop, seen.calls);
}

int main(void)
{
	struct loop *loop = loop_new();
	struct treejob *j = NULL;

	signal(SIGCHLD, SIG_IGN);
	run(loop, work_short, 0, false);
	ok(seen.calls == 1 && seen.code == 0, "success is told once");
	run(loop, work_short, 1, false);
	is_int(seen.code, -EIO, "so is a failure: %s", seen.msg);
	run(loop, work_fds, 0, false);
	is_int(seen.code, 0, "its descriptors are its own %s", seen.msg);
	run(loop, work_long, 0, true);
	is_int(seen.code, -ECANCELED, "one that is not wanted: %s", seen.msg);
	ok(!treejob_is_canceled(), "we are no job");
	treejob_cancel(NULL);
	treejob_forget(NULL);
	/* Nobody waits: it is not told to leave off, and does no harm. */
	if (treejob_run(loop, work_short, &(int){ 0 }, on_done, NULL, &j,
			NULL) == 0)
		treejob_forget(j);
	loop_free(loop);
	return done_testing();
}
