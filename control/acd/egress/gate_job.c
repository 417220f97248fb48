/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_job.c - runs one command of the gateway's program
 */
#include "control/acd/egress/gate_job.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "control/acd/egress/gate.h"
#include "lib/file.h"
#include "lib/proc.h"
#include "lib/str.h"

#define TIME_MS 60000u
#define DIR_MODE 0750

const char gate_job_dir[] = "DIR", gate_job_file[] = "FILE";

struct gate_job {
	LIST_ENTRY(gate_job) link;
	struct children *children;
	struct loop_timer *timer;
	pid_t pid;
	int out, err; /* memory files with its output */
	char *dir, *path;
	char *called; /* "PATH=NAME", for the program; NULL: by its path */
	bool late;
	gate_job_fn fn;
	void *arg;
};

static struct {
	LIST_HEAD(gate_jobs, gate_job) all;
	const char *program, *place; /* NULL: the default */
	unsigned number;
} jobs = { .all = LIST_HEAD_INITIALIZER(jobs.all) };

static void job_free(struct gate_job *j)
{
	LIST_REMOVE(j, link);
	if (j->dir)
		file_remove_tree(j->dir);
	loop_timer_free(j->timer);
	fd_closep(&j->out);
	fd_closep(&j->err);
	free(j->dir);
	free(j->path);
	free(j->called);
	free(j);
}

/* ---- the output ---- */

static char *output_read(int fd)
{
	SCOPED_STR text = NULL;
	struct stat st;
	size_t len;

	if (fstat(fd, &st) < 0)
		return NULL;
	len = st.st_size < (off_t)GATE_JOB_OUTPUT_MAX ? (size_t)st.st_size :
							GATE_JOB_OUTPUT_MAX;
	text = calloc(1, len + 1);
	if (!text || pread(fd, text, len, 0) != (ssize_t)len)
		return NULL;
	return ptr_take(&text);
}

static void on_end(void *arg, pid_t pid, int status)
{
	struct gate_job *j = arg;
	SCOPED_STR out = output_read(j->out);
	SCOPED_STR err_out = output_read(j->err);
	struct err err = { 0 };

	(void)pid;
	if (j->late)
		err_set(&err, -ETIMEDOUT, "%s did not end within %u s",
			GATE_PROGRAM, TIME_MS / 1000);
	else if (!out || !err_out)
		err_nomem(&err);
	j->fn(j->arg, proc_code(status), out ? out : "", err_out ? err_out : "",
	      err.code < 0 ? &err : NULL);
	job_free(j);
}

static void on_timer(void *arg)
{
	struct gate_job *j = arg;

	j->late = true;
	kill(j->pid, SIGKILL);
}

/* ---- its start ---- */

/* Makes a folder that only the gateway's uid may read. */
static int dir_make(struct gate_job *j, const struct gate_job_spec *spec)
{
	int rc;

	j->dir = str_printf("%s/job.%u", jobs.place ? jobs.place : AC_GATE,
			    jobs.number++);
	if (j->dir && spec->file)
		j->path = str_printf("%s/%s", j->dir, spec->file);
	if (j->path && spec->shown)
		j->called = str_printf("%s=%s", j->path, spec->shown);
	if (!j->dir || (spec->file && !j->path) ||
	    (j->path && spec->shown && !j->called))
		return -ENOMEM;
	rc = file_remove_tree(j->dir);
	if (rc == 0 && mkdir(j->dir, DIR_MODE) < 0)
		rc = -errno;
	if (rc == 0 && !jobs.place && chown(j->dir, 0, GATE_UID) < 0)
		rc = -errno;
	if (rc == 0 && spec->file)
		rc = file_write_atomic(j->path, spec->text.ptr, spec->text.len,
				       0644);
	return rc;
}

static int job_spawn(struct gate_job *j, const struct gate_job_spec *spec,
		     struct err *err)
{
	static const char *const rights[] = {
		"setpriv",
		"--reuid=991",
		"--regid=991",
		"--clear-groups",
		"--no-new-privs",
		"--inh-caps=-all",
		"--bounding-set=-all",
		"--",
	};
	const char *argv[GATE_JOB_ARGS_MAX + ARRAY_SIZE(rights) + 4];
	struct proc_opts opts = { .argv = argv,
				  .cwd = jobs.place ? jobs.place : AC_GATE,
				  .die_with_parent = 1,
				  .fd = { -1, j->out, j->err } };
	size_t n = 0;
	int rc;

	for (size_t i = 0; !jobs.program && i < ARRAY_SIZE(rights); i++)
		argv[n++] = rights[i];
	argv[n++] = jobs.program ? jobs.program : GATE_PROGRAM;
	if (j->called) {
		argv[n++] = "--called";
		argv[n++] = j->called;
	}
	for (size_t i = 0; spec->argv[i]; i++) {
		if (n >= ARRAY_SIZE(argv) - 1)
			return err_set(err, -E2BIG, "too many words");
		argv[n++] = spec->argv[i] == gate_job_dir  ? j->dir :
			    spec->argv[i] == gate_job_file ? j->path :
							     spec->argv[i];
	}
	argv[n] = NULL;
	rc = proc_spawn(&opts, &j->pid, err);
	if (rc < 0)
		return rc;
	rc = children_watch(j->children, j->pid, on_end, j);
	if (rc < 0) {
		kill(j->pid, SIGKILL);
		return err_set(err, rc, "%s: %s", GATE_PROGRAM, err_text(rc));
	}
	loop_timer_set(j->timer, TIME_MS);
	return 0;
}

int gate_job_run(struct loop *loop, struct children *children,
		 const struct gate_job_spec *spec, gate_job_fn fn, void *arg,
		 struct err *err)
{
	struct gate_job *j = calloc(1, sizeof(*j));
	int rc = -ENOMEM;

	if (!j)
		return err_nomem(err);
	*j = (struct gate_job){ .children = children, .fn = fn, .arg = arg };
	LIST_INSERT_HEAD(&jobs.all, j, link);
	j->out = memfd_create("out", MFD_CLOEXEC);
	j->err = memfd_create("err", MFD_CLOEXEC);
	j->timer = loop_timer_new(loop, on_timer, j);
	if (j->out >= 0 && j->err >= 0 && j->timer)
		rc = dir_make(j, spec);
	if (rc < 0)
		err_set(err, rc, "prepare %s: %s", GATE_PROGRAM, err_text(rc));
	else
		rc = job_spawn(j, spec, err);
	if (rc < 0)
		job_free(j);
	return rc;
}

void gate_job_end_all(void)
{
	const struct err canceled = { .code = -ECANCELED,
				      .msg = "acd is ending" };
	struct gate_job *j, *next;

	for (j = LIST_FIRST(&jobs.all); j; j = next) {
		next = LIST_NEXT(j, link);
		children_forget(j->children, j->pid);
		kill(j->pid, SIGKILL);
		j->fn(j->arg, 0, "", "", &canceled);
		job_free(j);
	}
}

void gate_job_set(const char *program, const char *place)
{
	jobs.program = program;
	jobs.place = place;
}
