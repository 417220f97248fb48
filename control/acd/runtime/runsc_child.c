/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_child.c - runsc, and the sandbox that it leaves behind, as processes
 *
 * The sandbox's process belongs to acd, PID 1, when runsc has ended; acd sees
 * its end by SIGCHLD. Its pid is in a file by runsc.
 */
#include <signal.h>
#include <sys/wait.h>

#include "control/acd/runtime/dockerd.h"
#include "control/acd/runtime/runsc_impl.h"
#include "lib/file.h"
#include "lib/proc.h"
#include "lib/str.h"

#define PID_TEXT_MAX 32u

int runsc_argv(const struct box *b, struct strv *argv)
{
	int rc = strv_push(argv, dockerd_runsc());

	for (const char *const *f = dockerd_runsc_flags; *f && rc == 0; f++)
		rc = strv_push(argv, *f);
	/* acd makes and enters the cgroup: runsc would make one for each
	 * controller, which takes a fourth of the start. */
	if (rc == 0)
		rc = strv_push(argv, "--ignore-cgroups");
	if (rc == 0 && b->covered)
		rc = strv_push(argv, DOCKERD_RUNSC_GOFER);
	if (rc == 0)
		rc = strv_push(argv, "--debug-log=" DOCKERD_GVISOR_LOG);
	return rc == 0 ? strv_push(argv, "--root=" RUNSC_STATE) : rc;
}

int runsc_argv_begin(const struct box *b, const char *verb, struct strv *argv)
{
	int rc = runsc_argv(b, argv);

	if (rc == 0)
		rc = strv_push(argv, verb);
	if (rc == 0)
		rc = strv_push(argv, "--detach");
	if (rc == 0)
		rc = strv_pushf(argv, "--bundle=%s", b->paths.bundle);
	return rc == 0 ?
		       strv_pushf(argv, "--pid-file=%s/pid", b->paths.bundle) :
		       rc;
}

static void on_sandbox_end(void *arg, pid_t pid, int status)
{
	(void)pid;
	box_ended(arg, proc_code(status));
}

static int pid_read(const struct box *b, pid_t *ret, struct err *err)
{
	SCOPED_STR path = str_printf("%s/pid", b->paths.bundle);
	SCOPED_STR text = NULL;
	uint64_t pid = 0;
	int rc = path ? file_read(path, PID_TEXT_MAX, &text, NULL) : -ENOMEM;

	if (rc == 0)
		rc = str_parse_u64(text, 2, INT32_MAX, &pid);
	if (rc < 0)
		return err_set(err, rc, "the pid of the sandbox: %s",
			       err_text(rc));
	*ret = (pid_t)pid;
	return 0;
}

/* Its parent is runsc, and acd when that has ended; acd has not reaped it
 * yet. */
int runsc_watch(struct box *b, struct err *err)
{
	pid_t pid = 0;
	int rc = pid_read(b, &pid, err);

	if (rc < 0)
		return rc;
	if (kill(pid, 0) < 0)
		return err_set(err, -EPROTO,
			       "the sandbox ended as soon as it had started");
	rc = children_watch(b->rs->children, pid, on_sandbox_end, b);
	if (rc < 0)
		return err_set(err, rc, "watch the sandbox: %s", err_text(rc));
	b->pid = pid;
	return 0;
}

/* What it mounts during a removal would stay. No other code reaps it before the
 * loop goes on. */
void runsc_maker_end(struct box *b)
{
	children_forget(b->rs->children, b->maker);
	kill(b->maker, SIGKILL);
	while (waitpid(b->maker, NULL, 0) < 0 && errno == EINTR)
		continue;
	b->maker = 0;
}
